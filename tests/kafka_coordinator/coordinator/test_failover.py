"""Coordinators find, lose and take over groups: the hash, the log, loading, resignation (spec 1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_coordinator.coordinator import BrokerSettings, OffsetsLeaders, OffsetsTopic
from kafka_coordinator.coordinator.log import CommittedOffset, GroupKey, OffsetKey, PartitionLog, offsets_partition
from kafka_coordinator.coordinator.node import offsets_topic
from kafka_coordinator.coordinator.states import DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from tests.kafka_coordinator.coordinator.coordinator_desk import ONE_PARTITION, Desk
from tests.rows import rows

PARTITIONS = {
    "test-group": 12,
    "my-group": 12,
    "g1": 42,
    "orders": 31,
    "console-consumer-12345": 6,
    "polygenelubricants": 0,
    "": 0,
}
"""Spec 1.1, of 50."""


@rows(("group", "partition"), PARTITIONS.items())
def test_a_group_s_partition_follows_from_java_s_hash(group: str, partition: int) -> None:
    assert offsets_partition(group, 50) == partition


def pair() -> tuple[Desk, Desk]:
    """Two brokers of one cluster; the first coordinates, the second has not heard of anything yet."""
    storage = OffsetsTopic(1, 0.5, 256)
    return tuple(Desk(name=name, storage=storage, leaders=("a",)) for name in "ab")  # type: ignore[return-value]


def fail_over(old: Desk, new: Desk) -> None:
    """The new broker leads from the moment at which the old one is."""
    new.advance(old.now - new.now)
    for desk in (old, new):
        desk.command(OffsetsLeaders(("b",)))
    new._count = old._count


def test_the_last_completed_generation_and_the_offsets_come_over() -> None:
    old, new = pair()
    ids = old.stable(2)
    old.commit(ids[0], 1, offset=42)
    order, leader = [member.id for member in old.group.ordered()], old.group.leader
    fail_over(old, new)
    assert old.state == DEAD
    new.advance(100)
    group = new.group
    assert (group.state, group.generation, group.leader, group.protocol) == (STABLE, 1, leader, "range")
    assert [member.id for member in group.ordered()] == order
    assert {member_id: group.members[member_id].assignment for member_id in ids} == {
        ids[0]: (("t", 0),),
        ids[1]: (("t", 1),),
    }
    assert new.fetched() == {("t", 0): 42}
    assert [new.heartbeat(member_id, 1) for member_id in ids] == ["NONE", "NONE"]
    new.advance(45_000)
    assert new.state == EMPTY, "every member has got a fresh session, and then none has been heard from"


def test_while_the_log_is_read_everybody_has_to_wait_but_heartbeats_are_told_that_all_is_well() -> None:
    old, new = pair()
    ids = old.stable(2)
    fail_over(old, new)
    assert new.join(ids[0]).error == "COORDINATOR_LOAD_IN_PROGRESS"
    assert new.commit(ids[0], 1) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert new.describe().error == "COORDINATOR_LOAD_IN_PROGRESS"
    assert new.sync(ids[0], 1).error == "COORDINATOR_LOAD_IN_PROGRESS"
    assert new.heartbeat(ids[0], 1) == "NONE"
    assert new.listed() == ()
    new.advance(100)
    assert new.heartbeat(ids[0], 1) == "NONE"
    assert [group for group, *_ in new.listed()] == ["g"]


def test_a_rebalance_that_was_under_way_is_forgotten_and_its_requests_are_sent_away() -> None:
    old, new = pair()
    ids = old.stable(2)
    third, joining = old.new("c9")
    pending = old.join(name="c10").member_id
    old.join(ids[0], name="c0")
    rejoining = old._count
    assert old.state == PREPARING_REBALANCE
    fail_over(old, new)
    assert {old.answers[number][1].error for number in (joining, rejoining)} == {"NOT_COORDINATOR"}
    new.advance(100)
    assert (new.state, new.group.generation, list(new.group.members)) == (
        STABLE,
        1,
        [m.id for m in new.group.ordered()],
    )
    assert third not in new.group.members
    assert new.join(pending).error == "UNKNOWN_MEMBER_ID"
    assert new.join(third).error == "UNKNOWN_MEMBER_ID"


def test_whoever_waits_for_its_assignment_is_sent_away_too() -> None:
    old, new = pair()
    first, _ = old.new("A")
    second, _ = old.new("B")
    old.advance(6000)
    old.sync(second)
    fail_over(old, new)
    assert old.answers[old._count][1].error == "NOT_COORDINATOR"
    new.advance(100)
    assert (new.state, new.group.generation) == (EMPTY, 0), "generation 1 was never stored"
    assert new.join(first).error == "UNKNOWN_MEMBER_ID"


def test_a_group_larger_than_allowed_rebalances_once_it_is_loaded() -> None:
    storage = OffsetsTopic(1, 0.5, 256)
    old = Desk(name="a", storage=storage, leaders=("a",))
    old.stable(3)
    new = Desk({"group.max.size": 2}, name="b", storage=storage, leaders=("b",))
    new.advance(100)
    assert (new.state, len(new.group.members)) == (PREPARING_REBALANCE, 3)


def test_a_static_member_is_known_again_and_an_offset_without_group_makes_a_simple_one() -> None:
    old, new = pair()
    old.join(name="A", instance="i")
    old.advance(3000)
    old.settle(list(old.group.members))
    old.commit(group="simple", offset=5)
    fail_over(old, new)
    new.advance(100)
    assert new.join(name="A", instance="i").generation == 1
    simple = new.world.node.core.groups["simple"]
    assert (simple.state, simple.protocol_type) == (EMPTY, None)
    assert new.fetched("simple") == {("t", 0): 5}


def test_a_group_that_all_have_left_is_empty_at_its_next_coordinator_too() -> None:
    old, new = pair()
    old.leave(*old.stable(2))
    assert (old.state, old.group.generation) == (EMPTY, 2)
    fail_over(old, new)
    new.advance(100)
    assert (new.state, new.group.generation, new.group.members) == (EMPTY, 2, {})


# --- the log ---------------------------------------------------------------------------------------------------------

WRITES = st.lists(
    st.tuples(st.sampled_from("gh"), st.sampled_from(["", "t", "u"]), st.one_of(st.none(), st.integers(0, 9))),
    max_size=60,
)


@given(WRITES, st.integers(1, 20), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_compaction_changes_nothing_that_a_loader_sees(
    writes: list[tuple[str, str, int | None]], least: int, ratio: float
) -> None:
    compacted, whole = PartitionLog(ratio, least), PartitionLog(1.0, 10_000)
    for group, topic, offset in writes:
        for log in (compacted, whole):
            value = None if offset is None else CommittedOffset(offset, "", 0.0)
            log.append(OffsetKey(group, topic, 0) if topic else GroupKey(group), value)
    assert list(compacted.latest().items()) == list(whole.latest().items())
    assert compacted.end == whole.end == len(writes)
    positions = [record.position for record in compacted.records]
    assert positions == sorted(set(positions))
    compacted.compact()
    assert list(compacted.latest().items()) == list(whole.latest().items())
    assert len(compacted.records) == len(compacted.latest()), "one record a key, no tombstone"


def test_the_topic_has_as_many_partitions_as_the_settings_say() -> None:
    assert len(offsets_topic(BrokerSettings()).partitions) == 50
    desk = Desk(ONE_PARTITION)
    with pytest.raises(ValueError, match="2 leaders for the 1 partitions"):
        desk.command(OffsetsLeaders(("a", "b")))
