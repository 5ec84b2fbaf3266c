"""Records handled twice, in bursts, late: computed from ranges of offsets, checked record by record."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.facts import Committed, Delivered
from protocols.timeline.deliveries import burst, handled_more_than_once, redelivered
from protocols.timeline.timeline import back_within_a_generation, commits
from tests.protocols.timeline.timeline_made import A, B, recorded


def handled(member: str, first: int, end: int, since: float, until: float) -> Delivered:
    return Delivered("g", member, A, first, end, since, until)


def test_local_progress_10_and_committed_8_means_exactly_two_records_twice() -> None:
    deliveries = [handled("c1", 0, 10, 0, 1000), handled("c2", 8, 20, 1100, 2000)]
    assert redelivered(deliveries) == 2
    assert handled_more_than_once(deliveries) == {("g", A): [(8, 10)]}


def test_a_record_that_one_member_handles_again_counts_and_one_of_another_group_does_not() -> None:
    again = [handled("c1", 0, 5, 0, 1), handled("c1", 3, 5, 2, 3), handled("c1", 4, 5, 4, 5)]
    assert redelivered(again) == 2
    assert redelivered([handled("c1", 0, 5, 0, 1), Delivered("other", "c1", A, 0, 5, 0, 1)]) == 0


def test_the_records_of_a_topic_created_again_are_others_though_their_offsets_are_the_same() -> None:
    deliveries = [handled("c1", 0, 10, 0, 1000), handled("c2", 8, 10, 1000, 1500), handled("c1", 0, 9, 2000, 3000)]
    assert redelivered(deliveries) == 10
    lives = {A: ((0.0, 1500.0), (2000.0, inf))}
    assert redelivered(deliveries, lives) == 2
    assert handled_more_than_once(deliveries, lives) == {("g", A): [(8, 10)]}


@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(1, 9000), st.integers(1, 90)), min_size=1, max_size=6))
def test_rates_of_ranges_are_those_of_windows_counted_one_by_one(spans: list[tuple[int, int, int]]) -> None:
    deliveries = [handled("c1", 0, count, since, since + lasting) for since, lasting, count in spans]
    windows = []
    for window in range(20):
        rate = 0.0
        for since, lasting, count in spans:
            inside = max(0, min(since + lasting, 1000 * (window + 1)) - max(since, 1000 * window))
            rate += count * inside / lasting
        windows.append(rate)
    there = sorted(rate for rate in windows if round(rate, 6) > 0)
    middle = len(there) // 2
    normal = there[middle] if len(there) % 2 else (there[middle - 1] + there[middle]) / 2
    assert burst(deliveries) == pytest.approx(there[-1] / normal, rel=1e-4)


def test_a_commit_goes_back_only_against_what_stands_there() -> None:
    told = [
        (1.0, Committed("g", A, 10, "c1", 1, "")),
        (2.0, Committed("g", A, 5, "c2", 1, "ILLEGAL_GENERATION")),
        (3.0, Committed("g", A, 8, "c2", 2, "")),
        (4.0, Committed("g", A, 7, "c2", 2, "")),
        (5.0, Committed("g", B, 1, "c2", 2, "")),
    ]
    found = list(commits(told))
    assert [each.back for each in found] == [False, False, True, True, False]
    assert [each.taken for each in found] == [True, False, True, True, True]
    assert [(each.at, each.before) for each in back_within_a_generation(found)] == [(4.0, 8)]


def test_what_an_administrator_sets_back_is_no_going_back_of_a_member() -> None:
    told = [
        (1.0, Committed("g", A, 10, "c1", 1, "")),
        (2.0, Committed("g", A, 0, None, None, "")),
        (3.0, Committed("g", A, 3, "c1", 1, "")),
    ]
    assert back_within_a_generation(commits(told)) == []


def test_cost_does_not_grow_with_the_rate() -> None:
    few = recorded([(60_000.0, Delivered("g", "c1", A, 0, 60, 0.0, 60_000.0))], 60_000)
    many = recorded([(60_000.0, Delivered("g", "c1", A, 0, 60_000_000, 0.0, 60_000.0))], 60_000)
    assert len(few.deliveries) == len(many.deliveries) == 1
    assert few.burst == many.burst == 1
