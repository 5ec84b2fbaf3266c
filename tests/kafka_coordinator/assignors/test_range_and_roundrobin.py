"""The range and round-robin assignors (spec 5.3, 5.4, 5.11), and what the sticky ones remember of moves (5.7)."""

from collections import Counter

import pytest
from hypothesis import given

from kafka_coordinator.assignors.balancing import Movements
from kafka_coordinator.assignors.inputs import AssignorError, GroupMetadata, static_order
from kafka_coordinator.assignors.range import range_, server_range
from kafka_coordinator.assignors.roundrobin import roundrobin
from protocols.java import sorted_as_java, topic_partition_hash
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


def test_partitions_are_dealt_one_by_one_across_topics() -> None:
    group = group_of({"t0": 3, "t1": 3}, {"C0": "t0 t1", "C1": "t0 t1"})
    assert owned(group, roundrobin(group)) == {"C0": "t0-0 t0-2 t1-1", "C1": "t0-1 t1-0 t1-2"}


def test_different_subscriptions_can_be_far_from_balanced() -> None:
    group = group_of({"t0": 1, "t1": 2, "t2": 3}, {"C0": "t0", "C1": "t0 t1", "C2": "t0 t1 t2"})
    assert owned(group, roundrobin(group)) == {"C0": "t0-0", "C1": "t1-0", "C2": "t1-1 t2-0 t2-1 t2-2"}


def test_ten_topics_of_one_partition_leave_nobody_idle() -> None:
    names = [f"t{number:02}" for number in range(10)]
    group = group_of(dict.fromkeys(names, 1), {f"C{number}": names for number in range(4)})
    assert [len(each) for each in roundrobin(group).owned] == [3, 3, 2, 2]


def test_racks_decide_nothing() -> None:
    plain = group_of({"t0": 4}, {"C0": "t0", "C1": "t0"})
    racks = group_of({"t0": 4}, {"C0": "t0", "C1": "t0"}, racks={"C0": "b", "C1": "a"}, replicas={"t0": "abab"})
    assert roundrobin(racks) == roundrobin(plain)


def _textbook(group: GroupMetadata) -> list[list[int]]:
    """One pointer that steps over members who do not subscribe, as the rule is told."""
    order = static_order(group.members)
    answer: list[list[int]] = [[] for _ in order]
    pointer = 0
    for topic in sorted_as_java(group.topics):
        if not any(topic in member.topics for member in group.members):
            continue
        for number in range(group.topics[topic]):
            while topic not in group.members[order[pointer % len(order)]].topics:
                pointer += 1
            answer[order[pointer % len(order)]].append(group.first_numbers()[topic] + number)
            pointer += 1
    return answer


@given(groups())
def test_it_is_the_textbook_pointer_over_the_ring(group: GroupMetadata) -> None:
    answer = roundrobin(group)
    assert answer.owned == _textbook(group)
    assert_each_partition_has_one_subscriber(group, answer)


def test_equal_topics_go_in_equal_blocks_whatever_was_owned_before() -> None:
    topics = {"T1": 3, "T2": 3}
    group = group_of(topics, dict.fromkeys("ABC", "T1 T2"), claims={"C": [("T1", 0), ("T2", 0)]})
    assert owned(group, server_range(group)) == {"A": "T1-0 T2-0", "B": "T1-1 T2-1", "C": "T1-2 T2-2"}


def test_a_topic_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(AssignorError) as caught:
        server_range(group_of({"T1": 3}, {"A": "T1", "B": "T1 T2"}))
    assert caught.value.error == "PartitionAssignorException"


@given(groups(unknown=False))
def test_without_racks_it_is_the_client_side_range(group: GroupMetadata) -> None:
    assert server_range(group) == range_(group)


SPAN = range(10, 30)
A, B, C = range(3)


def test_the_hash_of_a_topic_partition_is_javas() -> None:
    assert topic_partition_hash("t0", 3) == 4698


def test_what_moved_one_way_goes_back_before_another_one_of_the_topic_follows() -> None:
    movements = Movements()
    movements.record("t0", SPAN, 10, A, B)
    assert movements.to_move("t0", 11, B, A) == 10
    assert movements.to_move("t0", 11, B, C) == 11
    assert movements.to_move("t1", 11, B, A) == 11


def test_a_partition_moved_on_counts_from_where_it_came() -> None:
    movements = Movements()
    movements.record("t0", SPAN, 10, A, B)
    movements.record("t0", SPAN, 10, B, C)
    assert movements.to_move("t0", 12, C, A) == 10
    assert movements.to_move("t0", 12, C, B) == 12


def test_a_partition_that_returns_is_forgotten() -> None:
    movements = Movements()
    movements.record("t0", SPAN, 10, A, B)
    movements.record("t0", SPAN, 10, B, A)
    assert movements.to_move("t0", 12, B, A) == 12


def test_of_several_the_first_in_javas_order_goes_back() -> None:
    # hash(t0, n) = 31 * (31 + n) + 3645: numbers 0, 1, 2 fall into bins 14, 13, 12 of 16.
    movements = Movements()
    for partition in (10, 11, 12):
        movements.record("t0", SPAN, partition, A, B)
    assert movements.to_move("t0", 15, B, A) == 12


def test_javas_order_changes_as_the_table_grows_which_it_never_takes_back() -> None:
    # Numbers 5 to 17 of t0: of 16 bins 13 is in the first, of 32 bins, which 13 entries need, 17 is in the lowest.
    movements = Movements()
    for partition in range(15, 27):
        movements.record("t0", SPAN, partition, A, B)
    assert movements.to_move("t0", 29, B, A) == 23
    movements.record("t0", SPAN, 27, A, B)
    assert movements.to_move("t0", 29, B, A) == 27
    for partition in range(15, 23):
        movements.record("t0", SPAN, partition, B, A)
    assert movements.to_move("t0", 29, B, A) == 27
