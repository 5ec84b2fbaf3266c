"""Figures as functions on columns: aggregate expressions over the loads of members, for anyone's own ``groupBy``.

    loads.groupBy("group").agg(spark.jain("load"), spark.gini("load"))

One row per member, idle members with 0; null loads are left out; the answer is null where nothing is left. Loads are
taken as float64, in ascending order, so the answer does not depend on partitioning; for loads whose sums stay exact
(integers up to 2^53) it is that of `fairness`. Each group's loads are collected in one place: for millions of groups
with all figures, `fairness` is the fast way.
"""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from compare.figures.definitions import jain_parts


def jain(loads: Column | str) -> Column:
    """(sum x)^2 / (n sum x^2); 1 without load."""
    return _figure(loads, "jain", 1.0, _jain)


def _jain(x: Column, n: Column, total: Column) -> Column:
    above, below = jain_parts(n, total, _sum(x, lambda v: v * v))
    return above / below


def cv(loads: Column | str) -> Column:
    """Population standard deviation over the mean; 0 without load."""
    return _figure(
        loads,
        "cv",
        0.0,
        lambda x, n, total: F.sqrt((n * _sum(x, lambda v: v * v) - total * total) / (total * total)),
    )


def gini(loads: Column | str) -> Column:
    """2 sum(rank x) / (n sum x) - (n + 1) / n, ranks ascending from 1; 0 without load."""

    def compute(x: Column, n: Column, total: Column) -> Column:
        ranked = F.aggregate(F.transform(x, lambda v, at: v * (at + 1)), F.lit(0.0), lambda done, v: done + v)
        return (2 * ranked - (n + 1) * total) / (n * total)

    return _figure(loads, "gini", 0.0, compute)


def theil(loads: Column | str) -> Column:
    """(1/n) sum (x/mean) ln(x/mean), 0 ln 0 = 0; 0 without load. The last digits may differ from `fairness`."""

    def compute(x: Column, n: Column, total: Column) -> Column:
        def term(value: Column) -> Column:
            return F.when(value > 0, value / total * F.ln(value * n / total)).otherwise(0.0)

        return F.greatest(_sum(x, term), F.lit(0.0))

    return _figure(loads, "theil", 0.0, compute)


def max_over_mean(loads: Column | str) -> Column:
    """The heaviest load over the mean; null without load."""
    return _figure(loads, "max_over_mean", None, lambda x, n, total: F.array_max(x) * n / total)


def spread(loads: Column | str) -> Column:
    """The heaviest load less the lightest."""
    column = _column(loads)
    return (F.max(column) - F.min(column)).alias("spread")


def idle_members(loads: Column | str) -> Column:
    """How many members carry no load."""
    return F.count_if(_column(loads) == 0).alias("idle_members")


def _column(loads: Column | str) -> Column:
    return F.col(loads) if isinstance(loads, str) else loads


def _sum(loads: Column, term: Callable[[Column], Column]) -> Column:
    return F.aggregate(loads, F.lit(0.0), lambda done, value: done + term(value))


def _figure(
    loads: Column | str, name: str, unloaded: float | None, compute: Callable[[Column, Column, Column], Column]
) -> Column:
    x = F.array_sort(F.collect_list(_column(loads).cast("double")))
    n, total = F.size(x), _sum(x, lambda value: value)
    without = F.when(n > 0, F.lit(unloaded).cast("double"))
    return F.when(total > 0, compute(x, n, total)).otherwise(without).alias(name)
