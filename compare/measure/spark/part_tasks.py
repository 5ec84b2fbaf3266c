"""Parts of a large job as Spark tasks: each part is computed in Python, or in native columns, and handed to a writer.

The master decides where tasks run. A task that fails is tried again as Spark's settings say (three times on this
machine); what a part's writer does must not depend on how often it is called.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from compare.measure.spark.closed_form import closed_form

PART = "part"


def run_in_python(spark: SparkSession, job: Callable[[int], None], parts: Sequence[int], tasks: int) -> None:
    """Call ``job`` with the number of each part, in so many tasks (or one for each part, where these are fewer)."""

    def call(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                job(parts[place])
        yield from ()

    places = spark.range(0, len(parts), 1, max(1, min(tasks, len(parts))))
    places.mapInArrow(call, "id long").collect()


class NativePart(NamedTuple):
    """Cells ``first`` to ``last`` - 1 of a strategy, a shape and an event."""

    number: int
    first: int
    last: int
    system: str
    shape: str
    event: str


class Axis(NamedTuple):
    """A column of the grid: a cell has the value at place (cell // ``stride``) % number of values."""

    name: str
    values: Sequence[int]
    stride: int


def run_natively(
    spark: SparkSession,
    write: Callable[[int, pa.Table], None],
    parts: Sequence[NativePart],
    axes: Sequence[Axis],
    schema: pa.Schema,
    tasks: int,
    loads: bool = False,
) -> None:
    """Compute the parts in native columns and call ``write`` with the number of each and its table, which has this
    schema. Parts without rows are not written."""
    kinds: dict[tuple[str, str, str], list[NativePart]] = {}
    for part in parts:
        kinds.setdefault((part.system, part.shape, part.event), []).append(part)
    frames = [
        _of_kind(spark, of_kind, axes, schema, max(1, tasks * len(of_kind) // len(parts)), loads)
        for of_kind in kinds.values()
    ]
    together = reduce(DataFrame.unionAll, frames)
    together.mapInArrow(_writing(write, schema), "id long").collect()


def _writing(
    write: Callable[[int, pa.Table], None], schema: pa.Schema
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def take(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        current = -1
        for batch in batches:
            numbers = batch.column(batch.schema.get_field_index(PART)).to_numpy()
            start = 0
            # A batch may end one part and begin the next.
            for number, end in _runs(numbers.tolist()):
                if number != current and held:
                    write(current, _table(held, schema))
                    held = []
                current = number
                held.append(batch.slice(start, end - start))
                start = end
        if held:
            write(current, _table(held, schema))
        yield from ()

    return take


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Value and end of each run of equal values."""
    start = 0
    while start < len(numbers):
        value = numbers[start]
        end = len(numbers) if numbers[-1] == value else start + 1
        while end < len(numbers) and numbers[end] == value:
            end += 1
        yield value, end
        start = end


def _table(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(batches).select(schema.names).cast(schema)


def _of_kind(
    spark: SparkSession, parts: Sequence[NativePart], axes: Sequence[Axis], schema: pa.Schema, tasks: int, loads: bool
) -> DataFrame:
    first = parts[0]
    place = F.col("id").cast("int") + 1
    cells = spark.range(0, len(parts), 1, min(tasks, len(parts))).select(
        _chosen([part.number for part in parts], place).alias(PART),
        F.explode(
            F.sequence(
                _chosen([part.first for part in parts], place), _chosen([part.last - 1 for part in parts], place)
            )
        ).alias("cell"),
    )
    named = cells.withColumns({axis.name: _value(axis).cast("int") for axis in axes})
    named = named.withColumns({"subscription": F.lit(first.shape), "event": F.lit(first.event)})
    if first.event == "leave":
        named = named.where("members > 1")
    return closed_form(named, first.system, first.shape, first.event, loads).select(PART, *schema.names)


def _chosen(values: Sequence[int], place: Column) -> Column:
    return F.element_at(F.array(*(F.lit(value).cast("long") for value in values)), place)


def _value(axis: Axis) -> Column:
    if len(axis.values) == 1:
        return F.lit(axis.values[0])
    place = F.call_function("div", F.col("cell"), F.lit(axis.stride)) % len(axis.values)
    return _chosen(axis.values, place.cast("int") + 1)
