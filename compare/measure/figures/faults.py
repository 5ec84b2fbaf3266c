"""What rows may not say: null where something has to be named, numbers that are none, loads beyond int64.

Every engine says it in the same sentence, which names the column and the group. It is looked for in Arrow tables, by
Spark's tasks as well.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from compare.measure.figures.definitions import MILLIONTHS
from compare.measure.figures.last_step import Flags
from compare.measure.figures.shapes import Columns, kind_of
from protocols.errors import UserError

MOST = 1 << 62
"""Weights in the unit they are counted in, a member's load and the numbers of queues are less than this."""

Place: TypeAlias = Callable[[int], str]
"""A row's number to the group it is about (`place_of`)."""

IS_NULL, NAMED = "is null", "its name"
IS_NEGATIVE, NOT_NEGATIVE = "is negative", "0 or more"
IS_NAN, LESS = "is NaN", "less"


def sentence(noun: str, what: str, column: str, table: str, place: str, expected: str) -> str:
    """``place``: the group (`place_of`), empty where it has no name."""
    return f"a {noun} {what} in column {column!r} of {table}{place}: expected {expected}"


def place_of(keys: Mapping[str, object]) -> str:
    """The group of a row, from its key columns."""
    return "".join(f", {name} '{_line(value)}'" for name, value in keys.items())


def _line(value: object) -> str:
    return re.sub(r"\s+", " ", str(value))


def is_large(limit: int) -> str:
    """What is wrong with a number of ``limit`` and more."""
    return f"is {limit} or more"


def most(unit: int) -> int:
    """Weights and their sums are less than this where weight 1 counts as ``unit``."""
    return MOST // unit


def overloaded(columns: Columns, place: str, unit: int) -> UserError:
    """One member's weights add up to `MOST` and more."""
    what = f"carries weights that add up to {most(unit)} or more"
    return UserError(sentence("member", what, str(columns.weight), "ownership", place, LESS))


def listed_twice(columns: Columns, place: str) -> UserError:
    """Two rows say that the same member owns the same queue."""
    what, expected = "is listed twice for one owner", "one row for each queue and owner"
    return UserError(sentence("queue", what, columns.queue, "ownership", place, expected))


def check_keys(table: pa.Table, keys: Sequence[str], name: str) -> None:
    """`UserError` where a key column of the table ``name`` is null."""
    for at, key in enumerate(keys):
        # Keys before this one are known to be there.
        check_no_null(key, key, table[key], name, place_in(table, keys[:at]))


def check_values(ownership: pa.Table, columns: Columns, place: Place) -> None:
    """The same for all columns but the keys."""
    check_no_null("topic", "topic", ownership["topic"], "ownership", place)
    queue = ownership[columns.queue]
    check_no_null("queue", columns.queue, queue, "ownership", place)
    if kind_of(queue.type) == "integer":
        _check_range("queue", columns.queue, queue, 1, place)
    if columns.weight is not None:
        weight = ownership[columns.weight]
        unit = 1 if kind_of(weight.type) in ("integer", "nothing") else MILLIONTHS
        _check_range("weight", columns.weight, weight, unit, place)


def place_in(table: pa.Table, keys: Iterable[str]) -> Place:
    """The groups of a table that has the key columns."""
    return lambda row: place_of({key: table[key][row].as_py() for key in keys})


def check_no_null(noun: str, name: str, column: pa.ChunkedArray, table: str, place: Place) -> None:
    """`UserError` where a value is null."""
    if column.null_count:
        _fail(column.is_null().to_numpy(), noun, IS_NULL, name, place, NAMED, table)


def _check_range(noun: str, name: str, column: pa.ChunkedArray, unit: int, place: Place) -> None:
    """0 to less than `MOST`; null is left out."""
    large = is_large(most(unit))
    if kind_of(column.type) == "integer":
        extremes = pc.min_max(column).as_py()
        if (extremes["min"] or 0) < 0:
            _fail(pc.less(column, 0), noun, IS_NEGATIVE, name, place, NOT_NEGATIVE)
        if (extremes["max"] or 0) >= MOST:
            _fail(pc.greater_equal(column, MOST), noun, large, name, place, LESS)
        return
    values = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy()
    for wrong, what, expected in (
        (np.isnan(values), IS_NAN, NOT_NEGATIVE),
        (values < 0, IS_NEGATIVE, NOT_NEGATIVE),
        (np.rint(values * unit) >= MOST, large, LESS),
    ):
        if wrong.any():
            _fail(wrong, noun, what, name, place, expected)


def _fail(
    wrong: pa.ChunkedArray | Flags,
    noun: str,
    what: str,
    name: str,
    place: Place,
    expected: str,
    table: str = "ownership",
) -> None:
    flags = wrong if isinstance(wrong, np.ndarray) else pc.fill_null(wrong, False).to_numpy()
    raise UserError(sentence(noun, what, name, table, place(int(np.argmax(flags))), expected))
