"""Loads that are sums of lag or rate: a good allocation, and a bound that is proven."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.optima import holds, optimum
from protocols import Allocation, Group, GroupError, Queue
from tests.compare.optima.optimum_cases import groups, least_maximum, loads, with_today

SMALL = with_today(groups(members=3, queues=(0, 1, 2), topics=3))
LARGER = with_today(groups(members=10, queues=(1, 3, 8), topics=6))


def carried(allocation: Allocation, weights: dict[Queue, Any]) -> list[Any]:
    return [sum(weights[queue] for queue in queues) for queues in allocation.values()]


@given(SMALL, st.data())
@settings(max_examples=80, deadline=None)
def test_the_least_maximum_lies_between_the_bound_and_what_was_found(
    case: tuple[Group, Allocation], data: st.DataObject
) -> None:
    group, today = case
    weights = {queue: data.draw(st.integers(0, 9)) for queue in group.queues}
    best = optimum(group, today, weights)
    if group.members:
        assert best.max is not None
        assert best.lower_bound is not None
        assert best.lower_bound <= least_maximum(group, weights) <= best.max
        assert best.gap == best.max - best.lower_bound
        assert best.max <= 2 * least_maximum(group, weights)


@given(LARGER, st.sampled_from([st.integers(0, 1000), st.floats(0, 1e6), st.floats(1e-9, 1e9)]), st.data())
@settings(max_examples=80, deadline=None)
def test_the_allocation_is_sound_and_the_bound_follows_from_what_it_names(
    case: tuple[Group, Allocation], amounts: st.SearchStrategy[float], data: st.DataObject
) -> None:
    group, today = case
    weights = {queue: data.draw(amounts) for queue in group.queues}
    best = optimum(group, today, weights)
    best.allocation.check()
    if best.bound is None:
        assert not group.members
        return
    assert best.max == pytest.approx(max(carried(best.allocation, weights)))
    assert best.min == pytest.approx(min(carried(best.allocation, weights)))
    assert holds(best.bound, group, weights)
    assert not holds(replace(best.bound, value=best.bound.value * 1.01 + 1), group, weights)


@given(LARGER, st.sampled_from([1, 7, 0.1, 10**30]))
@settings(max_examples=50, deadline=None)
def test_equal_weights_are_counting(case: tuple[Group, Allocation], weight: float) -> None:
    group, today = case
    best, counted = optimum(group, today, dict.fromkeys(group.queues, weight)), optimum(group, today)
    assert best.allocation == counted.allocation
    assert best.moves == counted.moves
    assert best.jain == pytest.approx(counted.jain)
    assert best.gap in (0, None)


@given(LARGER)
@settings(max_examples=30, deadline=None)
def test_where_nothing_weighs_anything_queues_stay_where_they_are(case: tuple[Group, Allocation]) -> None:
    group, today = case
    best = optimum(group, today, dict.fromkeys(group.queues, 0))
    subscribed = {member.id: set(member.subscription) for member in group.members}
    for queue, member in best.moved:
        assert not any(
            queue in queues and id in subscribed and queue.topic in subscribed[id] for id, queues in today.items()
        ), member
    assert best.max in (0, None)
    assert best.jain in (1, None)


def test_a_single_heavy_queue_bounds_the_maximum() -> None:
    group = Group.of({"t": 5}, {"a": ["t"], "b": ["t"]})
    weights = dict(zip(group.queues, [100, 1, 1, 1, 1], strict=True))
    best = optimum(group, None, weights)
    assert (best.max, best.min, best.lower_bound, best.gap) == (100, 4, 100, 0)
    assert best.bound is not None
    assert best.bound.together == 1


def test_members_alone_with_a_topic_bound_it_by_their_share() -> None:
    group = Group.of({"x": 4, "y": 1}, {"a": ["x"], "b": ["x", "y"], "c": ["y"]})
    best = optimum(group, None, {queue: 5 if queue.topic == "x" else 1 for queue in group.queues})
    assert best.bound is not None
    assert (set(best.bound.members), best.bound.topics, best.bound.value) == ({"a", "b"}, ("x",), 10)
    assert loads(best.allocation) == (2, 2, 1)


def test_todays_owners_keep_their_queues_unless_that_costs_more_than_noise() -> None:
    group = Group.of({"t": 4}, {"a": ["t"], "b": ["t"]})
    today = Allocation(group, {"a": group.queues[:2], "b": group.queues[2:]})
    weights = dict(zip(group.queues, [1000, 1001, 999, 1003], strict=True))
    assert optimum(group, today, weights).moves == 0
    uneven = dict(zip(group.queues, [1000, 1001, 1, 3], strict=True))
    assert optimum(group, today, uneven).max == 1003


def test_weights_that_are_none_are_refused(subtests: pytest.Subtests) -> None:
    for weight in [-1, -0.5, float("nan"), float("inf")]:
        with subtests.test(weight=weight):
            group = Group.of({"t": 2}, {"a": ["t"]})
            with pytest.raises(GroupError, match=r"has the weight .* expected a number of 0 or more"):
                optimum(group, None, {group.queues[0]: 1, group.queues[1]: weight})


def test_a_missing_weight_is_named_but_only_where_somebody_subscribes() -> None:
    group = Group.of({"t": 2, "unread": 1}, {"a": ["t"]})
    with pytest.raises(GroupError, match=r"number=1.* has no weight"):
        optimum(group, None, {group.queues[0]: 1})
    assert optimum(group, None, dict.fromkeys(group.topics["t"], 3)).max == 6


def test_a_bound_about_members_whom_others_can_relieve_does_not_hold() -> None:
    group = Group.of({"t": 4}, {"a": ["t"], "b": ["t"]})
    weights = dict.fromkeys(group.queues, 1)
    best = optimum(group, None, weights)
    assert best.bound is not None
    assert not holds(replace(best.bound, members=("a",)), group, weights)
    assert not holds(replace(best.bound, members=()), group, weights)
    assert not holds(replace(best.bound, together=9), group, weights)
