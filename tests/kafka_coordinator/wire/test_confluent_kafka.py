"""Unmodified confluent-kafka consumers (librdkafka) before the served cluster."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from protocols.facts import Granted, Owns, RebalanceBegan
from tests.kafka_coordinator.wire.serving import Serving, serving
from tests.waiting import until

FAST = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 100, "log_level": 0}
PROTOCOLS = {
    "eager": {"partition.assignment.strategy": "range", **FAST},
    "cooperative": {"partition.assignment.strategy": "cooperative-sticky", **FAST},
    "consumer": {"group.protocol": "consumer", "log_level": 0},
}
SHORT_HEARTBEATS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.session.timeout.ms": 1000,
}


def consumer(it: Serving, name: str, settings: dict[str, Any], group: str = "g") -> Consumer:
    made = Consumer(
        {"bootstrap.servers": it.bootstrap, "group.id": group, "client.id": name, "auto.offset.reset": "earliest"}
        | settings
    )
    made.subscribe(["orders"])
    return made


def poll(consumers: Iterable[Consumer], holds: Callable[[], bool], within_s: float = 15.0) -> list[Any]:
    """What was read until it holds."""
    found, end = [], time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        for each in consumers:
            message = each.poll(0.01)
            if message is not None and message.error() is None:
                found.append(message)
    return found


def produced(it: Serving, count: int) -> None:
    producer = Producer({"bootstrap.servers": it.bootstrap, "log_level": 0})
    for number in range(count):
        producer.produce("orders", str(number).encode(), partition=number % 6)
    assert producer.flush(10) == 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_join_share_read_commit_and_leave(protocol: str) -> None:
    settings = PROTOCOLS[protocol]
    with serving(settings=SHORT_HEARTBEATS) as it:
        produced(it, 60)
        first = consumer(it, "c1", settings)
        found = poll([first], lambda: it.owned("g") == {"c1": [0, 1, 2, 3, 4, 5]})
        second = consumer(it, "c2", settings)
        found += poll([first, second], lambda: sorted(map(len, it.owned("g").values())) == [3, 3])
        # The broker tells first, the client believes it a moment later.
        found += poll([first, second], lambda: assigned(first) == it.owned("g")["c1"])
        found += poll([first, second], lambda: assigned(second) == it.owned("g")["c2"])
        end = time.monotonic() + 10
        while len({(each.partition(), each.offset()) for each in found}) < 60 and time.monotonic() < end:
            found += poll([first, second], lambda: True) or [
                each for each in (first.poll(0.01), second.poll(0.01)) if each is not None and each.error() is None
            ]
        assert {(each.partition(), each.offset()) for each in found} == {(p, o) for p in range(6) for o in range(10)}
        partition = assigned(first)[0]
        first.commit(offsets=[TopicPartition("orders", partition, 7)], asynchronous=False)
        (committed,) = first.committed([TopicPartition("orders", partition)], timeout=5)
        assert committed.offset == 7
        first.close()
        poll([second], lambda: it.owned("g") == {"c2": [0, 1, 2, 3, 4, 5]})
        second.close()
        assert it.owned("g") == {}
        timeline = it.timeline()
        assert timeline.rebalance_count >= 3
        if protocol == "cooperative":
            kept = [fact for fact in it.facts(Owns) if fact.member == "c1"]
            assert all(fact.queues for fact in kept[:-1]), "a cooperative member never gives everything up"


def assigned(of: Consumer) -> list[int]:
    return sorted(each.partition for each in of.assignment())


PROCESS = """
import sys
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "g", "client.id": "c2", **eval(sys.argv[2])})
consumer.subscribe(["orders"])
while True:
    consumer.poll(0.05)
