"""The client-side round-robin assignor (spec 5.4)."""

from hypothesis import given

from kafka_coordinator.assignors.inputs import GroupMetadata, static_order
from kafka_coordinator.assignors.roundrobin import roundrobin
from protocols.java import sorted_as_java
from tests.kafka_coordinator.consumer.metadata import assert_each_partition_has_one_subscriber, group_of, groups, owned


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
