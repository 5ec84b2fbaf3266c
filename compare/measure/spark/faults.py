"""What rows may not say (`figures.faults`), looked for by Spark itself: the first such row fails the job.

The sentences are those of the numpy engine. Neither the ANSI mode nor another setting of the session changes what is
found: nothing here leaves it to Spark what an overflow or a bad cast means.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from compare.measure.figures.faults import (
    IS_NAN,
    IS_NEGATIVE,
    IS_NULL,
    LESS,
    MOST,
    NAMED,
    NOT_NEGATIVE,
    is_large,
    most,
    sentence,
)
from compare.measure.figures.shapes import Columns

_HERE = "\0"
"""Stands in a sentence for the group, which each row has its own of."""


def named(name: str) -> Column:
    """The column of exactly this name, dots included."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")


def checked_key(frame: DataFrame, key: str, keys: Sequence[str], table: str) -> Column:
    """A key column that fails the job where it is null; the keys before it name the place."""
    before = keys[: list(keys).index(key)]
    fault = _sentence(key, IS_NULL, key, table, before, NAMED)
    return F.when(named(key).isNull(), _fail(fault, frame, key)).otherwise(named(key))


def row_fault(columns: Columns, unit: int, *, weight_may_be_nan: bool, is_numbered: bool) -> Column:
    """The sentence about the first thing that a row of ownership may not say, null where there is none.

    ``weight_may_be_nan``: its type has such a value. ``is_numbered``: queues are integers.
    """
    queue = named(columns.queue)
    faults = [("topic", named("topic").isNull(), IS_NULL, "topic", NAMED)]
    faults.append(("queue", queue.isNull(), IS_NULL, columns.queue, NAMED))
    if is_numbered:
        faults.append(("queue", queue < 0, IS_NEGATIVE, columns.queue, NOT_NEGATIVE))
        faults.append(("queue", queue >= MOST, is_large(MOST), columns.queue, LESS))
    if columns.weight is not None:
        weight = named(columns.weight)
        if weight_may_be_nan:
            faults.append(("weight", F.isnan(weight), IS_NAN, columns.weight, NOT_NEGATIVE))
        faults.append(("weight", weight < 0, IS_NEGATIVE, columns.weight, NOT_NEGATIVE))
        too_large = weight >= MOST if unit == 1 else counted(weight, unit) >= float(MOST)
        faults.append(("weight", too_large, is_large(most(unit)), columns.weight, LESS))
    found = F.lit(None).cast("string")
    for noun, wrong, what, column, expected in reversed(faults):
        text = _sentence(noun, what, column, "ownership", columns.keys, expected)
        found = F.when(wrong, text).otherwise(found)
    return found


def counted(weight: Column, unit: int) -> Column:
    """A weight in the unit it is counted in, in float64, rounded half to even."""
    return F.rint(weight.cast("double") * float(unit))


def fail(fault: Column) -> Column:
    """Fails the job with this sentence where it is evaluated."""
    return F.raise_error(fault)


def _fail(fault: Column, frame: DataFrame, key: str) -> Column:
    return F.raise_error(fault).cast(frame.schema[key].dataType)


def _sentence(noun: str, what: str, column: str, table: str, keys: Sequence[str], expected: str) -> Column:
    before, after = sentence(noun, what, column, table, _HERE, expected).split(_HERE)
    places = [
        part
        for key in keys
        for part in (
            F.lit(f", {key} '"),
            # One line, whatever the name holds.
            F.coalesce(F.regexp_replace(named(key).cast("string"), r"\s+", " "), F.lit("null")),
            F.lit("'"),
        )
    ]
    return F.concat(F.lit(before), *places, F.lit(after))
