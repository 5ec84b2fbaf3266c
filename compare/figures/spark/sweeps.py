"""A sweep on Spark: a function is called for every part of it, and what its rows come to is counted in native columns,
one record per variant, subscription shape and event (and latency). Means are quotients of sums of whole numbers, the
rest are ranks, so no order of rows changes a digit.

The master decides where tasks run. A task that fails is tried again as Spark's settings say (three times on this
machine); what is done with a part must not depend on how often it is.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from compare.figures.metrics import COLUMNS

OPTIMUM = "optimum"
"""The variant that others are compared with."""

VARIANT = "variant"
KEYS = (VARIANT, "subscription", "event")
LATENCY = ("latency_min_ms", "latency_max_ms")

SPREAD = tuple(metric.column for metric in COLUMNS["summary"])
"""Figures of runs of which median, 5th and 95th percentile are told."""


_SHARES = (
    "fairest_share",
    "max_over_best",
    "max_over_best_p95",
    "max_over_best_max",
    "idle_share",
    "best_idle_share",
    "unowned_share",
    "double_owned_share",
    "moved_share",
    "best_moved_share",
)
_WORDS = (("median", 0.5), ("p5", 0.05), ("p95", 0.95))


def for_each_part(spark: SparkSession, job: Callable[[int], None], parts: Sequence[int], tasks: int) -> None:
    """Call ``job`` with the number of each part, in so many tasks (or one for each part, where these are fewer)."""

    def call(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                job(parts[place])
        yield from ()

    places = spark.range(0, len(parts), 1, max(1, min(tasks, len(parts))))
    places.mapInArrow(call, "id long").collect()


def columns_of(kind: str) -> tuple[str, ...]:
    """The columns of numbers of a summary of this kind (``allocations`` or ``simulations``)."""
    if kind == "allocations":
        return ("cells", *_SHARES)
    return ("runs", "settled_share", *(f"{name}_{word}" for name in SPREAD for word, _ in _WORDS))


def read_rows(spark: SparkSession, folder: str) -> DataFrame:
    """The rows of a sweep (its folder ``rows``) with the column ``variant``."""
    return spark.read.option("basePath", folder).parquet(folder).withColumn(VARIANT, F.col(VARIANT).cast("string"))


def with_optimum(rows: DataFrame) -> DataFrame:
    """Rows of allocations, each beside those figures of the optimum of its cell that it is judged by."""
    named = {
        "best_max": "max",
        "best_min": "min",
        "best_idle": "idle_members",
        "best_moves": "moves",
    }
    best = rows.where(F.col(VARIANT) == OPTIMUM).select(
        F.col("cell").alias("best_cell"), *(F.col(column).alias(name) for name, column in named.items())
    )
    others = rows.where(F.col(VARIANT) != OPTIMUM)
    beside = others.join(best, others["cell"] == best["best_cell"]).drop("best_cell")
    whole = (F.col("unowned_queues") == 0) & (F.col("double_owned_queues") == 0)
    return beside.withColumns(
        {
            "whole": whole,
            "fairest": whole & (F.col("max") == F.col("best_max")) & (F.col("min") == F.col("best_min")),
            "ratio": F.when(F.col("best_max") > 0, F.col("max") / F.col("best_max")),
        }
    )


def allocations(rows: DataFrame) -> pa.Table:
    """A record per variant, shape and event."""
    return with_optimum(rows).groupBy(*KEYS).agg(*_of_allocations()).toArrow()


def by_size(rows: DataFrame, *sizes: str) -> pa.Table:
    """The same per variant, shape, event and these columns of the grid."""
    return with_optimum(rows).groupBy(*KEYS, *sizes).agg(*_of_allocations()).toArrow()


def _of_allocations() -> list[Column]:
    """How often the fairest, how far from it, who is idle, which queues are nobody's or two members', what moves."""
    many, ratio = F.count("*"), F.col("ratio")
    members, queues = F.sum("group_members"), F.sum("queues")
    figures = (
        F.count_if("fairest") / many,
        F.sum("max") / F.sum("best_max"),
        F.percentile(ratio, 0.95),
        F.max(ratio),
        F.sum("idle_members") / members,
        F.sum("best_idle") / members,
        F.sum("unowned_queues") / queues,
        F.sum("double_owned_queues") / queues,
        F.sum("moves") / queues,
        F.sum("best_moves") / queues,
    )
    return [many.alias("cells"), *(figure.alias(name) for figure, name in zip(figures, _SHARES, strict=True))]


def simulations(rows: DataFrame) -> pa.Table:
    """A record per variant, shape, event and latency: median, 5th and 95th percentile over sizes and seeds."""
    spread = [F.percentile(F.col(name), percent).alias(f"{name}_{word}") for name in SPREAD for word, percent in _WORDS]
    settled = (F.count_if(F.col("settled") == 1) / F.count("*")).alias("settled_share")
    return rows.groupBy(*KEYS, *LATENCY).agg(F.count("*").alias("runs"), settled, *spread).toArrow()
