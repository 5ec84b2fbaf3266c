"""Causes that no capture shows, or that need more than one example, in groups made by the strategies themselves."""

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from compare.auditing.what_if import optimum_row, what_if
from compare.explaining.finding import Finding
from compare.reading.group_model import ROCKETMQ, model_of
from compare.reading.observed import ObservedGroup, ObservedMember, System
from kafka_coordinator import assign
from protocols import Allocation, Group, Queue, sort_queues
from rocketmq_selfbalance import allocate
from tests.compare.observed_groups import findings, observed, partitions, subscribed


def rocketmq_group(topics: Mapping[str, int], members: int) -> Group:
    return Group.of(
        {topic: {"broker-a": queues} for topic, queues in topics.items()},
        {f"10.0.0.{n}@i": list(topics) for n in range(members)},
    )


def told(allocation: Allocation, strategy: str | None) -> dict[str, Finding]:
    queues = allocation.group.queues
    subscribe = subscribed(allocation)
    return findings(observed(allocation, strategy, system="rocketmq", subscribe=subscribe, more_queues=queues))


def test_a_remainder_in_one_topic_is_no_pile_up() -> None:
    group = Group.of({"t": 10}, {f"c{n}": ["t"] for n in range(4)})
    for strategy in ("range", "roundrobin", "sticky", "server-range"):
        assert list(findings(observed(assign(strategy, group), strategy))) == ["as-fair-as-can-be"]


def test_strategies_that_members_name_themselves_are_mixed() -> None:
    group = rocketmq_group({"orders": 8}, 2)
    owned = allocate("AVG", group)
    seen = observed(owned, None, system="rocketmq", subscribe=subscribed(owned), strategies=("AVG", "CONFIG"))
    assert "AVG, CONFIG" in findings(seen)["mixed-strategies"].cause


def test_what_the_named_strategy_does_not_give_is_doubted_even_if_every_queue_has_one_owner() -> None:
    owned = allocate("AVG", rocketmq_group({"orders": 8}, 2))
    first, second = owned
    swapped = Allocation(owned.group, {first: owned[second], second: owned[first]})
    found = told(swapped, "AVG")
    assert list(found) == ["mixed-strategies"]
    assert "the views were taken at different times" in found["mixed-strategies"].cause
    assert "mixed-strategies" not in told(swapped, None)
    circle = told(allocate("AVG_BY_CIRCLE", owned.group), "AVG")["mixed-strategies"]
    assert circle.cause == "A member reports the strategy AVG, but all members own what AVG_BY_CIRCLE allocates."


@given(
    st.sampled_from(ROCKETMQ),
    st.dictionaries(st.sampled_from("abcd"), st.integers(1, 12), min_size=1),
    st.integers(1, 6),
)
@settings(max_examples=60, deadline=None)
def test_who_agrees_is_not_accused_of_disagreeing(strategy: str, topics: dict[str, int], members: int) -> None:
    owned = allocate(strategy, rocketmq_group(topics, members))
    for name in (strategy, None):
        kinds = set(told(owned, name))
        assert kinds.isdisjoint(
            {"mixed-strategies", "different-subscriptions", "duplicate-client-id", "unowned-queues", "two-owners"}
        )


def test_different_subscriptions_leave_queues_without_owner() -> None:
    group = Group.of({"a": {"b": 4}, "b": {"b": 4}}, {"x": ["a"], "y": ["a", "b"]})
    found = told(allocate("AVG", group), "AVG")
    assert list(found) == ["different-subscriptions"]
    finding = found["different-subscriptions"]
    assert finding.evidence["subscriptions"] == {"x": ["a"], "y": ["a", "b"]}
    assert finding.cost > 10


def test_retry_topics_are_no_difference_between_subscriptions() -> None:
    queues = {"x": [Queue("a", "b", 0)], "y": [Queue("a", "b", 1), Queue("%RETRY%g", "b", 0)]}
    group = observed(queues, "AVG", system="rocketmq", subscribe={"x": ["a"], "y": ["a", "%RETRY%g"]})
    assert list(findings(group)) == ["as-fair-as-can-be"]


def test_lists_that_leave_queues_out() -> None:
    queues = [Queue("a", "b", n) for n in range(6)]
    owned = {"x": queues[:3], "y": queues[2:5]}
    group = observed(owned, "CONFIG", system="rocketmq", subscribe={"x": ["a"], "y": ["a"]}, more_queues=queues)
    found = findings(group)
    assert list(found) == ["configured-gaps"]
    assert "1 queue has no owner and 1 queue has two" in found["configured-gaps"].cause


def test_a_strategy_of_ones_own_with_gaps() -> None:
    queues = [Queue("a", "b", n) for n in range(4)]
    subscribe = {"x": ["a"], "y": ["a"]}
    gaps = observed({"x": queues[:1], "y": queues[1:3]}, "Mine", system="rocketmq", subscribe=subscribe)
    more = observed(
        {"x": queues[:1], "y": queues[1:3]}, "Mine", system="rocketmq", subscribe=subscribe, more_queues=queues
    )
    both = observed({"x": queues[:3], "y": queues[2:]}, "Mine", system="rocketmq", subscribe=subscribe)
    assert "unowned-queues" not in findings(gaps)
    assert list(findings(more)) == ["unowned-queues"]
    assert list(findings(both)) == ["two-owners"]


