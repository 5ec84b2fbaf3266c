"""Offsets: commit, fetch, delete, expiry, deleted topics; what administrators see (spec 2.12, 2.13)."""

import pytest

from kafka_coordinator.coordinator import Topics
from kafka_coordinator.coordinator.settings import BrokerSettings, with_settings
from kafka_coordinator.coordinator.states import COMPLETING_REBALANCE, DEAD, EMPTY, STABLE
from kafka_coordinator.messages import OffsetCommit, OffsetFetch
from protocols.errors import UserError
from protocols.facts import Committed
from protocols.java import Queue
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk
from tests.rows import rows

MINUTE = 60_000
SHORT = {"offsets.retention.minutes": 2, "offsets.retention.check.interval.ms": MINUTE}


def test_commits_of_a_missing_group() -> None:
    desk = Desk()
    assert desk.commit("someone", 1) == "GROUP_ID_NOT_FOUND"
    assert desk.commit("someone", 1, version=8) == "ILLEGAL_GENERATION"
    assert desk.commit(offset=7) == "NONE"
    assert (desk.state, desk.group.protocol_type, desk.fetched()) == (EMPTY, None, {("t", 0): 7})
    assert desk.commit("someone", -1, offset=8) == "NONE", "whatever the member id is"
    assert desk.commit("someone", 0) == "UNKNOWN_MEMBER_ID"


def test_a_commit_names_member_and_generation() -> None:
    desk = Desk()
    first, second = desk.stable(2)
    assert desk.commit(first, 1, offset=10) == "NONE"
    assert desk.commit(second, 1, offset=3) == "NONE", "nobody asks who owns the partition, or whether it grows"
    assert desk.fetched() == {("t", 0): 3}
    assert desk.commit(first, 0) == "ILLEGAL_GENERATION"
    assert desk.commit(first, 2) == "ILLEGAL_GENERATION"
    assert desk.commit(first, -1) == "ILLEGAL_GENERATION"
    assert desk.commit("someone", 1) == "UNKNOWN_MEMBER_ID"
    assert desk.commit(first, 1, instance="unknown") == "UNKNOWN_MEMBER_ID"
    assert desk.fetched() == {("t", 0): 3}


def test_a_stale_commit_of_a_removed_member_is_refused() -> None:
    desk = Desk()
    first, second = desk.stable(2)
    desk.leave(second)
    desk.join(first, name="c0")
    assert (desk.state, desk.group.generation) == (COMPLETING_REBALANCE, 2)
    assert desk.commit(second, 1) == "UNKNOWN_MEMBER_ID"
    assert desk.commit(first, 1) == "ILLEGAL_GENERATION"
    assert desk.commit(first, 2) == "REBALANCE_IN_PROGRESS"


def test_long_metadata_refuse_their_own_partition_only() -> None:
    desk = Desk({"offset.metadata.max.bytes": 3})
    offsets = ((("t", 0), 1, "1234"), (("t", 1), 2, "123"))
    answer = desk.send(OffsetCommit(desk.number(), "g", "", -1, None, offsets))
    assert answer.errors == ((("t", 0), "OFFSET_METADATA_TOO_LARGE"), (("t", 1), "NONE"))
    assert desk.fetched() == {("t", 1): 2}


def test_a_fetch_answers_minus_one_where_there_is_nothing() -> None:
    desk = Desk()
    answer = desk.send(OffsetFetch(desk.number(), "g", (("t", 3),)))
    assert (answer.error, answer.offsets) == ("NONE", ((("t", 3), -1, "NONE"),))


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
    assert told == [
        Committed("g", queue, 4, "c0", 1, ""),
        Committed("g", queue, 4, "c0", 5, "ILLEGAL_GENERATION"),
    ]


def test_offsets_of_subscribed_topics_are_not_deleted() -> None:
    desk = Desk()
    assert desk.delete_offset() == ("GROUP_ID_NOT_FOUND", [])
    [member_id] = desk.stable(1)
    desk.commit(member_id, 1)
    desk.commit(member_id, 1, topic="other")
    assert desk.delete_offset() == ("NONE", ["GROUP_SUBSCRIBED_TO_TOPIC"])
    assert desk.delete_offset("other") == ("NONE", ["NONE"])
    desk.leave(member_id)
    assert desk.delete_offset() == ("NONE", ["NONE"])
    assert desk.fetched() == {}
    desk.new(kind="connect")
    assert desk.delete_offset() == ("NON_EMPTY_GROUP", [])


