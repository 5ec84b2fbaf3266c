"""Real clients before the brokers of the fixture, and what a test may do to them."""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition
from confluent_kafka import Consumer, DeserializingConsumer, KafkaException, SerializingProducer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.serialization import StringDeserializer, StringSerializer

from compare.testing.brokers import KafkaBroker, RealGroup
from protocols.errors import UserError
from tests.waiting import until


@pytest.fixture
def broker() -> Generator[KafkaBroker, None, None]:
    broker = KafkaBroker({"orders": 4})
    yield broker
    broker.close()


class Member(threading.Thread):
    """A loop around a confluent-kafka consumer: polls, handles, commits each record."""

    def __init__(self, broker: KafkaBroker, name: str, handle: Callable[[Any], None], **config: object) -> None:
        super().__init__(daemon=True)
        self.consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "g",
                "client.id": name,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 200,
                "session.timeout.ms": 6000,
                **{key.replace("_", "."): value for key, value in config.items()},
            }
        )
        self.handle = handle
        self.over = threading.Event()
        self.errors: list[str] = []

    def run(self) -> None:
        self.consumer.subscribe(["orders"])
        while not self.over.is_set():
            message = self.consumer.poll(0.1)
            if message is None:
                continue
            if message.error():
                self.errors.append(message.error().name())
                continue
            self.handle(message)
            try:
                self.consumer.commit(message, asynchronous=False)
            except KafkaException as error:
                self.errors.append(error.args[0].name())
        self.consumer.close()


@contextmanager
def members(broker: KafkaBroker, *names: str, **config: object) -> Generator[dict[str, Member], None, None]:
    handle = broker.group("g").watch(lambda message: None)
    found = {name: Member(broker, name, handle, **config) for name in names}
    for each in found.values():
        each.start()
    try:
        yield found
    finally:
        for each in found.values():
            each.over.set()
        for each in found.values():
            each.join(20)


def triggers(group: RealGroup) -> list[str]:
    return [each.trigger for each in group.timeline.rebalances]


def test_two_members_share_handle_everything_once_and_leave(broker: KafkaBroker) -> None:
    group = broker.group("g")
    for partition in range(4):
        broker.produce("orders", "x", partition=partition, count=5)
    with members(broker, "c1", "c2"):
        group.settle()
        group.assert_fair()
        group.assert_optimal()
        until(lambda: broker.committed("g") == {("orders", number): 5 for number in range(4)})
        group.assert_handled_once()
        group.assert_at_least_once(within=0)
        assert sorted(group.members) == ["c1", "c2"]
    assert [event.describe() for event in group.world.scenario.events][-2:] in (
        ["c1 leaves", "c2 leaves"],
        ["c2 leaves", "c1 leaves"],
    )


def test_a_bug_is_found_that_commits_before_it_handles(broker: KafkaBroker) -> None:
    group = broker.group("g")
    broker.produce("orders", "x", count=10)
    with members(broker, "c1") as found:
        until(lambda: broker.committed("g").get(("orders", 0)) == 10)
        found["c1"].handle = lambda message: None  # what follows is committed and nobody handles it
        broker.produce("orders", "y", count=2)
        until(lambda: broker.committed("g").get(("orders", 0)) == 12)
        with pytest.raises(AssertionError, match=r"2 records were lost: orders-0/10 to 11"):
            group.assert_nothing_lost()


def test_a_rebalance_an_expired_session_and_a_refused_commit(broker: KafkaBroker) -> None:
    group = broker.group("g")
    with members(broker, "c1") as found:
        group.settle()
        broker.rebalance("g")
        until(lambda: "a rebalance was asked for" in triggers(group))
        group.settle()
        broker.expire("c1")
        until(lambda: "session of c1 timed out" in triggers(group))
        group.settle()
        rule = broker.fail("OffsetCommit", "REBALANCE_IN_PROGRESS", group="g")
        broker.produce("orders", "x")
        until(lambda: bool(found["c1"].errors))
        assert rule.left == 0
        assert found["c1"].errors == ["REBALANCE_IN_PROGRESS"]


