"""The doubles of aiokafka and kafka-python among other members: what a mock cluster cannot show.

Runs with the packages and without them.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from compare.testing import Group, kafka_group
from compare.testing.kafka.partitioning import murmur2
from protocols.errors import UserError


def service(group: Group, names: Any, handle: Callable[[Any], Any], **given: Any) -> Callable[[], Any]:
    """A loop as users write it, in aiokafka."""

    async def run() -> None:
        arguments = {"group_id": "g", "auto_offset_reset": "earliest", "enable_auto_commit": False, **given}
        consumer = names.AIOKafkaConsumer("orders", bootstrap_servers="kafka:9092", **arguments)
        await consumer.start()
        try:
            async for record in consumer:
                await handle(record)
                await consumer.commit()
        finally:
            await consumer.stop()

    return run


async def nothing(record: Any) -> None:
    """A handler."""


def test_a_crash_before_the_commit_repeats_one_record() -> None:
    group = kafka_group(topics={"orders": 1})
    names = group.aiokafka()

    async def handle(record: Any) -> None:
        if record.offset == 30:
            group.crash("c1")

    group.run(service(group, names, group.watch(handle)), seconds=100)
    assert group.clock.now == 31
    group.run(service(group, names, group.watch(nothing)), seconds=100)
    assert [str(record) for record in group.handled_twice()] == ["orders-0/30 (c1, c2)"]
    assert group.never_handled() == []


def test_two_members_in_one_loop_share_and_take_over() -> None:
    group = kafka_group(topics={"orders": 4})
    names = group.aiokafka("a", "b")

    async def main() -> None:
        first = asyncio.create_task(service(group, names, nothing)())
        await asyncio.sleep(10)
        second = asyncio.create_task(service(group, names, nothing)())
        await asyncio.sleep(20)
        assert {name: len(owned) for name, owned in group.owners().items()} == {"a": 2, "b": 2}
        first.cancel()
        await asyncio.wait([first])
        await asyncio.sleep(20)
        assert {name: len(owned) for name, owned in group.owners().items()} == {"b": 4}
        second.cancel()

    group.run(main())
    assert group.handled_twice() == []
    assert group.never_handled() == []


def test_the_listener_commits_before_others_take_over() -> None:
    group = kafka_group(topics={"orders": 2})
    names = group.aiokafka("c1")
    told: list[tuple[str, int]] = []

    async def main() -> None:
        consumer = names.AIOKafkaConsumer(group_id="g", auto_offset_reset="earliest", enable_auto_commit=False)

        class Listener(names.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
            async def on_partitions_revoked(self, revoked: Any) -> None:
                told.append(("revoked", len(revoked)))
                if revoked:
                    await consumer.commit()

            async def on_partitions_assigned(self, assigned: Any) -> None:
                told.append(("assigned", len(assigned)))

        consumer.subscribe(["orders"], listener=Listener())
        async with consumer:
            group.clock.at(20, lambda: group.join("c2"))
            async for _ in consumer:
                if group.clock.now > 40:
                    return

    group.run(main())
    assert told == [("revoked", 0), ("assigned", 2), ("revoked", 2), ("assigned", 1)]
    assert group.handled_twice() == []


def test_who_fetches_nothing_for_too_long_leaves_and_its_commit_is_refused() -> None:
    group = kafka_group(topics={"orders": 2}, members=["s1"]).settle()
    names = group.aiokafka("c1")
    refused: list[str] = []

    async def main() -> None:
        consumer = names.AIOKafkaConsumer("orders", group_id="g", max_poll_interval_ms=30_000)
        async with consumer:
            await consumer.getone()
            await asyncio.sleep(60)
            assert len(group.owners()["s1"]) == 2
            try:
                await consumer.commit()
            except names.errors.CommitFailedError as error:
                refused.append(str(error))
            await consumer.getone()
            assert len(group.owners()["s1"]) == 1

    group.run(main())
    assert len(refused) == 1


def test_a_member_that_hangs_is_put_out_after_its_session() -> None:
    group = kafka_group(topics={"orders": 2}, members=["s1"]).settle()
    names = group.aiokafka("c1")
    group.clock.at(30, lambda: group.hang("c1", seconds=30))
    group.clock.at(50, lambda: seen.append(len(group.owners()["s1"])))
    seen: list[int] = []
    with pytest.raises(names.errors.CommitFailedError):
        group.run(service(group, names, nothing), seconds=100)
    assert group.clock.now > 60
    assert seen == [2]  # aiokafka's session takes 10 s, Kafka's own consumer's 45 s
    assert group.never_handled() == []


def test_an_interruption_between_two_calls_ends_the_coroutine() -> None:
    group = kafka_group(topics={"orders": 1})
    group.interrupt(lambda: group.crash("c1"), after_calls=7)
    assert group.run(service(group, group.aiokafka(), nothing), seconds=60) is None
    assert group.clock.now < 60


def test_what_a_producer_sends_is_read_by_both_clients() -> None:
    group = kafka_group(topics={"orders": 4}, produce=0)
    names, plain = group.aiokafka(), group.kafka_python()

    async def main() -> Any:
        async with names.AIOKafkaProducer(value_serializer=str.encode, linger_ms=5) as producer:
            told = await producer.send_and_wait("orders", "one", key=b"k", headers=[("h", b"1")])
            later = [await producer.send("orders", str(number), partition=2) for number in range(3)]
            await producer.flush()
            return told, [each.result().offset for each in later]

    told, offsets = group.run(main())
    assert (told.topic, told.partition, told.offset) == ("orders", (murmur2(b"k") & 0x7FFFFFFF) % 4, 0)
    assert offsets == [0, 1, 2]
    consumer = plain.KafkaConsumer("orders", group_id="g", auto_offset_reset="earliest", consumer_timeout_ms=5000)
    found = list(consumer)
    assert sorted(each.value for each in found) == [b"0", b"1", b"2", b"one"]
    assert [each.headers for each in found if each.key] == [[("h", b"1")]]
    consumer.close()


def test_kafka_pythons_producer_tells_when_time_has_passed() -> None:
    group = kafka_group(topics={"orders": 1}, produce=0)
    names = group.kafka_python()
    producer = names.KafkaProducer(acks="all")
    told: list[int] = []
    future = producer.send("orders", b"one").add_callback(lambda metadata: told.append(metadata.offset))
    assert not future.is_done
    producer.send("orders", b"two").add_callback(lambda metadata: told.append(metadata.offset))
    producer.flush()
    assert told == [0, 1]
    assert future.get().offset == 0
    producer.close()
    with pytest.raises(names.errors.IllegalStateError):
        producer.send("orders", b"three")


def test_records_that_no_broker_takes_wait_for_one() -> None:
    group = kafka_group(topics={"orders": 1}, produce=0).settle()
    producer = group.kafka_python().KafkaProducer()
    group.kill_broker("broker-a")
    group.clock.advance(seconds=1)
    future = producer.send("orders", b"one")
    group.clock.at(group.clock.now + 10, lambda: group.return_broker("broker-a"))
    assert future.get(timeout=60).offset == 0
    assert group.clock.now > 10


def test_kafka_pythons_loop_among_simulated_members() -> None:
    group = kafka_group(members=["c2"], settings={"max.poll.interval.ms": 60_000}).settle()
    names = group.kafka_python("c1")
    refused: list[str] = []

    def run() -> None:
        consumer = names.KafkaConsumer("orders", group_id="g", enable_auto_commit=False, auto_offset_reset="earliest")
        with consumer:
            for record in consumer:
                if record.offset == 20:
                    group.clock.advance(seconds=90)
                try:
                    consumer.commit()
                except names.errors.CommitFailedError as error:
                    refused.append(str(error))

    group.run(run, seconds=120)
    assert refused
    assert group.handled_twice()
    assert group.never_handled() == []


def test_known_hashes_of_keys() -> None:
    # As the unit tests of Kafka's own client have them.
    known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536, b"abc": 479470107}
    for key, hashed in known.items():
        assert murmur2(key) == hashed & 0xFFFFFFFF


def test_what_is_not_modelled_is_refused() -> None:
    group = kafka_group()
    with pytest.raises(UserError, match="transactions"):
        group.kafka_python().KafkaProducer(transactional_id="t")
