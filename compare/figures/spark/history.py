"""Questions about snapshots of groups (`compare.snapshots`), answered by Spark's own columns.

A snapshot stands for the time until the next one of its cluster, but for at most twice its polling interval: time in
which nobody watched counts for nothing. The last one stands for one interval. Times are whole milliseconds, scores and
ratios are added up as whole numbers, and each quotient is taken once from exact sums, so that no partitioning and no
number of cores changes a digit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructType

from compare.figures.spark.sessions import progress, user_errors

KEYS = ("cluster", "system", "group")
DAY_MS = 86_400_000
SCORES, RATIOS = 1_000_000, 10_000
"""What one point of a score and a ratio of one are counted as."""

_SIGNS: Mapping[str, str] = {">": "gt", ">=": "ge", "<": "lt", "<=": "le", "==": "eq", "!=": "ne"}


@dataclass(frozen=True, slots=True)
class Unfair:
    """When a group counts as unfair: a column of numbers, a comparison (``>``, ``>=``, ``<``, ``<=``, ``==``, ``!=``),
    and a limit. Null is neither fair nor unfair."""

    column: str
    sign: str
    limit: float

    def holds(self) -> Column:
        """As a column of booleans."""
        column: Column = getattr(F.col(self.column), f"__{_SIGNS[self.sign]}__")(F.lit(self.limit))
        return column


@dataclass(frozen=True, slots=True)
class HistoryTables:
    """One row per group (``days`` holds a struct for each day), per group and day with a rebalance, per group with
    members that came or left, per group and topic that piles up. All have the columns `KEYS`; times are milliseconds
    since 1970 or durations (``..._ms``), days are days since 1970."""

    groups: pa.Table
    rebalances: pa.Table
    members: pa.Table
    topics: pa.Table


def read_snapshots(spark: SparkSession, root: str, files: Sequence[str] | None, columns: pa.Schema) -> DataFrame:
    """The snapshots below ``root`` (the folder ``snapshots``), or only these ``files`` of them. ``columns``: of a
    snapshot, without those that are names of folders."""
    schema = StructType(from_arrow_schema(columns).fields)
    for name in ("day", "cluster"):
        schema = schema.add(name, StringType())
    reader = spark.read.schema(schema).option("basePath", root).option("pathGlobFilter", "*.parquet")
    reader = reader.option("parquet.page.verify-checksum.enabled", "true")
    return reader.parquet(*([root] if files is None else files))


def chosen(snapshots: DataFrame, clusters: Sequence[str], days: tuple[date | None, date | None]) -> DataFrame:
    """The snapshots of these clusters (all, where none are named), from the first to the last day."""
    first, last = days
    conditions = [F.col("cluster").isin(*clusters)] if clusters else []
    conditions += [F.col("day") >= first.isoformat()] if first is not None else []
    conditions += [F.col("day") <= last.isoformat()] if last is not None else []
    for condition in conditions:
        snapshots = snapshots.where(condition)
    return snapshots


def history(snapshots: DataFrame, unfair: Unfair, calm_s: float, groups: Sequence[str] = ()) -> HistoryTables:
    """Every table, computed now, with a progress bar where standard error is a terminal. ``groups``: names of those
    that are asked for, () for all."""
    spark = snapshots.sparkSession
    rows = snapshots.where(F.col("at").isNotNull()).withColumn("ms", F.unix_millis("at"))
    with progress(spark, "reading snapshots"), user_errors():
        standing = _standing(rows)  # of whole polls, also of those that did not see the group
        rows = rows.where(F.col("group").isin(*groups)) if groups else rows
        timed = rows.join(F.broadcast(standing), ["cluster", "ms"])
        changed = _changes(rows).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            return HistoryTables(
                groups=_of_groups(_of_days(timed, unfair)).toArrow(),
                rebalances=_rebalances(changed, calm_s).toArrow(),
                members=_members(changed).toArrow(),
                topics=_topics(timed, unfair).toArrow(),
            )
        finally:
            changed.unpersist()


def _standing(rows: DataFrame) -> DataFrame:
    """For each poll (``cluster``, ``ms``) how long it stands: ``stands``, milliseconds."""
    polls = rows.groupBy("cluster", "ms").agg(F.max(F.rint(F.col("every_s") * 1000).cast("long")).alias("every"))
    following = F.lead("ms").over(Window.partitionBy("cluster").orderBy("ms"))
    # `least` alone would pass over the null of the last poll.
    until_next = F.when(following.isNotNull(), F.least(following - F.col("ms"), 2 * F.col("every")))
    stands = F.coalesce(until_next, F.col("every"))
    # At hand once: it is a small table, and every question joins it.
    table = polls.select("cluster", "ms", stands.alias("stands")).toArrow()
    return rows.sparkSession.createDataFrame(table)


def _of_days(timed: DataFrame, unfair: Unfair) -> DataFrame:
    stands = F.col("stands")

    def time_where(condition: Column) -> Column:
        return F.sum(F.when(condition, stands).otherwise(F.lit(0).cast("long")))

    def weighed(name: str, unit: int) -> list[Column]:
        """Sum over time, and the time in which it is known."""
        whole = F.rint(F.col(name) * unit).cast("long") if unit > 1 else F.col(name)
        product = F.try_multiply(whole, stands)
        return [F.try_sum(product).alias(f"{name}_sum"), time_where(F.col(name).isNotNull()).alias(f"{name}_ms")]

    is_unfair = unfair.holds()
    return timed.groupBy(*KEYS, F.floor(F.col("ms") / DAY_MS).cast("int").alias("day")).agg(
        F.count(F.lit(1)).alias("snapshots"),
        F.min("ms").alias("first_ms"),
        F.max("ms").alias("last_ms"),
        F.sum("stands").alias("ms"),
        time_where(is_unfair).alias("unfair_ms"),
        time_where(is_unfair.isNull()).alias("unknown_ms"),
        time_where(F.col("idle_members") > 0).alias("idle_ms"),
        time_where(F.col("unowned_queues") > 0).alias("unowned_ms"),
        time_where(F.col("double_owned_queues") > 0).alias("double_owned_ms"),
        F.sum("moves").alias("moves"),
        F.sum(_size("joined")).alias("joined"),
        F.sum(_size("left")).alias("left"),
        *weighed("score", SCORES),
        *weighed("max_over_mean", RATIOS),
        *weighed("lag", 1),
        F.min("score").alias("score_min"),
        F.max("max_over_mean").alias("max_over_mean_max"),
        F.max("distance").alias("distance_max"),
        F.max("lag").alias("lag_max"),
        F.max_by("score", "ms").alias("score_last"),
        F.max_by("lag", "ms").alias("lag_last"),
    )


_SUMS = (
    "snapshots",
    "ms",
    "unfair_ms",
    "unknown_ms",
    "idle_ms",
    "unowned_ms",
    "double_owned_ms",
    "moves",
    "joined",
    "left",
    *(f"{name}_{what}" for name in ("score", "max_over_mean", "lag") for what in ("sum", "ms")),
)


def _of_groups(days: DataFrame) -> DataFrame:
    """Sums over the days, the days themselves in order, and trends."""
    of_day = ("day", "ms", "unfair_ms", "idle_ms", "moves", "score_sum", "score_ms", "lag_sum", "lag_ms", "lag_max")
    # The slope of the daily mean score: whole numbers, so that the order of the days does not matter.
    day = F.col("day").cast("long")
    score = F.rint(F.col("score_sum") / F.col("score_ms")).cast("decimal(20,0)")
    known = F.col("score_ms") > 0
    x, y = F.when(known, day).cast("decimal(20,0)"), F.when(known, score)
    return days.groupBy(*KEYS).agg(
        *(F.try_sum(name).alias(name) for name in _SUMS),
        F.min("first_ms").alias("first_ms"),
        F.max("last_ms").alias("last_ms"),
        F.min("score_min").alias("score_min"),
        *(F.max(name).alias(name) for name in ("max_over_mean_max", "distance_max", "lag_max")),
        F.max_by("score_last", "last_ms").alias("score_last"),
        F.max_by("lag_last", "last_ms").alias("lag_last"),
        F.count(x).alias("trend_n"),
        F.sum(x).cast("decimal(38,0)").alias("trend_x"),
        F.sum(y).cast("decimal(38,0)").alias("trend_y"),
        F.sum((x * x).cast("decimal(28,0)")).alias("trend_xx"),
        F.sum((x * y).cast("decimal(28,0)")).alias("trend_xy"),
        F.array_sort(F.collect_list(F.struct(*of_day))).alias("days"),
    )


def _size(name: str) -> Column:
    return F.when(F.col(name).isNotNull(), F.size(name)).cast("long")


def _changes(rows: DataFrame) -> DataFrame:
    """The snapshots that saw a change of owners or members."""
    changed = (F.col("moves") > 0) | (F.size("joined") > 0) | (F.size("left") > 0)
    return rows.where(changed).select(*KEYS, "ms", "moves", "joined", "left")


def _rebalances(changed: DataFrame, calm_s: float) -> DataFrame:
    """Changes that are at most ``calm_s`` apart are one rebalance, which belongs to the day of its first change."""
    in_order = Window.partitionBy(*KEYS).orderBy("ms")
    since = F.col("ms") - F.lag("ms").over(in_order)
    begins = F.when(since <= round(calm_s * 1000), 0).otherwise(1)
    number = F.sum("begins").over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    sessions = (
        changed.withColumn("begins", begins)
        .withColumn("number", number)
        .groupBy(*KEYS, "number")
        .agg(F.min("ms").alias("from"), (F.max("ms") - F.min("ms")).alias("ms"), F.sum("moves").alias("moves"))
    )
    return sessions.groupBy(*KEYS, F.floor(F.col("from") / DAY_MS).cast("int").alias("day")).agg(
        F.count(F.lit(1)).alias("rebalances"),
        F.max("ms").alias("longest_ms"),
        F.max("moves").alias("most_moves"),
    )


def _members(changed: DataFrame) -> DataFrame:
    """How many members came, how many left, and how many did both."""
    came = changed.select(*KEYS, F.explode("joined").alias("member"), F.lit(True).alias("came"))
    left = changed.select(*KEYS, F.explode("left").alias("member"), F.lit(False).alias("came"))
    each = (
        came.unionByName(left)
        .groupBy(*KEYS, "member")
        .agg(F.bool_or("came").alias("came"), F.bool_or(~F.col("came")).alias("left"))
    )
    return each.groupBy(*KEYS).agg(
        F.count_if("came").alias("came"),
        F.count_if("left").alias("left"),
        F.count_if(F.col("came") & F.col("left")).alias("come_and_go"),
    )


def _topics(timed: DataFrame, unfair: Unfair) -> DataFrame:
    """Topics that pile up: those that are shared unevenly while their group is unfair and its topics load the same
    members (``pile_up`` above 0)."""
    # Spark reads only these fields of the topics: an `explode` of whole ones would read all.
    fields = ("topic", "min", "max", "max_over_mean", "lag")
    topics = F.arrays_zip(*(F.col(f"topics.{name}").alias(name) for name in fields))
    return (
        timed.where(unfair.holds() & (F.col("pile_up") > 0))
        .select(*KEYS, "stands", F.explode(topics).alias("topic"))
        .where(F.col("topic.max") > F.col("topic.min"))
        .groupBy(*KEYS, F.col("topic.topic").alias("topic"))
        .agg(
            F.sum("stands").alias("ms"),
            F.max("topic.max_over_mean").alias("max_over_mean_max"),
            F.max("topic.lag").alias("lag_max"),
        )
    )