def test_a_static_member_that_is_fenced_learns_it(broker: KafkaBroker) -> None:
    with members(broker, "c1", group_instance_id="i1") as found:
        broker.group("g").settle()
        broker.fence("i1")
        until(lambda: "_FATAL" in found["c1"].errors)


def test_a_request_is_held_until_it_is_released(broker: KafkaBroker) -> None:
    group, over = broker.group("g"), threading.Event()
    broker.produce("orders", "x")
    with broker.hold("SyncGroup", until=over) as held, members(broker, "c1"):
        until(lambda: len(held.kept) == 1)
        assert group.owners() == {"c1": ()}
        assert group.settles(0.2) is False
        with broker.hold("OffsetCommit", client="c1") as commits:
            over.set()
            until(lambda: len(commits.kept) == 1)
            assert broker.committed("g") == {}
        until(lambda: broker.committed("g") == {("orders", 0): 1})


def test_a_request_is_held_for_a_time(broker: KafkaBroker) -> None:
    with broker.hold("JoinGroup", until=0.3) as held, members(broker, "c1"):
        until(lambda: bool(held.kept))
        broker.group("g").settle()


def test_the_consumer_protocol(broker: KafkaBroker) -> None:
    group = broker.group("g")
    config = {"group.protocol": "consumer"}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "client.id": "c1", **config})
    consumer.subscribe(["orders"])
    until(lambda: consumer.poll(0.05) is None and len(consumer.assignment()) == 4)
    assert group.label == "kafka:uniform"
    assert len(group.owners()["c1"]) == 4
    consumer.close()


def test_members_in_an_event_loop(broker: KafkaBroker) -> None:
    async def story() -> None:
        group = broker.group("g")
        consumers = [
            AIOKafkaConsumer(
                "orders",
                bootstrap_servers=broker.bootstrap,
                group_id="g",
                client_id=f"c{number}",
                heartbeat_interval_ms=100,
                auto_offset_reset="earliest",
            )
            for number in (1, 2)
        ]
        await asyncio.gather(*(each.start() for each in consumers))
        try:
            await group.settled()
            group.assert_fair()
            broker.produce("orders", "v", "k", headers=[("h", b"1")])
            owner = consumers[0] if TopicPartition("orders", 0) in consumers[0].assignment() else consumers[1]
            message = await asyncio.wait_for(owner.getone(), 10)
            assert (message.key, message.value, message.headers) == (b"k", b"v", (("h", b"1"),))
            group.handled(message)
            await owner.commit()
            group.assert_at_least_once(within=0)
        finally:
            await asyncio.gather(*(each.stop() for each in consumers))

    asyncio.run(story())


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda broker: broker.expire("nobody"), "no member 'nobody', expected one of nobody: no member has joined"),
        (lambda broker: broker.fail("Commit", "NONE"), "no API 'Commit', expected one of"),
        (lambda broker: broker.fail("OffsetCommit", "OOPS"), "no error 'OOPS'"),
        (lambda broker: broker.produce("orders", "x", partition=9), "no partition orders-9"),
        (lambda broker: broker.move_coordinator("g"), "there is one broker"),
    ],
)
def test_what_cannot_be_is_one_clear_line(broker: KafkaBroker, call: Callable[[KafkaBroker], None], told: str) -> None:
    with pytest.raises(UserError, match=told) as raised:
        call(broker)
    assert "\n" not in str(raised.value)


def test_values_are_serialised_into_a_topic_that_the_administrator_made(broker: KafkaBroker) -> None:
    address = {"bootstrap.servers": broker.bootstrap}
    admin = AdminClient(address)
    admin.create_topics([NewTopic("invoices", 1, 1)])["invoices"].result(10)
    producer = SerializingProducer({**address, "value.serializer": StringSerializer()})
    producer.produce("invoices", value="grün")
    assert producer.flush(10) == 0
    config = {**address, "group.id": "g", "auto.offset.reset": "earliest", "value.deserializer": StringDeserializer()}
    consumer = DeserializingConsumer(config)
    consumer.subscribe(["invoices"])
    message = None
    while message is None:
        message = consumer.poll(0.2)
    assert message.value() == "grün"
    consumer.close()
