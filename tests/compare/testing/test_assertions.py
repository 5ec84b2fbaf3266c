"""Assertions hold where they should, and tell the story where they do not."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.testing import (
    GroupPair,
    assert_fair,
    assert_moves_at_most,
    assert_no_double_ownership,
    assert_no_gap,
    assert_no_idle_members,
    assert_optimal,
    assert_settles_within,
    assertions,
    kafka_group,
    rocketmq_group,
)
from compare.testing.strategies import faults, groups


def _told(demand: Callable[..., None], *arguments: Any, **named: Any) -> str:
    with pytest.raises(AssertionError) as failure:
        demand(*arguments, **named)
    return str(failure.value)


def test_a_calm_fair_group_satisfies_all() -> None:
    group = kafka_group(members=["c1", "c2", "c3"]).settle()
    group.assert_fair(max_over_mean=1.0)
    group.assert_no_double_ownership()
    group.assert_no_gap()
    group.assert_no_idle_members()
    group.assert_optimal()
    group.assert_settles_within(10)
    group.assert_moves_at_most(0)


def test_unfairness_is_told_with_its_reason_and_its_cure() -> None:
    group = kafka_group(topics={f"t{number}": 4 for number in range(3)}, members=["c1", "c2", "c3"]).settle()
    told = _told(group.assert_fair, max_over_mean=1.2)
    first = told.splitlines()[0]
    assert first.endswith("c1 has 6 of 12 partitions, 1.50 times the mean of 4.00; allowed is 1.2")
    assert "kafka: c1 6 (t0-0, t0-1, t1-0, t1-1, t2-0, t2-1), c2 3 (t0-2, t1-2, t2-2), c3 3" in told
    assert "the same members get the larger share of each topic, so the differences add up: t0 2 at most" in told
    assert "the fairest allocation has 4 to 4 partitions per member and takes 2 moves" in told
    assert "moving t0-1 to c2 would help" in _told(group.assert_optimal) or "to c2 would help" in _told(
        group.assert_optimal
    )
    group.assert_fair(max_over_mean=1.5)


def test_idle_members_are_told_where_there_are_too_many_members() -> None:
    group = rocketmq_group(topics={"orders": 2}, members=["c1", "c2", "c3"]).settle()
    told = _told(group.assert_no_idle_members)
    assert "c3 owns nothing" in told
    assert "there are 2 queues for 3 members" in told
    assert "no other allocation that the subscriptions allow is fairer" in told
    group.assert_optimal()


def test_a_gap_is_told_with_who_had_the_queue_and_why_it_took_so_long() -> None:
    group = kafka_group(members=["c1", "c2"]).settle()
    group.clock.advance(seconds=50 - group.clock.now)
    group.crash("c2").settle()
    told = _told(group.assert_no_gap, longer_than=5)
    assert "partition orders-3 had no owner from 50.0 s to 9" in told
    assert "c2 crashes at 50.0 s; a rebalance (session of c2 timed out, after: c2 crashes) began at" in told
    assert "c1 took it over" in told
    group.assert_no_gap(longer_than=50)


def test_a_gap_that_nobody_has_noticed_yet_is_told_too() -> None:
    group = kafka_group(members=["c1", "c2"]).settle()
    group.crash("c2").clock.advance(seconds=10)
    assert "no member has noticed yet" in _told(group.assert_no_gap, longer_than=5)
    assert "until now" in _told(group.assert_no_gap, longer_than=5)


def test_an_eager_rebalance_is_told_as_the_reason_of_a_gap() -> None:
    group = kafka_group(members=["c1", "c2"], assignor="range").settle()
    group.join("c3").settle()
    told = _told(group.assert_no_gap)
    assert "released it; a rebalance (c3 joined, after: c3 joins) began at" in told
    cooperative = kafka_group(members=["c1", "c2"], assignor="cooperative-sticky").settle()
    cooperative.join("c3").settle()
    cooperative.assert_no_gap(longer_than=4)


def test_two_owners_in_rocketmq_are_told_with_the_older_member_list() -> None:
    found = ""
    for seed in range(40):
        group = rocketmq_group(topics={"orders": 8}, members=["c1", "c2"], seed=seed, latency="1ms..900ms").settle()
        group.join("c3").settle()
        try:
            group.assert_no_double_ownership()
        except AssertionError as failure:
            found = str(failure)
            if "allocated with a member list that still lacked c3" in found:
                break
    assert "queue orders-broker-a-" in found
    assert "had two owners" in found
    assert "allocated with a member list that still lacked c3" in found


def test_two_owners_in_kafka_are_told_with_their_generations() -> None:
    group = kafka_group(members=["c1", "c2"]).settle()
    group.clock.advance(seconds=20 - group.clock.now)
    group.hang("c1", seconds=60)
    group.clock.advance(seconds=80)
    told = _told(group.assert_no_double_ownership)
    assert "had two owners c1, c2 from 6" in told
    assert "c2 was assigned it in generation 2 while c1 was still in generation 1" in told
    assert "session of c1 timed out" in told
    assert "c1 hangs for 60s at 20.0 s" in told
    group.assert_no_double_ownership(longer_than=30)


def test_settling_too_slowly_names_the_rebalances_that_took_the_time() -> None:
    group = kafka_group(members=["c1", "c2"]).settle()
    group.crash("c2")
    told = _told(group.assert_settles_within, 20)
    assert "after the last event (c2 crashes), allowed are 20 s" in told
    assert "session of c2 timed out at" in told
    group.assert_settles_within(60)


def test_what_never_settles_is_told_with_the_story_of_the_queue() -> None:
    group = rocketmq_group(topics={"a": 1, "b": 1}, members={"c1": ["a"], "c2": ["a", "b"]})
    told = _told(group.assert_settles_within, 60)
    assert "b-broker-a-0 has no owner" in told
    group = kafka_group(members=["c1"], settings={"group.max.size": 1}).settle()
    group.join("c2").settle()
    assert group.owners()["c2"] == ()


def test_too_many_moves_are_listed() -> None:
    group = kafka_group(members=["c1", "c2"]).settle()
    since = group.clock.now
    group.join("c3").settle()
    told = _told(group.assert_moves_at_most, 2)
    assert "3 partitions moved, allowed are 2" in told
    assert "orders-5 from c2 to c3 at" in told
    group.assert_moves_at_most(3, since=since)
    group.assert_moves_at_most(0, since=group.clock.now)


def test_judging_too_early_is_said() -> None:
    group = kafka_group(members=["c1", "c2"])
    group.clock.advance(seconds=1)
    assert "the group has not settled yet" in _told(group.assert_no_idle_members)


def test_a_pair_fails_in_the_system_in_which_it_does_not_hold(group_pair: GroupPair) -> None:
    pair = group_pair(members=["c1", "c2"]).settle()
    pair.crash("c1").settle()
    told = _told(pair.assert_no_gap, longer_than=5)
    assert told.startswith("kafka at ")
    pair.rocketmq.assert_no_gap(longer_than=5)
    pair.assert_optimal()


@pytest.mark.parametrize(
    ("second", "more", "why"),
    [
        ({"client_id": "c1"}, {}, "c1 and c2 have the client id 'c1', and each takes the share of that id"),
        ({"strategy": "AVG_BY_CIRCLE"}, {}, "the members use different strategies: c1 AVG, c2 AVG_BY_CIRCLE"),
        ({}, {"messageModel": "BROADCASTING"}, "the group is BROADCASTING: every member reads every queue"),
    ],
)
def test_two_owners_that_never_agree_are_explained(second: Any, more: Any, why: str) -> None:
    members = {"c1": {"subscribe": ["orders"]}, "c2": {"subscribe": ["orders"], **second}}
    group = rocketmq_group(topics={"orders": 8}, members=members, settings=more).settle()
    told = _told(group.assert_no_double_ownership)
    assert "two owners c1, c2 since 1.0 s until now" in told
    assert all(line.endswith(why) for line in told.splitlines() if "..." not in line)


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (
            {"client_id": "c1"},
            "c1 and c2 do not have unique client ids, and members with the same id take the same share",
        ),
        (
            {"strategy": "AVG_BY_CIRCLE"},
            "the members use different strategies: c1 AVG, c2 AVG_BY_CIRCLE",
        ),
        (
            {"subscribe": ["pay"]},
            "c2 is a member and does not read orders, so the share of this member has no owner",
        ),
    ],
)
def test_queues_that_nobody_will_own_are_explained(second: Any, why: str) -> None:
    group = rocketmq_group(topics={"orders": 8, "pay": 1}, members={"c1": ["orders"]}).settle()
    group.join("c2", **{"subscribe": ["orders"], **second}).settle()
    told = _told(group.assert_no_gap, longer_than=30)
    assert "until now" in told
    assert why in told


def test_what_is_not_fair_is_told_even_where_all_have_as_many() -> None:
    members = {"c1": ["orders"], "c2": {"subscribe": ["orders"], "strategy": "AVG_BY_CIRCLE"}}
    told = _told(rocketmq_group(topics={"orders": 8}, members=members).settle().assert_optimal)
    assert (
        "members have 4 to 4 queues, the fairest allocation has 4 to 4; 2 without an owner and 2 with several"
        " owners\n" in told
    )


def test_assertions_are_functions_too(group_pair: GroupPair) -> None:
    pair = group_pair(members=["c1", "c2", "c3"], latency="1ms..1ms").settle()
    for judged in (pair, pair.kafka, pair.rocketmq):
        assert_fair(judged)
        assert_no_double_ownership(judged)
        assert_no_gap(judged)
        assert_settles_within(judged, 60)
        assert_moves_at_most(judged, 0)
        assert_no_idle_members(judged)
        assert_optimal(judged)


@settings(max_examples=25, deadline=None)
@given(groups(), st.data())
def test_moves_are_those_of_the_timeline(plan: dict[str, Any], data: st.DataObject) -> None:
    for make in (kafka_group, rocketmq_group):
        group = make(**plan)
        group.live_through(data.draw(faults(list(plan["members"]))))
        group.settle()
        assert len(assertions.moves_of(group, 0.0)) == group.timeline.ownership.moves
