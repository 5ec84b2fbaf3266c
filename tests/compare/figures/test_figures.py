"""Fairness figures: the numpy engine against the textbook, and the rules at the edges."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.figures import FIGURES, GroupLoads, counted_figures, fairness
from compare.figures.definitions import COUNTS, LOADS, jain_of
from compare.figures.last_step import quotient
from compare.figures.local import table_fairness
from compare.figures.numbered import records
from protocols import Allocation, Group, GroupError, UserError
from tests.compare.figures.figure_groups import groups, tables
from tests.compare.figures.textbook import textbook_figures

TWO_TOPICS = GroupLoads(4, [(topic, number, (number,), 1) for topic in "XY" for number in (0, 1)])


def assert_same(found: dict[str, object], expected: dict[str, object]) -> None:
    """Equal bits, but for Theil, whose logarithms may differ in the last digits."""
    assert set(found) == set(expected)
    for name, value in expected.items():
        if name == "theil" and value is not None:
            assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12)
        else:
            assert found[name] == value, name


@settings(max_examples=100, deadline=None)
@given(st.one_of(groups("ones"), groups("lags"), groups("rates")))
def test_numpy_engine_agrees_with_textbook(group: GroupLoads) -> None:
    (found,) = counted_figures([group])
    expected = textbook_figures(group)
    assert_same(found.overall, expected.overall)
    assert list(found.topics) == list(expected.topics)
    for topic, figures in expected.topics.items():
        assert_same(found.topics[topic], figures)


@given(st.lists(st.integers(0, 1 << 30), min_size=1, max_size=6))
def test_jain_of_loads_at_hand_has_the_bits_of_the_engine(loads: list[int]) -> None:
    (found,) = counted_figures([GroupLoads(len(loads), [("X", at, (at,), load) for at, load in enumerate(loads)])])
    assert jain_of(loads) == found.overall["jain"]


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(["ones", "lags", "rates"]).flatmap(lambda kind: st.lists(groups(kind), min_size=1, max_size=5)))
def test_tables_give_the_bytes_of_python_values(listed: list[GroupLoads]) -> None:
    is_decimal = any(isinstance(row[3], float) for group in listed for row in group.rows)
    table = table_fairness(*tables(listed), per_topic=True)
    rows = records({name: table[name].to_numpy() for name in FIGURES})
    found = {
        (run * 2 + int(group[-1]), topic): row
        for run, group, topic, row in zip(
            *(table[name].to_pylist() for name in ("run", "group", "topic")), rows, strict=True
        )
    }
    if is_decimal:
        listed = [GroupLoads(g.members, [(*row[:3], float(row[3] or 0)) for row in g.rows]) for g in listed]
    for at, figures in enumerate(counted_figures(listed)):
        assert found[at, None] == figures.overall
        assert {topic: row for (group, topic), row in found.items() if group == at and topic} == figures.topics


@given(st.lists(st.tuples(st.integers(-(2**90), 2**90), st.integers(1, 2**90)), min_size=1, max_size=5))
def test_quotients_are_rounded_once(pairs: list[tuple[int, int]]) -> None:
    top, bottom = (np.array(column, dtype=object) for column in zip(*pairs, strict=True))
    expected = [int(a) / int(b) for a, b in pairs]
    assert quotient(top, bottom, np.ones(len(pairs), dtype=bool)).tolist() == expected


def test_totals_beyond_int64_are_exact() -> None:
    # The group's total is 2^64, which int64 would take for 0.
    even, uneven = (GroupLoads(8, [("A", at, (at,), 2**61 - off * (at % 2)) for at in range(8)]) for off in (0, 2**60))
    (found,) = counted_figures([even])
    assert (found.overall["mean"], found.overall["jain"], found.overall["max_over_mean"]) == (2.0**61, 1.0, 1.0)
    assert_same(counted_figures([uneven])[0].overall, textbook_figures(uneven).overall)


def test_figures_of_one_group_do_not_depend_on_the_groups_around_it() -> None:
    huge = GroupLoads(3, [("A", 0, (0,), 2**61), ("A", 1, (1,), 2**60)])
    uneven = [GroupLoads(n, [("A", q, (q * q % n,), q + 1) for q in range(3 * n)]) for n in range(1, 40)]
    together = counted_figures([*uneven, huge])
    assert together == [counted_figures([group])[0] for group in [*uneven, huge]]


def test_without_members_figures_of_load_are_null_and_counts_stay() -> None:
    (found,) = counted_figures([GroupLoads(0, [("A", 0, (), 1), ("A", 1, (), 1)])])
    assert [found.overall[name] for name in COUNTS] == [0, 0, 2, 2, 0]
    assert all(found.overall[name] is None for name in LOADS)


def test_without_load_everybody_is_treated_alike() -> None:
    (found,) = counted_figures([GroupLoads(3, [])])
    names = ("jain", "cv", "gini", "theil", "pile_up", "max_over_mean", "idle_share")
    assert [found.overall[name] for name in names] == [1.0, 0.0, 0.0, 0.0, 0.0, None, 1.0]


def test_owner_of_queues_without_weight_is_not_idle() -> None:
    (found,) = counted_figures([GroupLoads(2, [("A", 0, (0,), 0)])])
    assert found.overall["idle_members"] == 1
    assert found.overall["max"] == 0


def test_unknown_weight_hides_loads_and_nothing_else() -> None:
    (found,) = counted_figures([GroupLoads(2, [("A", 0, (0,), None), ("B", 0, (1,), 1), ("B", 1, (), None)])])
    assert found.overall["jain"] is None
    assert found.topics["A"]["max"] is None
    assert found.topics["B"]["max"] == 1
    assert found.overall["idle_share"] == 0.0


def test_queue_with_two_owners_burdens_both_and_counts_once() -> None:
    (found,) = counted_figures([GroupLoads(2, [("A", 0, (0, 1), 1)])])
    assert (found.overall["queues"], found.overall["double_owned_queues"]) == (1, 1)
    assert (found.overall["min"], found.overall["mean"]) == (1, 1.0)


def test_bad_weights_are_refused(subtests: pytest.Subtests) -> None:
    for weight in [-1, -0.5, math.inf, 2**63]:
        with subtests.test(weight=weight), pytest.raises(UserError, match="weight"):
            counted_figures([GroupLoads(1, [("A", 0, (0,), weight)])])


def test_queue_listed_twice_for_one_owner_is_refused() -> None:
    ownership, members = tables([GroupLoads(1, [("A", 0, (0,), 1)])])
    with pytest.raises(UserError, match="listed twice"):
        table_fairness(pa.concat_tables([ownership, ownership]), members)


def test_missing_column_is_named() -> None:
    ownership, members = tables([TWO_TOPICS])
    with pytest.raises(UserError, match="no column 'owner'"):
        table_fairness(ownership.drop_columns(["owner"]), members)
    with pytest.raises(UserError, match="no column queue or number or partition"):
        table_fairness(ownership.drop_columns(["queue"]), members)
    with pytest.raises(UserError, match="no column 'lag'"):
        table_fairness(ownership, members, weight="lag")


def test_retry_topics_count_only_on_demand() -> None:
    ownership, members = tables([GroupLoads(2, [("A", 0, (0,), 1), ("%RETRY%g", 0, (1,), 1)])])
    without, with_retry = (table_fairness(ownership, members, with_retry=each) for each in (False, True))
    assert without["queues"].to_pylist() == [1]
    assert with_retry["queues"].to_pylist() == [2]
    assert without["members"].to_pylist() == [2]


def test_owner_is_a_member_whether_listed_or_not() -> None:
    ownership, members = tables([TWO_TOPICS])
    found = table_fairness(ownership, members.slice(0, 0))
    assert found["members"].to_pylist() == [2]


def test_names_of_queues_may_be_texts() -> None:
    ownership, members = tables([TWO_TOPICS])
    texts = ownership.set_column(4, "queue", ownership["queue"].cast(pa.string()))
    assert table_fairness(texts, members).equals(table_fairness(ownership, members))


def test_fairness_of_an_allocation_has_every_figure() -> None:
    group = Group.of(
        topics={"X": 2, "Y": 2, "nobody's": 3}, members={id: ["X", "Y"] for id in ("c1", "c2", "c3", "c4")}
    )
    owned = {id: [queue for queue in group.queues if queue.number == n] for n, id in enumerate(("c1", "c2"))}
    allocation = Allocation(group, {id: [q for q in owned[id] if q.topic != "nobody's"] for id in owned})
    found = fairness(allocation)
    assert (found.idle_members, found.queues, found.jain, found.pile_up) == (2, 4, 0.5, 1.0)
    assert found.topics["X"].max_over_mean == 2.0
    lags = {queue: 10 * queue.number for queue in group.queues}
    assert fairness(allocation, lags).max == 20
    with pytest.raises(GroupError, match="no weight for"):
        fairness(allocation, {})
