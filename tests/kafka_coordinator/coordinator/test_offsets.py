"""Offsets where no recorded trace shows them: facts, deleted topics, expiry, tombstones, settings (spec 2.12)."""

import pytest

from kafka_coordinator.coordinator import Topics
from kafka_coordinator.coordinator.settings import BrokerSettings, with_settings
from kafka_coordinator.messages import OffsetCommit
from protocols.errors import UserError
from protocols.facts import Committed
from protocols.java import Queue
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk


def test_long_metadata_refuse_their_own_partition_only() -> None:
    desk = Desk({"offset.metadata.max.bytes": 3})
    offsets = ((("t", 0), 1, "1234"), (("t", 1), 2, "123"))
    answer = desk.send(OffsetCommit(desk.number(), "g", "", -1, None, offsets))
    assert answer.errors == ((("t", 0), "OFFSET_METADATA_TOO_LARGE"), (("t", 1), "NONE"))
    assert desk.fetched() == {("t", 1): 2}


def test_commits_are_told_under_the_member_s_name_and_the_queue_s() -> None:
    desk = Desk()
    desk.command(Topics({"t": 1}, {"t": (Queue("t", "broker-a", 0),)}))
    [member_id] = desk.stable(1)
    desk.world.take_facts()
    for generation in (1, 5):
        request = OffsetCommit(desk.number(), "g", member_id, generation, None, ((("t", 0), 4, ""),))
        desk.world.receive(desk.now, "client", request)
    told = [each.fact for each in desk.world.take_facts()]
    queue = Queue("t", "broker-a", 0)
    assert told == [Committed("g", queue, 4, "c0", 1, ""), Committed("g", queue, 4, "c0", 5, "ILLEGAL_GENERATION")]


def test_a_deleted_topic_takes_its_offsets_with_it() -> None:
    desk = Desk()
    desk.command(Topics({"t": 1, "u": 1}))
    for topic in "tu":
        desk.commit(topic=topic)
    desk.command(Topics({"u": 1}))
    assert desk.fetched() == {("u", 0): 1}


def test_a_deleted_group_leaves_tombstones() -> None:
    desk = Desk()
    desk.commit()
    assert desk.delete() == "NONE"
    log = desk.world.node.core.storage.partitions[0]
    assert log.latest() == {}
    assert desk.fetched() == {}


def test_settings_are_checked() -> None:
    for given, words in (
        ({"group.max.sise": 2}, "unknown setting 'group.max.sise' of a Kafka broker"),
        ({"group.max.size": 0}, "expected a whole number from 1"),
        ({"group.initial.rebalance.delay.ms": "3s"}, "expected a whole number from 0"),
        ({"log.cleaner.min.cleanable.ratio": 2}, "expected a number from 0 to 1"),
        ({"group.min.session.timeout.ms": 2_000_000}, "expected at most"),
        ({"load.ms": 1}, "unknown setting 'load.ms'"),
    ):
        with pytest.raises(UserError, match=words):
            with_settings(BrokerSettings(), given, "settings")
