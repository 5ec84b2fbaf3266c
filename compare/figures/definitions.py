"""What the fairness figures are, computed from integers by one function.

Engines count in integers: power sums, a rank-weighted sum, extremes, the deviation of every topic, and the histogram
of the members' loads. From these every figure follows by one division, root or logarithm. Numerators and denominators
are exact integers of any size and each quotient is the float64 nearest to it, so any engine, partitioning and number
of cores gives the same bytes. The sum of roots in pile_up is an integer too, of 2^-128: no order of addition changes
it, and neither a quotient of 1 nor one of -1 is missed or passed.

Without members every figure of load is null and the counts are what they are. Without load: jain 1, cv, gini and theil
0, max_over_mean null, pile_up 0. Where the weight of an owned queue is unknown, every figure of load but idle_share
is null. An idle member is one that owns no queue; a member of queues without weight (no lag) is not idle.

Weights are integers, or decimals that are counted in millionths (rounded half to even).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, TypeAlias, TypeVar

from compare.figures.metrics import COUNTS, LOADS

Figure: TypeAlias = int | float | None
Amount = TypeVar("Amount", bound=Any)
"""Numbers, arrays of them, or Spark's columns."""

MILLIONTHS = 1_000_000
"""Loads per unit where weights are decimals."""

_ROOT_BITS = 128
"""Binary places of the roots of integers. The denominator of pile_up is at least the sum of its roots, so what the
places left out change in the quotient is far below the last bit of a float64."""

log: Final = math.log


@dataclass(frozen=True, slots=True)
class Loads:
    """One group, or one topic of it: the ``loads`` of its members in ascending order, idle ones with 0, in whole
    numbers, of which ``unit`` are a queue of weight 1; ``unknown``: a weight is not known. ``topic_deviations``: the
    n sum x^2 - (sum x)^2 of the topics that it consists of, in any order; none for a topic."""

    loads: Sequence[int]
    idle: int
    queues: int
    unowned: int
    double_owned: int
    topic_deviations: Iterable[int] = ()
    unknown: bool = False
    unit: int = 1


def deviation_of(loads: Sequence[int]) -> int:
    """n sum x^2 - (sum x)^2."""
    total = sum(loads)
    return len(loads) * sum([load * load for load in loads]) - total * total


def figures_of(row: Loads) -> dict[str, Figure]:
    """Figure name to its value; None stands for null. Every quotient of two integers, of any size, is the float64
    nearest to it."""
    loads, n = row.loads, len(row.loads)
    counts = n, row.idle, row.queues, row.unowned, row.double_owned
    idle_share = row.idle / n if n else None
    known = n > 0 and not row.unknown
    figures: dict[str, Figure] = dict(zip(COUNTS, counts, strict=True))
    figures |= dict.fromkeys(LOADS)
    figures["idle_share"] = idle_share
    if not known:
        return figures
    total, low, high = sum(loads), loads[0], loads[-1]
    extremes = low / row.unit, high / row.unit, (high - low) / row.unit
    figures |= {name: whole(value) for name, value in zip(("min", "max", "spread"), extremes, strict=True)}
    figures |= {"mean": total / (n * row.unit), "cv": 0.0, "jain": 1.0, "gini": 0.0, "theil": 0.0, "pile_up": 0.0}
    if not total:
        return figures
    deviation = deviation_of(loads)
    ranked = sum([rank * load for rank, load in enumerate(loads, start=1)])
    # sqrt(V) / mean with V = deviation / n^2 and mean = total / n.
    figures["cv"] = math.sqrt(deviation / (total * total))
    above, below = jain_parts(n, total, sum([load * load for load in loads]))
    figures["jain"] = above / below
    figures["gini"] = (2 * ranked - (n + 1) * total) / (n * total)
    figures["theil"] = _theil(loads, total)
    figures["max_over_mean"] = high * n / total
    figures["pile_up"] = _pile_up(
        deviation, [topic_deviation for topic_deviation in row.topic_deviations if topic_deviation]
    )
    return figures


def whole(value: float) -> int | float:
    """An integer where the value is one."""
    return int(value) if value.is_integer() else value


def _theil(loads: Sequence[int], total: int) -> float:
    """Sum over the histogram of holders * (x/T) * ln(x n/T), one after the other in ascending order."""
    result = 0.0
    for load, equal in groupby(loads):
        if load:
            holders = float(sum(1 for _ in equal))
            result += holders * (load / total * log(load * len(loads) / total))
    return max(result, 0.0)


def _pile_up(deviation: int, of_topics: Sequence[int]) -> float:
    within = sum(of_topics)
    if len(of_topics) < 2 or deviation == within:
        return 0.0
    return pile_up(deviation - within, within, sum(map(root_of, of_topics)))


def root_of(deviation: int) -> int:
    """The root of a topic's deviation as a multiple of 2^-128, so that no order of addition changes a sum of them."""
    return math.isqrt(deviation << 2 * _ROOT_BITS)


def pile_up(apart: int, within: int, roots: int) -> float:
    """(V - S) / (D^2 - S), each of the three multiplied by n^2: ``apart`` is V - S, ``within`` S, ``roots`` D as a
    sum of `root_of`."""
    return (apart << 2 * _ROOT_BITS) / (roots * roots - (within << 2 * _ROOT_BITS))


def jain_parts(members: Amount, total: Amount, squares: Amount) -> tuple[Amount, Amount]:
    """Jain's index as numerator (sum x)^2 and denominator n sum x^2, for numbers, arrays and Spark's columns alike."""
    return total * total, members * squares


def jain_of(loads: Sequence[float]) -> float:
    """Jain's index of loads that are at hand as numbers, 1 without load; of whole numbers it has the bits of
    `figures_of`."""
    above, below = jain_parts(len(loads), sum(loads), sum(load * load for load in loads))
    return above / below if below else 1.0
