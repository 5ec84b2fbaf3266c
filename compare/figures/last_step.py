"""The last step of the figures for many rows at once: `definitions` by numpy, with the same digits.

A quotient and a root of float64 are the nearest float64, whoever computes them, so numpy's are Python's. Logarithms are
not, and those of numpy depend on the processor: they are Python's here (`definitions.log`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from compare.figures.definitions import jain_parts, log, pile_up, root_of
from compare.figures.metrics import NAMES

Integers: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.object_]
"""int64, or Python integers where int64 would overflow."""

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_EXACT = 1 << 53
"""Up to here every integer is a float64."""


@dataclass(frozen=True, slots=True)
class Sums:
    """One entry per row (a group, or a topic of a group), over the loads x of its ``members`` members.

    ``total`` = sum x, ``squares`` = sum x^2, ``ranked`` = sum (rank x) with ascending ranks from 1, ``low`` and
    ``high`` the extremes (0 without members). The uneven topics of a row in any order: ``topic_deviation``, the n sum
    x^2 - (sum x)^2 of one topic over all members of the row, topics where it is 0 left out; ``topic_row`` is the row
    it belongs to. The histogram: ``load`` and ``holders`` (how many members carry this load), ascending within a row,
    zeros left out; ``row`` is the row it belongs to. ``unknown`` says where a weight is not
    known. ``unit`` is the load of a queue of weight 1. int64 columns must be small enough that ``2 members total^2``
    stays below 2^62 in each row.
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
    topic_row: npt.NDArray[np.int64]
    topic_deviation: Integers
    row: npt.NDArray[np.int64]
    load: Integers
    holders: Integers
    unknown: Flags
    unit: int = 1


def last_step(sums: Sums) -> Mapping[str, Integers | Floats]:
    """Figure name to its values, one per row; NaN stands for null in the figures of `LOADS`."""
    n, total, high, low = sums.members, sums.total, sums.high, sums.low
    squared = total * total
    deviation = n * sums.squares - squared
    there = n > 0
    known = there & ~sums.unknown
    loaded = known & (total > 0)
    empty = known & ~loaded
    theil = np.full(len(n), np.nan)
    theil[loaded] = np.maximum(_theil(sums, loaded)[loaded], 0.0)
    figures: dict[str, Integers | Floats] = {
        "members": n,
        "idle_members": sums.idle,
        "queues": sums.queues,
        "unowned_queues": sums.unowned,
        "double_owned_queues": sums.double_owned,
        "min": _per_unit(low, known, sums.unit),
        "max": _per_unit(high, known, sums.unit),
        "mean": quotient(total, n * sums.unit, known),
        "spread": _per_unit(high - low, known, sums.unit),
        "idle_share": quotient(sums.idle, n, there),
        # sqrt(V) / mean with V = deviation / n^2 and mean = total / n.
        "cv": np.where(empty, 0.0, np.sqrt(quotient(deviation, squared, loaded))),
        "jain": np.where(empty, 1.0, quotient(*jain_parts(n, total, sums.squares), loaded)),
        "gini": np.where(empty, 0.0, quotient(2 * sums.ranked - (n + 1) * total, n * total, loaded)),
        "theil": np.where(empty, 0.0, theil),
        "max_over_mean": quotient(high * n, total, loaded),
        "pile_up": _pile_up(sums, deviation, known),
    }
    return {name: figures[name] for name in NAMES}


def _pile_up(sums: Sums, deviation: Integers, known: Flags) -> Floats:
    """(V - S) / (D^2 - S), each of the three multiplied by n^2; D^2 = S where fewer than two topics are uneven."""
    rows = len(deviation)
    topics = np.bincount(sums.topic_row, minlength=rows)
    within = np.zeros_like(deviation)
    np.add.at(within, sums.topic_row, sums.topic_deviation)
    result = np.where(known, 0.0, np.nan)
    apart = deviation - within
    (chosen,) = np.nonzero(known & (topics > 1) & (apart != 0).astype(bool))
    if not len(chosen):
        return result
    place = np.full(rows, -1)
    place[chosen] = np.arange(len(chosen))
    row = place[sums.topic_row]
    different, which = np.unique(sums.topic_deviation[row >= 0], return_inverse=True)
    roots = np.array([root_of(each) for each in different.tolist()], dtype=object)
    root_sums = np.zeros(len(chosen), dtype=object)
    np.add.at(root_sums, row[row >= 0], roots[which])
    result[chosen] = [
        pile_up(above, below, root)
        for above, below, root in zip(apart[chosen].tolist(), within[chosen].tolist(), root_sums, strict=True)
    ]
    return result


def quotient(numerator: Integers, denominator: Integers, where: Flags) -> Floats:
    """The float64 nearest to each exact quotient (ties to even); NaN outside of ``where``."""
    result = np.full(len(numerator), np.nan)
    small = where & _is_small(numerator) & _is_small(-numerator) & _is_small(denominator)
    np.divide(numerator.astype(np.float64), denominator.astype(np.float64), out=result, where=small)
    # Python divides integers of any size with one rounding.
    rest = np.flatnonzero(where & ~small)
    result[rest] = [
        int(top) / int(bottom) for top, bottom in zip(numerator[rest].tolist(), denominator[rest].tolist(), strict=True)
    ]
    return result


def _is_small(values: Integers) -> Flags:
    return np.less_equal(values, _EXACT).astype(bool)


def _per_unit(loads: Integers, known: Flags, unit: int) -> Floats:
    return quotient(loads, np.full(len(loads), unit, dtype=np.int64), known)


def _theil(sums: Sums, loaded: Flags) -> Floats:
    # Sum over the histogram of holders * (x/T) * ln(x n/T).
    of_loaded = loaded[sums.row]
    row, load = sums.row[of_loaded], sums.load[of_loaded]
    total, everywhere = sums.total[row], np.ones(len(row), dtype=bool)
    share = quotient(load, total, everywhere)
    relative = quotient(load * sums.members[row], total, everywhere)
    logarithms = np.fromiter(map(log, relative.tolist()), np.float64, len(relative))
    terms = sums.holders[of_loaded].astype(np.float64) * (share * logarithms)
    # bincount adds one after the other in the order of the entries, whatever lies around them.
    return np.bincount(row, weights=terms, minlength=len(loaded)).astype(np.float64)
