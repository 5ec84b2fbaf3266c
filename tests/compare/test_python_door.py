"""The few lines of Python that docs/python.md shows, and what they promise."""

import importlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafka_coordinator
import rocketmq_selfbalance
from compare import fairness, optimum
from kafka_coordinator import assign
from protocols import Allocation, Group, GroupError, Queue
from rocketmq_selfbalance import allocate

GROUP = Group.of(
    topics={"orders": 6, "payments": {"broker-a": 2, "broker-b": 2}},
    members={"c1": ["orders", "payments"], "c2": {"subscribe": ["orders"], "instance_id": "i2"}},
)


def test_one_group_under_both_systems() -> None:
    kafka = assign("cooperative-sticky", GROUP)
    kafka.check()
    assert (len(kafka["c1"]), len(kafka["c2"])) == (5, 5)
    assert all(isinstance(queue, Queue) for queue in kafka["c1"])
    after = assign("cooperative-sticky", GROUP.without("c2"), previous=kafka)
    assert set(after["c1"]) == set(GROUP.queues)
    rocket = allocate("CONSISTENT_HASH", GROUP, settings={"virtual_nodes": 20})
    # c2 does not read payments, but RocketMQ deals them out to it all the same: its share has no owner.
    assert set(rocket.unowned) <= set(GROUP.topics["payments"])
    assert fairness(kafka).jain == 1.0
    assert fairness(rocket).idle_members == 0
    assert optimum(GROUP, kafka).moves == 0


def test_the_optimum_can_be_called_once_its_room_was_imported() -> None:
    importlib.import_module("compare.optima")
    from compare import optimum as called

    assert called(GROUP).max == optimum(GROUP).max


def test_the_seed_of_this_project() -> None:
    members = [f"c{n}" for n in range(1, 5)]
    topics = {name: {"broker-a": 1, "broker-b": 1} for name in ("TopicX", "TopicY")}
    group = Group.of(topics, {member: list(topics) for member in members})
    figures = fairness(allocate("AVG", group))
    assert (figures.idle_members, figures.jain, figures.pile_up, figures.max_over_mean) == (2, 0.5, 1.0, 2.0)
    assert figures.topics["TopicX"].idle_members == 2
    assert fairness(assign("sticky", group)).idle_members == 0


def test_retry_topics_and_topics_that_nobody_reads_do_not_count() -> None:
    group = Group.of({"t": 2, "%RETRY%g": 1, "unread": 5}, {"a": ["t", "%RETRY%g"], "b": ["t", "%RETRY%g"]})
    allocation = allocate("AVG", group)
    assert (fairness(allocation).queues, fairness(allocation).max) == (2, 1)
    assert (fairness(allocation, with_retry=True).queues, fairness(allocation, with_retry=True).max) == (3, 2)


def test_weights() -> None:
    group = Group.of({"t": 2}, {"a": ["t"], "b": ["t"]})
    allocation = Allocation(group, {"a": group.queues[:1], "b": group.queues[1:]})
    assert fairness(allocation, {group.queues[0]: 9, group.queues[1]: 3}).max_over_mean == 1.5
    with pytest.raises(GroupError, match="no weight for"):
        fairness(allocation, {group.queues[0]: 9})


def test_strategies_of_your_own() -> None:
    def everything_to_the_first(group: Group, previous: Allocation | None) -> dict[str, tuple[Queue, ...]]:
        return {group.members[0].id: group.queues}

    kafka_coordinator.register("first-takes-all", everything_to_the_first)
    group = Group.of({"t": 4}, {"a": ["t"], "b": ["t"]})
    assert len(assign("first-takes-all", group)["a"]) == 4

    def backwards(consumer_group, current_cid, mq_all, cid_all):  # type: ignore[no-untyped-def]
        at = list(reversed(cid_all)).index(current_cid)
        return mq_all[at :: len(cid_all)]

    rocketmq_selfbalance.register("BACKWARDS", backwards)
    assert [queue.number for queue in allocate("BACKWARDS", group)["b"]] == [0, 2]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.lists(st.integers(1, 15), min_size=1, max_size=6))
def test_optimum_and_fairness_tell_the_same_figures(counts: list[int], reads: list[int]) -> None:
    topics = {f"t{n}": count for n, count in enumerate(counts)}
    members = {f"m{n}": [t for at, t in enumerate(topics) if mask >> at & 1] for n, mask in enumerate(reads)}
    best = optimum(Group.of(topics, members))
    figures = fairness(best.allocation)
    assert (best.jain, best.max, best.min, best.idle_members) == (
        figures.jain,
        figures.max,
        figures.min,
        figures.idle_members,
    )
