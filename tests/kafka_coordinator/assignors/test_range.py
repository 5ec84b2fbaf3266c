"""The client-side range assignor (spec 5.3)."""

from collections import Counter

from hypothesis import given

from kafka_coordinator.assignors.inputs import GroupMetadata
from kafka_coordinator.assignors.range import range_
from tests.kafka_coordinator.consumer.metadata import (
    assert_each_partition_has_one_subscriber,
    group_of,
    groups,
    owned,
    partitions_of,
)


def test_each_topic_is_cut_into_blocks_and_the_first_members_get_the_larger_ones() -> None:
    group = group_of({"t0": 3, "t1": 3}, {"C0": "t0 t1", "C1": "t0 t1"})
    assert owned(group, range_(group)) == {"C0": "t0-0 t0-1 t1-0 t1-1", "C1": "t0-2 t1-2"}


def test_the_surplus_of_all_topics_piles_up_on_the_first_members() -> None:
    for topics, partitions, sizes in ((10, 1, [10, 0, 0, 0]), (20, 5, [40, 20, 20, 20])):
        names = [f"t{number}" for number in range(topics)]
        group = group_of(dict.fromkeys(names, partitions), {f"C{number}": names for number in range(4)})
        assert [len(each) for each in range_(group).owned] == sizes


def test_static_members_go_first_by_instance_id() -> None:
    group = group_of({"t0": 3}, {"C0": "t0", "C1": "t0", "C2": "t0"}, instances={"C1": "b", "C2": "a"})
    assert owned(group, range_(group)) == {"C2": "t0-0", "C1": "t0-1", "C0": "t0-2"}


def test_members_take_what_lies_in_their_rack() -> None:
    racks = {"C0": "b", "C1": "c", "C2": "a"}
    group = group_of({"t0": 6}, dict.fromkeys(racks, "t0"), racks=racks, replicas={"t0": "abcabc"})
    assert owned(group, range_(group)) == {"C0": "t0-1 t0-4", "C1": "t0-2 t0-5", "C2": "t0-0 t0-3"}


def test_topics_with_the_same_racks_are_dealt_alike_and_by_rack() -> None:
    racks = {"C0": "c", "C1": "b", "C2": "a"}
    topics = {"t0": 3, "t1": 3}
    group = group_of(topics, dict.fromkeys(racks, "t0 t1"), racks=racks, replicas=dict.fromkeys(topics, "abc"))
    assert owned(group, range_(group)) == {"C0": "t0-2 t1-2", "C1": "t0-1 t1-1", "C2": "t0-0 t1-0"}


def test_joint_dealing_wins_over_racks() -> None:
    racks = {"C0": "c", "C1": "b", "C2": "a"}
    replicas = {"t0": "abc", "t1": "bca"}
    group = group_of({"t0": 3, "t1": 3}, dict.fromkeys(racks, "t0 t1"), racks=racks, replicas=replicas)
    assert owned(group, range_(group)) == {"C0": "t0-0 t1-0", "C1": "t0-1 t1-1", "C2": "t0-2 t1-2"}


def test_racks_decide_nothing_where_every_partition_is_in_every_rack() -> None:
    racks = {"C0": "b", "C1": "a"}
    plain = group_of({"t0": 4}, dict.fromkeys(racks, "t0"))
    everywhere = GroupMetadata(
        plain.topics,
        group_of({"t0": 4}, dict.fromkeys(racks, "t0"), racks=racks).members,
        {"t0": (("a", "b"),) * 4},
    )
    assert range_(everywhere) == range_(plain)


@given(groups(racks=True))
def test_racks_never_change_sizes_and_every_partition_has_one_subscriber(group: GroupMetadata) -> None:
    answer = range_(group)
    assert_each_partition_has_one_subscriber(group, answer)
    names = partitions_of(group)
    for topic, count in group.topics.items():
        subscribers = [m for m, member in enumerate(group.members) if topic in member.topics]
        if subscribers:
            sizes = Counter(m for m in subscribers for n in answer.owned[m] if names[n][0] == topic)
            quota, extra = divmod(count, len(subscribers))
            assert sorted(sizes[m] for m in subscribers) == [quota] * (len(subscribers) - extra) + [quota + 1] * extra


@given(groups())
def test_without_racks_every_share_of_a_topic_is_one_block(group: GroupMetadata) -> None:
    names = partitions_of(group)
    for numbers in range_(group).owned:
        for topic in group.topics:
            block = [names[n][1] for n in numbers if names[n][0] == topic]
            assert block == list(range(min(block, default=0), max(block, default=-1) + 1))
