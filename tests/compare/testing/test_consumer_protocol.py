"""Doubles of confluent-kafka's consumer with ``group.protocol=consumer``, and groups of that protocol."""

from typing import Any

import pytest

from compare.testing import kafka_group
from compare.testing.confluent.errors import KafkaException
from compare.testing.group import Group
from protocols.errors import UserError

PARTITIONS = 4


class Loop:
    """A loop that polls, and what its listeners were told."""

    def __init__(self, group: Group, member: str, **config: Any) -> None:
        self.told: list[tuple[str, list[int]]] = []
        self.offsets: list[tuple[int, int]] = []
        config = {"group.id": group.name, "auto.offset.reset": "earliest", "group.protocol": "consumer", **config}
        self.consumer = group.consumer(member, config)
        self.consumer.subscribe(
            ["orders"], on_assign=self._hear("assigned"), on_revoke=self._hear("revoked"), on_lost=self._hear("lost")
        )

    def _hear(self, kind: str) -> Any:
        return lambda consumer, partitions: self.told.append((kind, [each.partition for each in partitions]))

    def poll(self, seconds: float) -> None:
        for message in self.consumer.consume(10_000, seconds):
            assert message.error() is None
            self.offsets.append((message.partition(), message.offset()))


@pytest.mark.parametrize("protocol", ["consumer", ""])
def test_two_loops_share_the_partitions_one_heartbeat_at_a_time(protocol: str) -> None:
    group = kafka_group(topics={"orders": PARTITIONS}, protocol=protocol, produce=10)
    first = Loop(group, "c1")
    first.poll(7)
    assert first.told == [("assigned", [0, 1, 2, 3])]
    second = Loop(group, "c2")
    for _ in range(40):
        first.poll(0.25)
        second.poll(0.25)
    assert first.told[1:] == [("revoked", [2, 3]), ("assigned", [])]
    assert second.told == [("assigned", [2, 3])]
    first.consumer.close()
    assert first.told[3:] == [("revoked", [0, 1])]
    second.poll(8)
    assert second.told[1:] == [("assigned", [0, 1])]
    second.consumer.close()
    read = first.offsets + second.offsets
    assert len(read) == len(set(read))


def test_a_loop_that_takes_too_long_loses_all_and_comes_back() -> None:
    group = kafka_group(topics={"orders": PARTITIONS}, protocol="consumer", produce=1)
    loop = Loop(group, "c1", **{"max.poll.interval.ms": 20_000})
    loop.poll(6)
    group.clock.advance(60)
    with pytest.raises(AssertionError):
        loop.poll(1)  # the error that it polled too late
    loop.poll(10)
    assert loop.told == [("assigned", [0, 1, 2, 3]), ("lost", [0, 1, 2, 3]), ("assigned", [0, 1, 2, 3])]
    loop.consumer.close()


def test_groups_of_the_protocol_are_asked_for_by_its_name() -> None:
    assert kafka_group(protocol="consumer").label == "kafka:uniform"
    assert kafka_group(protocol="consumer", assignor="range", members=["c1"]).label == "kafka:server-range"
    assert kafka_group(protocol="classic").label == "kafka:range"
    with pytest.raises(UserError, match="expected one of classic, consumer"):
        kafka_group(protocol="new")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"session.timeout.ms": 10_000}, "`session.timeout.ms` is not supported for `group.protocol=consumer`"),
        ({"heartbeat.interval.ms": 1_000}, "`heartbeat.interval.ms` is not supported"),
        ({"partition.assignment.strategy": "range"}, "Use `group.remote.assignor` instead"),
    ],
)
def test_what_librdkafka_refuses_under_the_protocol(config: dict[str, object], words: str) -> None:
    group = kafka_group(protocol="consumer")
    with pytest.raises(KafkaException, match=words):
        Loop(group, "c1", **config)
