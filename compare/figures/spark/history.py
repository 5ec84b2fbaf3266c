"""Records of a history (`compare.figures.histories`) on Spark, which reads the snapshots and brings each group's
together; what is counted of them is counted by the one function that counts them without Spark."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import date

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructType

from compare.figures.histories import (
    COUNTED,
    KEYS,
    MEASURED,
    TOPIC_FIELDS,
    HistoryRecord,
    Unfair,
    records_of,
    standing,
)
from compare.figures.spark.sessions import progress, user_errors


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


def history(snapshots: DataFrame, unfair: Unfair, groups: Sequence[str] = ()) -> list[HistoryRecord]:
    """A record for each group in any order, computed now, with a progress bar where standard error is a terminal.
    ``groups``: names of those that are asked for, () for all."""
    spark = snapshots.sparkSession
    rows = snapshots.where(F.col("at").isNotNull()).withColumn("ms", F.unix_millis("at"))
    with progress(spark, "reading snapshots"), user_errors():
        polls = rows.groupBy("cluster", "ms").agg(F.max("every_s").alias("every_s")).toArrow()
        rows = rows.where(F.col("group").isin(*groups)) if groups else rows
        # Spark reads only these fields of the topics.
        fields = F.arrays_zip(*(F.col(f"topics.{name}").alias(name) for name in TOPIC_FIELDS))
        timed = rows.join(F.broadcast(spark.createDataFrame(standing(polls))), ["cluster", "ms"]).select(
            *KEYS,
            *("ms", "stands", *COUNTED, *MEASURED, "joined", "left"),
            *([unfair.column] if unfair.column not in (*COUNTED, *MEASURED) else []),
            F.when(F.col("pile_up") > 0, fields).alias("topics"),
        )
        together = timed.repartition(*KEYS).sortWithinPartitions(*KEYS, "ms")
        found = together.mapInArrow(_counter(unfair), "record string").toArrow()
    return [json.loads(record) for record in found["record"].to_pylist()]


def _counter(unfair: Unfair) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rest: pa.Table | None = None
        for batch in batches:
            table = pa.Table.from_batches([batch])
            table = table if rest is None else pa.concat_tables([rest, table])
            end = _start_of_last(table)
            yield _texts(records_of(table.slice(0, end), unfair))
            rest = table.slice(end)
        if rest is not None:
            yield _texts(records_of(rest, unfair))

    return count


def _start_of_last(rows: pa.Table) -> int:
    """Where the last group begins, of which the next batch may hold more."""
    names = rows.select(KEYS)
    last, start, end = names.slice(rows.num_rows - 1).to_pylist(), 0, rows.num_rows - 1
    while start < end:
        middle = (start + end) // 2
        if names.slice(middle, 1).to_pylist() == last:
            end = middle
        else:
            start = middle + 1
    return start


def _texts(records: Sequence[HistoryRecord]) -> pa.RecordBatch:
    return pa.record_batch({"record": pa.array([json.dumps(record) for record in records], pa.string())})
