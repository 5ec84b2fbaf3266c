"""Sharing by load, beside every assignment that there is (small problems) and beside its own claims (large ones)."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.load_aware import Problem, departures_hold, moves_at_least, share_out, utilisation_at_least
from protocols.load_aware.bounds import better_prices, densest, departures, largest_alone
from protocols.load_aware.problem import NOBODY

HYSTERESES = (Fraction(0), Fraction(1, 10), Fraction(1, 4))


@st.composite
def problems(draw: st.DrawFn, queues: int, members: int) -> Problem:
    """Queues with few or all takers, of members who have about as much capacity as is needed."""
    count = draw(st.integers(1, members))
    everybody = tuple(range(count))
    some = st.lists(st.sampled_from(everybody), min_size=1, unique=True).map(lambda chosen: tuple(sorted(chosen)))
    takers = draw(st.lists(st.just(everybody) | some, min_size=1, max_size=queues))
    size = len(takers)
    need = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 8, 13, 20]), min_size=size, max_size=size))
    mean = sum(need) / count
    slack = draw(st.lists(st.sampled_from([0.5, 0.8, 1, 1.2, 1.5]), min_size=count, max_size=count))
    return Problem(
        need,
        takers,
        [max(1, int(mean * each)) for each in slack],
        [draw(st.sampled_from([NOBODY, *each])) for each in takers],
        draw(st.lists(st.sampled_from([1, 1, 2, 5]), min_size=size, max_size=size)),
    )


def best_of_all(problem: Problem, hysteresis: Fraction, limited: bool) -> tuple[int, Fraction, Fraction]:
    """Cost and utilisation of the best of all assignments by the three aims, and the least utilisation of any."""
    found = [(problem.cost_of(at), problem.utilisation(at)) for at in product(*problem.takers)]
    least = min(utilisation for _, utilisation in found)
    level = least * (1 + hysteresis)
    if limited and least <= 1:
        stays = any(not cost and utilisation <= 1 for cost, utilisation in found)
        level = 1 - hysteresis if not stays and least <= 1 - hysteresis else Fraction(1)
    return (*min(each for each in found if each[1] <= level), least)


@given(problems(queues=6, members=4), st.sampled_from(HYSTERESES), st.booleans())
@settings(max_examples=150, deadline=None)
def test_small_problems_get_the_best_of_all_assignments(problem: Problem, hysteresis: Fraction, limited: bool) -> None:
    cost, utilisation, least = best_of_all(problem, hysteresis, limited)
    shared = share_out(problem, hysteresis=hysteresis, limited=limited)
    assert (shared.cost, shared.utilisation) == (cost, utilisation)
    assert shared.within == (least <= 1 if limited else None)
    assert (shared.cost_at_least, shared.utilisation_at_least) <= (cost, utilisation)
    assert shared.utilisation_at_least <= utilisation
    assert shared.least <= least
    assert shared.searched or (shared.cost_at_least, shared.utilisation_at_least) == (cost, utilisation)


@given(problems(queues=40, members=9), st.sampled_from(HYSTERESES))
@settings(max_examples=60, deadline=None)
def test_each_claim_follows_from_what_it_names_and_none_is_above_what_was_found(
    problem: Problem, hysteresis: Fraction
) -> None:
    shared = share_out(problem, hysteresis=hysteresis, steps=500)
    assert all(member in takers for member, takers in zip(shared.at, problem.takers, strict=True))
    assert shared.cost == problem.cost_of(shared.at)
    assert shared.utilisation == problem.utilisation(shared.at) <= shared.level
    assert departures_hold(shared.leaving, problem, shared.level)
    assert not shared.leaving or not departures_hold(
        {member: cost + 1 for member, cost in shared.leaving.items()}, problem, shared.level
    )
    proven = max(sum(shared.leaving.values()), moves_at_least(shared.cost_prices, problem, shared.level))
    assert shared.cost_at_least == proven <= shared.cost
    alone = largest_alone(problem)
    assert shared.least == max(utilisation_at_least(shared.least_prices, problem), alone)
    flat = max(utilisation_at_least(shared.utilisation_prices, problem, shared.cost), shared.least)
    assert shared.utilisation_at_least == flat <= shared.utilisation


@given(problems(queues=30, members=6), st.sampled_from(HYSTERESES[1:]), st.data())
@settings(max_examples=60, deadline=None)
def test_noise_below_the_hysteresis_moves_nothing_a_second_time(
    problem: Problem, hysteresis: Fraction, data: st.DataObject
) -> None:
    first = share_out(problem, hysteresis=hysteresis, steps=500)
    again = replace(problem, owner=first.at)
    if first.within:
        # What was moved leads so far below the limit that each need may grow by so much; what never moved is at most 1.
        growth = hysteresis if first.level < 1 else Fraction(0)
        more = data.draw(st.lists(st.integers(0, 100), min_size=len(problem.need), max_size=len(problem.need)))
        grown = [int(need * (1 + growth * part / 100)) for need, part in zip(problem.need, more, strict=True)]
        again = replace(again, need=grown)
    assert share_out(again, hysteresis=hysteresis, steps=500).cost == 0


def test_prices_see_that_a_queue_must_go_through_other_hands() -> None:
    """Member 0 has two too many, only 1 may take from it, 1 is full, and only 2 may take from 1: four moves."""
    problem = Problem([5] * 5, [(0, 1)] * 3 + [(1, 2)] * 2, [5, 10, 10], [0, 0, 0, 1, 1], [1] * 5)
    assert sum(departures(problem, Fraction(1)).values()) == 2
    assert moves_at_least(better_prices(problem, Fraction(1), 4), problem, Fraction(1)) == 4
    assert share_out(problem, hysteresis=Fraction(0), steps=0).cost == 4


@pytest.mark.parametrize(
    ("problem", "least"),
    [
        (Problem([4, 4, 1], [(0, 1), (0, 1), (1, 2)], [4, 4, 4], [NOBODY] * 3, [1] * 3), Fraction(8, 8)),
        (Problem([9, 4, 1], [(0,), (0, 1), (1, 2)], [4, 4, 8], [NOBODY] * 3, [1] * 3), Fraction(9, 4)),
        (Problem([3, 3], [(0, 1), (0, 1)], [1, 5], [NOBODY] * 2, [1] * 2), Fraction(1)),
    ],
)
def test_the_densest_members_are_found(problem: Problem, least: Fraction) -> None:
    assert utilisation_at_least(densest(problem), problem) == least
