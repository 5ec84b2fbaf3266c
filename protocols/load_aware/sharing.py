"""The three aims in their order: the level that utilisations are brought to, the moves, the largest utilisation."""

from dataclasses import dataclass, replace
from fractions import Fraction

from protocols.load_aware.bounds import (
    Departures,
    Prices,
    better_prices,
    densest,
    departures,
    largest_alone,
    moves_at_least,
    prices_of_departures,
    prices_of_the_busiest,
    utilisation_at_least,
)
from protocols.load_aware.drafts import Draft, fresh, kept
from protocols.load_aware.problem import NOBODY, Problem
from protocols.load_aware.search import STEPS, search

FULL = Fraction(1)
"""The utilisation up to which everything drains in time."""


@dataclass(frozen=True, slots=True)
class Shared:
    """An assignment and what is proven of it.

    ``at``: of each queue its member. ``level``: no utilisation is above it, and it is what moves had to reach.
    ``within``: whether all drain in time: True, False (no assignment does that), or None (none was found, and it is not
    proven that there is none; or no capacity is known).
    ``cost`` is at least ``cost_at_least`` in every assignment that keeps to the level, proven by ``leaving`` (see
    `bounds`) or by ``cost_prices``; ``utilisation`` is at least ``utilisation_at_least`` in every one of them that
    costs no more, by ``utilisation_prices`` or by one queue alone; ``least`` is a bound for all assignments, by
    ``least_prices`` or one queue alone. Where ``searched``, every assignment was tried or excluded: then cost and
    utilisation are the best ones, whatever the bounds say.
    """

    at: tuple[int, ...]
    level: Fraction
    within: bool | None
    cost: int
    cost_at_least: int
    leaving: Departures
    cost_prices: Prices
    utilisation: Fraction
    utilisation_at_least: Fraction
    utilisation_prices: Prices
    least: Fraction
    least_prices: Prices
    searched: bool


def share_out(problem: Problem, *, hysteresis: Fraction, limited: bool = True, steps: int = STEPS) -> Shared:
    """Who gets which queue. ``limited``: capacities say what members can do; else they only compare them with each
    other. ``steps``: see `search`."""
    prices = densest(problem)
    least = max(utilisation_at_least(prices, problem), largest_alone(problem))
    if limited:
        today = kept(problem)
        if problem.utilisation(today.at) > FULL:
            # What has no owner yet may fit beside what stays all the same.
            today.lower(0)
        if problem.utilisation(today.at) <= FULL:
            return _at_level(problem, FULL, True, least, prices, steps, tuple(today.at))
    free, proven = _least(problem, least, steps)
    found = problem.utilisation(free)
    wider = found * (1 + hysteresis)
    if not limited:
        return _at_level(problem, wider, None, least, prices, steps, free)
    if found <= FULL:
        stays = search(replace(problem, takers=_only_owners(problem)), FULL, Prices({}), None, least, steps)
        if stays.at is not None:
            return _at_level(problem, FULL, True, least, prices, steps, stays.at)
        level = FULL - hysteresis if found <= FULL - hysteresis else FULL
        return _at_level(problem, level, True, least, prices, steps, free)
    excluded = least > FULL or proven
    return _at_level(problem, wider, False if excluded else None, least, prices, steps, free)


def _only_owners(problem: Problem) -> list[tuple[int, ...]]:
    """Who may take each queue where nothing moves."""
    return [
        tuple(takers) if owner == NOBODY else (owner,)
        for takers, owner in zip(problem.takers, problem.owner, strict=True)
    ]


def _least(problem: Problem, least: Fraction, steps: int) -> tuple[tuple[int, ...], bool]:
    """An assignment of least utilisation, whatever it costs, and whether that is proven."""
    free = replace(problem, owner=[NOBODY] * len(problem.owner))
    drafts = [kept(problem), fresh(problem)]
    for draft in drafts:
        draft.lower()
    best = tuple(min(drafts, key=lambda draft: problem.utilisation(draft.at)).at)
    utilisation = problem.utilisation(best)
    if utilisation <= least:
        return best, True
    found = search(free, utilisation, Prices({}), best, least, steps)
    return found.at or best, found.complete


def _at_level(
    problem: Problem,
    level: Fraction,
    within: bool | None,
    least: Fraction,
    least_prices: Prices,
    steps: int,
    known: tuple[int, ...],
) -> Shared:
    """The cheapest assignment at this level, and of these the flattest. ``known``: one that keeps to the level."""
    drafts = [Draft(problem, at, fills=fills) for at in (kept(problem).at, known) for fills in (False, True)]
    fitting = [draft for draft in drafts if draft.fit(level)]
    for draft in fitting:
        draft.go_home(level)
        draft.lower(draft.cost)
    best = tuple(min(fitting, key=lambda draft: (draft.cost, problem.utilisation(draft.at))).at)
    cost = problem.cost_of(best)
    leaving = departures(problem, level)
    cost_prices = prices_of_departures(problem, level)
    cost_at_least = max(sum(leaving.values()), moves_at_least(cost_prices, problem, level))
    if cost_at_least < cost:
        cost_prices = better_prices(problem, level, cost)
        cost_at_least = max(cost_at_least, moves_at_least(cost_prices, problem, level))
    alone = largest_alone(problem)
    prices = prices_of_the_busiest(problem, cost)
    flat = max(least, utilisation_at_least(prices, problem, cost), alone)
    searched = False
    if cost_at_least < cost or flat < problem.utilisation(best):
        found = search(problem, level, cost_prices, best, flat if cost_at_least == cost else least, steps)
        best, searched = found.at or best, found.complete
        if problem.cost_of(best) < cost:
            cost = problem.cost_of(best)
            prices = prices_of_the_busiest(problem, cost)
            flat = max(least, utilisation_at_least(prices, problem, cost), alone)
    utilisation = problem.utilisation(best)
    return Shared(
        best,
        level,
        within,
        cost,
        cost_at_least,
        leaving,
        cost_prices,
        utilisation,
        flat,
        prices,
        least,
        least_prices,
        searched,
    )
