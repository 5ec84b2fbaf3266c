"""pile_up: the weighted mean correlation of the topics' loads, between -1 and 1."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compare.figures import GroupLoads, counted_figures
from compare.figures.local import table_fairness
from tests.compare.figures.figure_groups import WEIGHTS, tables
from tests.compare.figures.textbook import textbook_figures


def of(*topics: Sequence[int | float], names: Sequence[str] = "ABCDEFGH") -> GroupLoads:
    """A group from each topic's loads, one load per member."""
    rows = [
        (name, at, (at,), load)
        for name, loads in zip(names, topics, strict=False)
        for at, load in enumerate(loads)
        if load
    ]
    return GroupLoads(len(topics[0]), rows)


def pile_up(group: GroupLoads) -> Any:
    (found,) = counted_figures([group])
    assert {of_topic["pile_up"] for of_topic in found.topics.values()} <= {0.0}
    assert found.overall["pile_up"] == textbook_figures(group).overall["pile_up"]
    return found.overall["pile_up"]


def test_pile_up_by_hand(subtests: pytest.Subtests) -> None:
    for topics, expected in [
        # The same members get more of every topic; variances that are no squares, and of different sizes.
        (([1, 1, 0, 0], [1, 1, 0, 0]), 1.0),
        (([1, 0, 0], [1, 0, 0]), 1.0),
        (([3, 1, 0], [6, 2, 0], [10, 4, 1]), 1.0),
        (([2**57, 0, 0], [1, 0, 0], [1, 0, 0]), 1.0),
        (([0.1, 0.0], [0.3, 0.0]), 1.0),
        # Two topics that offset each other.
        (([1, 0], [0, 1]), -1.0),
        (([3, 0], [0, 2]), -1.0),
        (([2**57, 0], [0, 1]), -1.0),
        # Three cannot all be opposites: each pair correlates by -1/2.
        (([1, 0, 0], [0, 1, 0], [0, 0, 1]), -0.5),
        # Nothing in common: the covariance is 0.
        (([1, 1, 0, 0], [1, 0, 1, 0]), 0.0),
        # Variances 2/3 both, covariance 4/3 - 1 * 1 = 1/3.
        (([2, 1, 0], [1, 2, 0]), 0.5),
        # Variances 2/9 both, covariance 1/3 - 1/3 * 2/3 = 1/9.
        (([1, 0, 0], [1, 1, 0]), 0.5),
        # Variances 2/9 and 2/3, covariance 2/3 - 1/3 * 1 = 1/3: divided by the root of 4/27, the root of 3/4.
        (([1, 0, 0], [2, 1, 0]), math.sqrt(0.75)),
    ]:
        with subtests.test(topics=topics, expected=expected):
            assert pile_up(of(*topics)) == expected


def test_many_offsetting_topics_stay_in_bounds() -> None:
    # The totals are even but for one queue: a share of the totals' variance would be far below -1.
    rows = [(f"topic {at}", 0, (at % 20,), 1) for at in range(199)]
    found = pile_up(GroupLoads(20, rows))
    assert -0.1 < found < 0


@st.composite
def loads_of_topics(draw: st.DrawFn) -> list[list[int | float]]:
    """Up to 6 topics; some are multiples of one another, so that pile_up lies at its bounds or close to them."""
    members = draw(st.integers(1, 5))
    weights = WEIGHTS[draw(st.sampled_from(["lags", "rates"]))] if draw(st.booleans()) else st.integers(0, 3)
    topics: list[list[int | float]] = []
    for _ in range(draw(st.integers(1, 6))):
        if topics and isinstance(topics[0][0], int) and draw(st.booleans()):
            factor, again = draw(st.integers(0, 7)), draw(st.sampled_from(topics))
            topics.append([min(factor * load, 2**57) for load in again])
        else:
            topics.append(draw(st.lists(weights, min_size=members, max_size=members)))
    return topics


@settings(max_examples=200, deadline=None)
@given(loads_of_topics())
@example([[1, 0, 0]] * 6)
@example([[2**57, 0], [2**57 - 1, 1]])
def test_pile_up_stays_between_its_bounds_and_is_the_textbooks(topics: list[list[int | float]]) -> None:
    found = pile_up(of(*topics))
    assert -1.0 <= found <= 1.0


@settings(max_examples=100, deadline=None)
@given(loads_of_topics(), st.randoms(use_true_random=False))
def test_names_and_order_of_topics_and_the_engine_change_no_bit(topics: list[list[int | float]], draw: Any) -> None:
    group = of(*topics)
    names = draw.sample("ABCDEFGH", 8)
    renamed = of(*topics, names=names)
    shuffled = GroupLoads(renamed.members, draw.sample(renamed.rows, len(renamed.rows)))
    expected = counted_figures([group])[0].overall["pile_up"]
    assert counted_figures([shuffled])[0].overall["pile_up"] == expected
    if renamed.rows:
        assert table_fairness(*tables([shuffled]))["pile_up"].to_pylist() == [expected]
