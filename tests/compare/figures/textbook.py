"""The figures by their literal definitions, in plain Python: slow, and the reference for the engines.

Everything is exact (fractions) until the one root, the logarithms or the conversion to float64 at the end; pile_up,
which adds roots up, is computed with 120 digits.
"""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

from compare.figures.definitions import MILLIONTHS, Figure
from compare.figures.of_groups import GroupFigures, GroupLoads, Row


def textbook_figures(group: GroupLoads) -> GroupFigures:
    """The figures of one group, overall and per topic."""
    topics = sorted({topic for topic, *_ in group.rows})
    of_topic = {topic: [row for row in group.rows if row[0] == topic] for topic in topics}
    return GroupFigures(
        overall=_figures(group.members, group.rows, list(of_topic.values())),
        topics={topic: _figures(group.members, rows, [rows]) for topic, rows in of_topic.items()},
    )


def _figures(members: int, rows: Sequence[Row], of_topics: Sequence[Sequence[Row]]) -> dict[str, Figure]:
    owners = [set(row[2]) for row in rows]
    idle = members - len(set().union(*owners))
    counts = {
        "members": members,
        "idle_members": idle,
        "queues": len(rows),
        "unowned_queues": sum(not each for each in owners),
        "double_owned_queues": sum(len(each) >= 2 for each in owners),
    }
    idle_share = idle / members if members else None
    if not members or any(row[3] is None and row[2] for row in rows):
        undefined: Mapping[str, Figure] = dict.fromkeys(
            ("min", "max", "mean", "spread", "cv", "jain", "gini", "theil", "max_over_mean", "pile_up")
        )
        return {**counts, **undefined, "idle_share": idle_share}
    x = sorted(_loads(members, rows))
    total, mean, variance = sum(x), Fraction(sum(x), members), _variance(x)
    return {
        **counts,
        "min": _number(x[0]),
        "max": _number(x[-1]),
        "mean": float(mean),
        "spread": _number(x[-1] - x[0]),
        "idle_share": idle_share,
        "cv": math.sqrt(variance / mean**2) if total else 0.0,
        "jain": float(Fraction(total**2, members * sum(each**2 for each in x))) if total else 1.0,
        "gini": _gini(x) if total else 0.0,
        "theil": _theil(x, mean) if total else 0.0,
        "max_over_mean": float(x[-1] / mean) if total else None,
        "pile_up": _pile_up(variance, [_variance(_loads(members, each)) for each in of_topics]),
    }


def _loads(members: int, rows: Sequence[Row]) -> list[Fraction]:
    loads = [Fraction(0)] * members
    for _, _, owners, weight in rows:
        for owner in owners:
            loads[owner] += _weight(weight)
    return loads


def _weight(weight: int | float | None) -> Fraction:
    if isinstance(weight, float):
        return Fraction(round(weight * MILLIONTHS), MILLIONTHS)
    return Fraction(weight or 0)


def _variance(x: Sequence[Fraction]) -> Fraction:
    mean = sum(x) / Fraction(len(x))
    return sum(((each - mean) ** 2 for each in x), start=Fraction(0)) / len(x)


def _gini(x: Sequence[Fraction]) -> float:
    n = len(x)
    ranked = sum(rank * each for rank, each in enumerate(x, 1))
    return float(2 * ranked / (n * sum(x)) - Fraction(n + 1, n))


def _theil(x: Sequence[Fraction], mean: Fraction) -> float:
    return math.fsum(each / mean * math.log(each / mean) for each in x if each) / len(x)


def _pile_up(variance: Fraction, of_topics: Sequence[Fraction]) -> float:
    if sum(each > 0 for each in of_topics) < 2:
        # The square of the only standard deviation is its variance.
        return 0.0
    with localcontext() as context:
        context.prec = 120
        within = _decimal(sum(of_topics, start=Fraction(0)))
        deviations = sum((_decimal(each).sqrt() for each in of_topics), start=Decimal(0))
        return float((_decimal(variance) - within) / (deviations**2 - within))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator


def _number(value: Fraction) -> int | float:
    as_float = float(value)
    return int(as_float) if as_float.is_integer() else as_float