def test_a_deleted_topic_takes_its_offsets_with_it() -> None:
    desk = Desk()
    desk.command(Topics({"t": 1, "u": 1}))
    for topic in "tu":
        desk.commit(topic=topic)
    desk.command(Topics({"u": 1}))
    assert desk.fetched() == {("u", 0): 1}


def test_an_empty_group_s_offsets_expire_by_when_it_became_empty() -> None:
    desk = Desk(SHORT)
    [member_id] = desk.stable(1)
    desk.commit(member_id, 1)
    desk.advance(40_000)
    desk.leave(member_id)  # at 46 s
    desk.advance(160_000 - desk.now)
    desk.commit()  # at 160 s: too late to matter
    desk.advance(179_999 - desk.now)
    assert desk.fetched() == {("t", 0): 1}
    desk.advance(1)
    assert (desk.fetched(), desk.state) == ({}, DEAD)


def test_a_simple_group_s_offsets_expire_one_by_one() -> None:
    desk = Desk(SHORT)
    desk.commit()
    desk.advance(MINUTE)
    desk.commit(topic="u")
    desk.advance(MINUTE)
    assert desk.fetched() == {("u", 0): 1}
    desk.advance(MINUTE)
    assert desk.state == DEAD


@rows(("topics", "left"), [(("t",), {("t", 0): 1}), (("t", "u"), {("t", 0): 1, ("u", 0): 1})])
def test_a_living_group_keeps_the_offsets_of_its_topics(
    topics: tuple[str, ...], left: dict[tuple[str, int], int]
) -> None:
    desk = Desk(SHORT)
    [member_id] = desk.stable(1, topics=topics, session=1_000_000)
    for topic in "tu":
        desk.commit(member_id, 1, topic=topic)
    desk.advance(5 * MINUTE)
    assert (desk.fetched(), desk.state) == (left, STABLE)


def test_nothing_expires_during_a_rebalance() -> None:
    desk = Desk(SHORT)
    [member_id] = desk.stable(1, session=1_000_000, rebalance=1_000_000)
    desk.commit(member_id, 1, topic="u")
    desk.new("late", rebalance=1_000_000)
    desk.advance(4 * MINUTE)
    assert desk.fetched() == {("u", 0): 1}


def test_an_empty_group_without_offsets_goes_at_the_next_run() -> None:
    desk = Desk(SHORT)
    desk.join(session=1_000_000)
    desk.advance(MINUTE - 1)
    assert desk.state == EMPTY
    desk.advance(1)
    assert desk.state == DEAD
    assert list(desk.world.timers) == [("expiry", 0)]


def test_what_administrators_see() -> None:
    desk = Desk()
    missing = desk.describe()
    assert (missing.error, missing.state) == ("GROUP_ID_NOT_FOUND", "Dead")
    assert desk.describe(version=5).error == "NONE"
    assert desk.delete() == "GROUP_ID_NOT_FOUND"
    first, second = desk.stable(2)
    told = desk.describe()
    assert (told.state, told.protocol_type, told.protocol) == ("Stable", "consumer", "range")
    assert {each.member_id: each.assignment for each in told.members} == {first: (("t", 0),), second: (("t", 1),)}
    assert all(each.metadata.topics == ("t",) for each in told.members)
    desk.leave(second)
    told = desk.describe()
    assert (told.state, told.protocol, [each.metadata for each in told.members]) == ("PreparingRebalance", "", [b""])
    desk.commit(group="simple")
    assert desk.listed() == (
        ("g", "consumer", "PreparingRebalance", "Classic"),
        ("simple", "", "Empty", "Classic"),
    )
    assert [group for group, *_ in desk.listed(states=("EMPTY",))] == ["simple"]
    assert desk.listed(types=("consumer",)) == ()
    assert len(desk.listed(types=("CLASSIC",))) == 2


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
