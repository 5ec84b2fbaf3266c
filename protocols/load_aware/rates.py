"""What a strategy inside a group can know: a table of rates that all members are given, and nothing of capacities."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite

from protocols.load_aware.problem import Problem
from protocols.load_aware.sharing import share_out

HYSTERESIS = Fraction(1, 10)
"""Nothing moves while the highest rate of a member is above the least possible one by no more than this part of it."""

STEPS = 2_000
"""Of the search: a group waits for the answer."""

MILLIONTHS = 1_000_000
"""In which rates are whole numbers."""


def checked_rates(given: object) -> dict[str, float]:
    """Records per second by topic, ``topic-number`` or ``topic-broker-number``. Raises `ValueError` with what was
    expected."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{given!r}, expected a mapping of topics or queues to records per second")
    found = {}
    for name, rate in given.items():
        number = isinstance(rate, int | float) and not isinstance(rate, bool) and isfinite(rate) and rate >= 0
        if not isinstance(name, str) or not number:
            raise ValueError(f"{name}: {rate!r}, expected records per second, such as 80")
        found[name] = float(rate)
    return found


def rate_in(rates: Mapping[str, float], topic: str, broker: str, number: int) -> float:
    """The rate of a queue: its own, else that of its topic, else 1."""
    own = f"{topic}-{broker}-{number}" if broker else f"{topic}-{number}"
    return rates.get(own, rates.get(topic, 1.0))


def at_equal_members(
    rates: Sequence[float], takers: Sequence[tuple[int, ...]], owner: Sequence[int], members: int
) -> tuple[int, ...]:
    """Of each queue its member, by `share_out`, where all members are equally fast."""
    needs = [round(rate * MILLIONTHS) for rate in rates]
    problem = Problem(needs, takers, [max(1, sum(needs))] * members, owner, [1] * len(needs))
    return share_out(problem, hysteresis=HYSTERESIS, limited=False, steps=STEPS).at
