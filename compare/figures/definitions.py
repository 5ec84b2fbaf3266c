"""What the fairness figures are, and their last step: one numpy function for every engine.

Engines count in integers: power sums, a rank-weighted sum, extremes, and the histogram of the members' loads. From
these every figure follows by one division, root or logarithm. Numerators and denominators are exact integers that
become float64 once, so any engine, partitioning and number of cores gives the same bytes.

Without members every figure of load is null and the counts are what they are. Without load: jain 1, cv, gini and theil
0, max_over_mean null.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.object_]
"""int64, or Python integers where int64 would overflow."""

Floats: TypeAlias = npt.NDArray[np.float64]

COUNTS = ("members", "idle_members", "queues", "unowned_queues", "double_owned_queues")
"""Figures that are counts."""

LOADS = ("min", "max", "mean", "spread", "idle_share", "cv", "jain", "gini", "theil", "max_over_mean", "pile_up")
"""Figures over the members' loads: null where there are no members."""

NAMES = (*COUNTS, *LOADS)


@dataclass(frozen=True, slots=True)
class Sums:
    """One entry per row (a group, or a topic of a group), over the loads x of its ``members`` members.

    ``total`` = sum x, ``squares`` = sum x^2, ``ranked`` = sum (rank x) with ascending ranks from 1, ``low`` and
    ``high`` the extremes (0 without members). ``topic_squares`` and ``topic_totals_squared`` are the sums over the row's
    topics of sum x^2 and (sum x)^2. The histogram: ``load`` and ``holders`` (how many members carry this load),
    ascending within a row, zeros left out; ``row`` is the row it belongs to, ascending.
    """

    members: Integers
    idle: Integers
    queues: Integers
    unowned: Integers
    double_owned: Integers
    total: Integers
    squares: Integers
    ranked: Integers
    low: Integers
    high: Integers
    topic_squares: Integers
    topic_totals_squared: Integers
    row: npt.NDArray[np.int64]
    load: Integers
    holders: Integers


def last_step(sums: Sums) -> Mapping[str, Integers | Floats]:
    """Figure name to its values, one per row; NaN stands for null in the figures of `LOADS`."""
    n, total = _exact(sums.members), _exact(sums.total)
    squares, ranked = _exact(sums.squares), _exact(sums.ranked)
    deviation = n * squares - total * total
    within_topics = n * _exact(sums.topic_squares) - _exact(sums.topic_totals_squared)
    there = _floats(n) > 0
    loaded = _floats(total) > 0
    uneven = _floats(deviation) > 0
    mean = _ratio(total, n, there)
    figures: dict[str, Integers | Floats] = {
        "members": sums.members,
        "idle_members": sums.idle,
        "queues": sums.queues,
        "unowned_queues": sums.unowned,
        "double_owned_queues": sums.double_owned,
        "min": np.where(there, _floats(sums.low), np.nan),
        "max": np.where(there, _floats(sums.high), np.nan),
        "mean": mean,
        "spread": np.where(there, _floats(_exact(sums.high) - _exact(sums.low)), np.nan),
        "idle_share": _ratio(sums.idle, n, there),
        "cv": _where_loaded(_over(np.sqrt(_floats(deviation)), _floats(total), loaded), there, loaded, 0.0),
        "jain": _where_loaded(_ratio(total * total, n * squares, loaded), there, loaded, 1.0),
        "gini": _where_loaded(_ratio(2 * ranked - (n + 1) * total, n * total, loaded), there, loaded, 0.0),
        "theil": _where_loaded(_theil(sums, n, total), there, loaded, 0.0),
        "max_over_mean": np.where(there & loaded, _ratio(_exact(sums.high) * n, total, loaded), np.nan),
        "pile_up": np.where(there, np.where(uneven, _ratio(deviation - within_topics, deviation, uneven), 0.0), np.nan),
    }
    return {name: figures[name] for name in NAMES}


def _exact(values: Integers) -> npt.NDArray[np.object_]:
    return values.astype(object)


def _floats(values: Integers) -> Floats:
    return values.astype(np.float64)


def _over(numerator: Floats, denominator: Floats, where: npt.NDArray[np.bool_]) -> Floats:
    return np.divide(numerator, denominator, out=np.full(len(numerator), np.nan), where=where)


def _ratio(numerator: Integers, denominator: Integers, where: npt.NDArray[np.bool_]) -> Floats:
    return _over(_floats(numerator), _floats(denominator), where)


def _where_loaded(
    figure: Floats, there: npt.NDArray[np.bool_], loaded: npt.NDArray[np.bool_], without: float
) -> Floats:
    return np.where(there, np.where(loaded, figure, without), np.nan)


def _theil(sums: Sums, n: npt.NDArray[np.object_], total: npt.NDArray[np.object_]) -> Floats:
    # sum over the histogram of holders * (x/T) * ln(x n/T); bincount adds in the order of the entries.
    of_total = _floats(total)[sums.row]
    share = _floats(sums.load) / of_total
    relative = _floats(_exact(sums.load) * n[sums.row]) / of_total
    terms = _floats(sums.holders) * (share * np.log(relative))
    return np.bincount(sums.row, weights=terms, minlength=len(n)).astype(np.float64)
