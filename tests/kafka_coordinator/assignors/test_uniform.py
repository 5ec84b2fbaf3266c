"""The coordinator's uniform assignor (spec 5.10)."""

from dataclasses import replace

import pytest
from hypothesis import given

from kafka_coordinator.assignors.inputs import Assignment, AssignorError, GroupMetadata, Partition
from kafka_coordinator.assignors.uniform import homogeneous, uniform
from tests.kafka_coordinator.consumer.metadata import (
    assert_each_partition_has_one_subscriber,
    group_of,
    groups,
    owned,
    partitions_of,
)
from tests.rows import rows


def _all_of(topic: str, count: int) -> list[Partition]:
    return [(topic, number) for number in range(count)]


def _with_targets(group: GroupMetadata, answer: Assignment) -> GroupMetadata:
    """The group with this answer as its members' targets."""
    names = partitions_of(group)
    return replace(
        group,
        members=tuple(
            member._replace(claims=tuple(names[number] for number in numbers))
            for member, numbers in zip(group.members, answer.owned, strict=True)
        ),
    )


@rows(
    ("wanted", "error"),
    [({"A": "T1", "B": "T1"}, "PartitionAssignorException"), ({"A": "T1", "B": ""}, "ArrayIndexOutOfBoundsException")],
)
def test_a_target_that_a_subscribed_topic_does_not_have_makes_it_fail(wanted: dict[str, str], error: str) -> None:
    group = group_of({"T1": 3}, wanted, claims={"A": _all_of("T1", 4)})
    with pytest.raises(AssignorError) as caught:
        uniform(group)
    assert caught.value.error == error


def test_balance_travels_along_overlapping_subscriptions() -> None:
    targets = {"A": _all_of("T1", 6), "B": _all_of("T2", 3)}
    group = group_of({"T1": 6, "T2": 3}, {"A": "T1", "B": "T1 T2", "C": "T2"}, claims=targets)
    assert owned(group, uniform(group)) == {"A": "T1-0 T1-1 T1-2 T1-3", "B": "T1-4 T1-5 T2-0", "C": "T2-1 T2-2"}


def test_groups_are_homogeneous_if_all_name_the_same_topics_in_any_order() -> None:
    assert homogeneous(group_of({}, {"A": "x y", "B": "y x"}))
    assert not homogeneous(group_of({}, {"A": "x", "B": "y x"}))
    assert homogeneous(group_of({}, {}))


@given(groups(equal=True, unknown=False))
def test_equal_subscriptions_are_spread_evenly_and_then_stay(group: GroupMetadata) -> None:
    answer = uniform(group)
    assert_each_partition_has_one_subscriber(group, answer)
    sizes = [len(numbers) for numbers in answer.owned]
    assert not sizes or max(sizes) - min(sizes) <= 1
    settled = _with_targets(group, answer)
    assert [set(each) for each in uniform(settled).owned] == [set(each) for each in answer.owned]


@given(groups(unknown=False))
def test_different_subscriptions_have_one_owner_each_and_then_stay(group: GroupMetadata) -> None:
    answer = uniform(group, same_subscriptions=False)
    assert_each_partition_has_one_subscriber(group, answer)
    settled = _with_targets(group, answer)
    again = uniform(settled, same_subscriptions=False)
    assert [set(each) for each in again.owned] == [set(each) for each in answer.owned]
