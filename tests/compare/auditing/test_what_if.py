"""The same group under other strategies, with other members, with more queues."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from compare.auditing.score import ACROSS_TOPICS, PER_TOPIC, member_counts, next_effective_member_count
from compare.auditing.what_if import WhatIf, best_loads, changed, loads_of, optimum_row, under, what_if
from compare.figures import fairness
from compare.optima import fairest_loads, optimum
from compare.reading.group_model import Modelled, model_of
from kafka_coordinator import assign
from protocols import Allocation, Group, Queue
from tests.compare.observed_groups import captured
from tests.compare.optima.optimum_cases import groups

TOPICS = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 15), min_size=1)
MEMBERS = st.integers(1, 7)


def modelled(topics: dict[str, int], members: int, strategy: str = "range") -> Modelled:
    group = Group.of(topics, {f"m{n}": list(topics) for n in range(members)})
    return Modelled(group, assign(strategy, group), strategy, "recomputed")


def rows(model: Modelled) -> dict[str, WhatIf]:
    return {row.strategy: row for row in what_if(model)}


def test_what_cooperative_sticky_withholds_is_counted_where_it_goes() -> None:
    model = changed(modelled({"t": 6}, 1), members=2)
    assert assign("cooperative-sticky", model.group, model.today).withheld
    row = rows(model)["cooperative-sticky"]
    assert (row.max, row.min, row.moves) == (3, 3, 3)


@given(TOPICS, MEMBERS)
@settings(max_examples=60, deadline=None)
def test_the_figures_are_those_of_the_fairness_figures(topics: dict[str, int], members: int) -> None:
    model = modelled(topics, members)
    for row in what_if(model):
        allocation = under(model, row.strategy)
        assert allocation is not None
        figures = fairness(allocation)
        assert (row.max, row.min, row.idle_members, row.jain) == (
            figures.max,
            figures.min,
            figures.idle_members,
            figures.jain,
        )
        moved = [queue for id, queues in allocation.items() for queue in queues if queue not in model.today[id]]
        assert row.moves == len(moved)


@given(TOPICS, st.lists(st.sets(st.sampled_from("abcde")), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_nothing_is_fairer_than_the_optimum(topics: dict[str, int], subscriptions: list[set[str]]) -> None:
    group = Group.of(topics, {f"m{n}": sorted(each & set(topics)) for n, each in enumerate(subscriptions)})
    model = Modelled(group, Allocation(group, {}), None, "told")
    best = optimum_row(model)
    assert best.max == optimum(group).max
    assert best_loads(group) == fairest_loads(group)
    assert best.max is not None
    for name in ("range", "roundrobin", "server-range"):
        allocation = under(model, name)
        assert allocation is not None
        assert max(loads_of(allocation)) >= best.max


@given(TOPICS, MEMBERS, st.sampled_from((*PER_TOPIC, *ACROSS_TOPICS)))
@settings(max_examples=100, deadline=None)
def test_counted_members_are_those_that_the_strategies_give(topics: dict[str, int], members: int, name: str) -> None:
    model = modelled(topics, members)
    for row in member_counts(model, name, limit=8):
        after = changed(model, members=row.members)
        if name == "optimum":
            loads = list(fairest_loads(after.group))
        else:
            allocation = under(after, name)
            assert allocation is not None
            loads = loads_of(allocation)
        assert (row.max, row.min, row.idle_members) == (max(loads), min(loads), loads.count(0))


def test_the_next_useful_number_of_members_over_several_topics() -> None:
    model = modelled({"orders": 6, "payments": 4, "audit": 1}, 4)
    per_topic = member_counts(model, "range")
    assert [row.members for row in per_topic if row.useful] == [1, 2, 3, 4, 6]
    assert next_effective_member_count(per_topic, 4) == per_topic[5]
    # Range never gets below one queue of each topic for its first member.
    assert per_topic[-1].max == 3
    even = member_counts(model, "cooperative-sticky")
    assert [row.members for row in even if row.useful] == [1, 2, 3, 4, 6, 11]
    assert [row.members for row in even if row.even] == [1, 11]
    assert next_effective_member_count(even, 11) is None


@given(groups(members=6, queues=(1, 3, 8), topics=5))
@settings(max_examples=60, deadline=None)
def test_the_next_useful_number_under_the_optimum_is_what_exceeds_one_queue_less_shared_out(group: Group) -> None:
    best = optimum(group)
    loads = loads_of(best.allocation)
    most = max(loads, default=0)
    assume(most > 1)
    # As few as can be have the maximum; a new member takes one queue less than it from them.
    members = len(loads) + -(-loads.count(most) // (most - 1))
    table = member_counts(Modelled(group, best.allocation, None, "told"), "optimum", limit=members)
    found = next_effective_member_count(table, len(loads))
    assert found is not None
    assert found.members == members
    assert found.max < most


def test_fewer_members_that_leave_a_topic_unread_are_no_better() -> None:
    group = Group.of({"a": 6}, {"idle": [], "x": ["a"]})
    table = member_counts(Modelled(group, Allocation(group, {}), "range", "told"), "range", limit=3)
    assert [(row.members, row.max, row.useful) for row in table] == [(1, 0, False), (2, 6, True), (3, 3, True)]
    assert next_effective_member_count(table, 2) == table[2]


def test_unequal_subscriptions_are_tried_out() -> None:
    group = Group.of({"a": 6, "b": 1}, {"x": ["a"], "y": ["a", "b"]})
    model = Modelled(group, assign("range", group), "range", "owned")
    table = member_counts(model, "range")
    assert [row.members for row in table] == [1, 2, 3, 4]
    assert table[1].max == max(loads_of(model.today))
    assert member_counts(model, "CONSISTENT_HASH", 3)[2].members == 3


def test_members_leave_and_queues_come() -> None:
    model = modelled({"t": 6}, 3)
    (row,) = [row for row in what_if(model, without=["m1"]) if row.strategy == "sticky"]
    # What nobody owns any more does not move when it gets an owner.
    assert (row.max, row.min, row.moves) == (3, 3, 0)
    (row,) = [row for row in what_if(model, queues={"t": 9}) if row.strategy == "sticky"]
    assert (row.max, row.min, row.moves) == (3, 3, 0)
    assert optimum_row(model, members=2, queues={"t": 8}).max == 4


def test_queues_are_added_at_the_brokers_that_have_fewest() -> None:
    group = Group.of({"t": {"a": 3, "b": 1}}, {"x": ["t"]})
    after = changed(Modelled(group, Allocation(group, {}), "AVG", "told"), queues={"t": 7})
    assert after.group.topics["t"] == (*(Queue("t", "a", n) for n in range(4)), *(Queue("t", "b", n) for n in range(3)))


def test_every_captured_group_that_is_told_has_an_answer() -> None:
    told = 0
    for group in captured().values():
        model = model_of(group.observed)
        if model is not None:
            told += 1
            own = rows(model).get(model.strategy or "")
            if own is not None and model.basis == "recomputed":
                assert (own.max, own.min, own.idle_members, own.moves) == (*_extremes(model.today), 0)
    assert told > 100


def _extremes(today: Allocation) -> tuple[int, int, int]:
    loads = loads_of(today)
    return max(loads), min(loads), loads.count(0)