"""


def test_a_killed_process_believes_nothing_at_once_and_its_session_ends_later() -> None:
    """Under the consumer protocol; classic members are killed in `test_crashes.py`."""
    settings = PROTOCOLS["consumer"]
    with serving(settings=SHORT_HEARTBEATS) as it:
        first = consumer(it, "c1", settings)
        process = subprocess.Popen([sys.executable, "-c", PROCESS, it.bootstrap, repr(settings)])
        try:
            poll([first], lambda: sorted(map(len, it.owned("g").values())) == [3, 3])
        finally:
            process.kill()
            process.wait()
        until(lambda: "c2" not in it.owned("g"))
        assert len(it.owned("g")["c1"]) == 3
        poll([first], lambda: it.owned("g") == {"c1": [0, 1, 2, 3, 4, 5]})
        assert max(gap_of(it, number) for number in range(6)) > 500, "nobody owned them until the session ended"
        first.close()


def gap_of(it: Serving, number: int) -> float:
    found = [gap for gap in it.timeline().gaps if gap.queue.number == number]
    return max((gap.until - gap.since for gap in found if gap.until is not None), default=0.0)


def test_a_static_member_that_comes_back_causes_no_rebalance() -> None:
    settings = PROTOCOLS["eager"] | {"group.instance.id": "i1"}
    with serving() as it:
        first = consumer(it, "c1", settings)
        poll([first], lambda: it.owned("g") == {"c1": [0, 1, 2, 3, 4, 5]})
        first.close()
        until(lambda: it.owned("g") == {})
        again = consumer(it, "c1", settings)
        poll([again], lambda: it.owned("g") == {"c1": [0, 1, 2, 3, 4, 5]})
        assert len(it.facts(RebalanceBegan)) == 1
        again.close()


def test_under_the_consumer_protocol_a_killed_static_member_comes_back_when_its_session_has_ended() -> None:
    settings = PROTOCOLS["consumer"] | {"group.instance.id": "i2"}
    with serving(settings=SHORT_HEARTBEATS | {"group.consumer.session.timeout.ms": 2000}) as it:
        first = consumer(it, "c1", PROTOCOLS["consumer"])
        process = subprocess.Popen([sys.executable, "-c", PROCESS, it.bootstrap, repr(settings)])
        try:
            poll([first], lambda: sorted(map(len, it.owned("g").values())) == [3, 3])
        finally:
            process.kill()
            process.wait()
        until(lambda: "c2" not in it.owned("g"))
        too_soon = consumer(it, "c2", settings)
        told = poll_until_error(too_soon)
        assert told is not None
        assert told.name() == "_FATAL"
        assert "instance ID is still used by another member" in told.str()
        assert it.world.failures == []
        poll([first], lambda: it.owned("g") == {"c1": [0, 1, 2, 3, 4, 5]})
        again = consumer(it, "c2", settings)
        poll([first, again], lambda: sorted(map(len, it.owned("g").values())) == [3, 3])
        for each in (too_soon, first, again):
            each.close()


def poll_until_error(polled: Consumer) -> Any:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        message = polled.poll(0.05)
        if message is not None and message.error() is not None:
            return message.error()
    return None


def test_members_of_one_client_id_are_told_apart() -> None:
    with serving() as it:
        members = [consumer(it, "same", PROTOCOLS["eager"]) for _ in range(3)]
        poll(members, lambda: sorted(map(len, it.owned("g").values())) == [2, 2, 2])
        assert sorted(it.owned("g")) == ["same", "same#2", "same#3"]
        assert {fact.member for fact in it.facts(Granted)} == {"same", "same#2", "same#3"}
        admin = AdminClient({"bootstrap.servers": it.bootstrap})
        described = admin.describe_consumer_groups(["g"])["g"].result(5)
        assert {(each.client_id, each.host) for each in described.members} == {("same", "/127.0.0.1")}
        assert {len(each.assignment.topic_partitions) for each in described.members} == {2}
        for each in members:
            each.close()


def test_an_administrator_lists_describes_and_deletes_groups() -> None:
    with serving() as it:
        member = consumer(it, "c1", PROTOCOLS["eager"])
        poll([member], lambda: it.owned("g") == {"c1": [0, 1, 2, 3, 4, 5]})
        admin = AdminClient({"bootstrap.servers": it.bootstrap})
        listed = admin.list_consumer_groups().result(5).valid
        assert [(each.group_id, each.state.name, each.type.name) for each in listed] == [("g", "STABLE", "CLASSIC")]
        described = admin.describe_consumer_groups(["g"])["g"].result(5)
        assert (described.partition_assignor, described.state.name) == ("range", "STABLE")
        with pytest.raises(Exception, match="NON_EMPTY_GROUP"):
            admin.delete_consumer_groups(["g"])["g"].result(5)
        member.close()
        assert admin.delete_consumer_groups(["g"])["g"].result(5) is None
        assert admin.list_consumer_groups().result(5).valid == []