def test_partitions_without_owner_and_with_two() -> None:
    added = observed({"x": partitions("t", 0, 1), "y": partitions("t", 2)}, "range", more_queues=partitions("t", 3))
    assert "unowned-queues" in findings(added)
    twice = observed({"x": partitions("t", 0, 1), "y": partitions("t", 1, 2)}, "range")
    assert list(findings(twice)) == ["two-owners"]


def test_a_topic_that_nobody_reads_any_more_is_no_lack_of_owners() -> None:
    group = observed({"x": partitions("t", 0), "y": partitions("t", 1)}, "range", more_queues=partitions("old", 0, 1))
    found = findings(group)
    assert list(found) == ["left-over-topics"]
    subscribe, delete = found["left-over-topics"].remedies
    assert subscribe.reversible
    assert "--delete-offsets --group g --topic old" in delete.commands[0]
    assert not delete.reversible


def test_an_empty_subscription_under_sticky_is_a_known_defect() -> None:
    group = Group.of({"t": 4}, {"C0": [], "C1": ["t"]})
    owned = assign("sticky", group)
    assert owned["C0"]
    found = findings(observed(owned, "sticky", subscribe=subscribed(owned)))
    assert list(found) == ["empty-subscription"]
    assert found["empty-subscription"].evidence["members"] == ["C0"]
    assert "empty-subscription" not in findings(observed(owned, "sticky"))


def test_an_empty_subscription_that_owns_nothing_is_none() -> None:
    owned = assign("range", Group.of({"t": 4}, {"C0": [], "C1": ["t"]}))
    assert "empty-subscription" not in findings(observed(owned, "range", subscribe=subscribed(owned)))


def test_a_static_member_behind_whom_all_lag_lies_may_be_gone() -> None:
    owned = {"x": partitions("t", 0, 1), "y": partitions("t", 2, 3)}
    instances = {"x": "pod-0", "y": "pod-1"}
    behind = dict(zip(partitions("t", 0, 1, 2, 3), (5, 7, 0, 0), strict=True))
    found = findings(observed(owned, "range", instances=instances, lag=behind))
    assert found["static-member-silent"].evidence == {"instances": ["pod-0"], "lag": 12}
    for lag in (5, 7, 1, 0), (5, 0, 0, 0), (0, 0, 0, 0), (5, 5, 5, 5):
        there = dict(zip(partitions("t", 0, 1, 2, 3), lag, strict=True))
        assert "static-member-silent" not in findings(observed(owned, "range", instances=instances, lag=there))
    assert "static-member-silent" not in findings(observed(owned, "range", lag=behind))


def test_sticky_that_keeps_an_uneven_past_is_told_to_start_afresh() -> None:
    owned = {"x": partitions("t", 0, 1, 2, 3), "y": partitions("t", 4)}
    found = findings(observed(owned, "cooperative-sticky", subscribe={"x": ["t"], "y": ["t"]}))
    assert list(found) == ["strategy-falls-short"]
    remedy = found["strategy-falls-short"].remedy
    assert remedy is not None
    assert remedy.restart == "all at once"
    assert remedy.text.startswith("Stop all members, and start them once the group is Empty")


def test_an_empty_group_without_lag_is_accused_of_nothing() -> None:
    assert findings(observed({}, None, state="Empty")) == {}
    waiting = observed({}, None, state="Empty", lag={Queue("t", "", 0): 3})
    assert list(findings(waiting)) == ["no-members"]


def test_a_position_behind_the_end_does_not_hide_what_waits_elsewhere() -> None:
    ahead, behind = Queue("t", "a", 0), Queue("t", "a", 1)
    assert findings(observed({}, None, state="Empty", lag={ahead: -500})) == {}
    (found,) = findings(observed({}, None, state="Empty", lag={ahead: -500, behind: 2})).values()
    assert "2 records wait" in found.cause


QUEUES = st.builds(Queue, st.sampled_from(["a", "b"]), st.sampled_from(["", "x"]), st.sampled_from([0, 1, 2, 10**9]))
NAMES = st.sampled_from([None, "range", "sticky", "uniform", "AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "CONFIG", "?"])


@given(
    st.lists(st.tuples(st.sampled_from("mnop"), st.none() | st.lists(QUEUES), st.none() | st.sets(st.just("a")))),
    NAMES,
    st.sampled_from(["kafka", "rocketmq"]),
    st.lists(QUEUES),
    st.sampled_from(["Stable", "Reconciling", "ONLINE", None]),
)
@settings(max_examples=100, deadline=None)
def test_whatever_is_observed_gets_findings_and_never_an_error(
    members: list[tuple[str, list[Queue] | None, set[str] | None]],
    strategy: str | None,
    system: System,
    queues: list[Queue],
    state: str | None,
) -> None:
    group = ObservedGroup(
        system,
        "g",
        "shared",
        state,
        strategy,
        tuple(
            ObservedMember(
                id, None if owned is None else tuple(owned), subscription=None if topics is None else tuple(topics)
            )
            for id, owned, topics in members
        ),
        sort_queues(set(queues)) or None,
        lag=dict.fromkeys(queues, 1),
    )
    for finding in findings(group).values():
        assert 0 <= finding.cost <= 100
    modelled = model_of(group)
    if modelled is not None:
        assert len(what_if(modelled)) >= 3
        assert optimum_row(modelled, members=3).max is not None
