"""What columns ownership and members have, whichever engine reads them, and what is wrong with the columns.

*Ownership*, one row per queue and owner: ``run`` (optional), ``group``, ``topic`` (text or integer), ``broker``
(optional, the same), ``queue`` (or ``number``, ``partition``: an integer, or a text), ``owner`` (null: nobody owns
it), ``weight`` (optional, 1 each; an integer or a decimal, null: unknown). *Members*, one row per member: ``run``
(where ownership has it), ``group``, ``member`` (null: only says that the group exists). Runs, groups, owners and
members are of any type whose values are single and exact: texts, integers, dates, ..., the same in both tables.

Rows may not say null where something has to be named, numbers that are none, or loads beyond int64. Every engine says
so in the same sentence, which names the column and the group; it is looked for in Arrow tables, by Spark's tasks, too.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from compare.figures.definitions import MILLIONTHS
from compare.figures.last_step import Flags
from protocols.errors import UserError

KEYS = ("run", "group")
"""The columns that name a group; the first one is optional."""

OWNERS = ("owner", "member")
"""The columns that name a member, of ownership and of members."""

QUEUE_COLUMNS = ("queue", "number", "partition")
"""Names under which the queue's number is looked for, in this order."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The names that were found: the key columns of a group, the queue's column, that of the weight (None: 1 each)."""

    keys: tuple[str, ...]
    queue: str
    weight: str | None


def columns_of(
    ownership: pa.Schema, members: pa.Schema, weight: str | None = None, *, records: bool = False
) -> Columns:
    """The columns to count by; ``weight`` names another one than ``weight`` to weigh queues by.

    ``records``: a queue may be a record, too. Raises `UserError` for a missing column, one that is there twice, and a
    type that is not what `compare.figures.shapes` says.
    """
    keys = KEYS if "run" in ownership.names else KEYS[1:]
    _require("ownership", ownership, [*keys, "topic", "owner"])
    _require("members", members, [*keys, "member"])
    if "run" in members.names and "run" not in keys:
        raise UserError("members has a column 'run' and ownership has none: expected it in both, or in neither")
    queue = queue_column(ownership.names)
    weight = weight_column(ownership.names, weight)
    _require("ownership", ownership, [name for name in ("broker", queue, weight) if name and name in ownership.names])
    for key in keys:
        _same_kind(ownership, key, members, key)
    _same_kind(ownership, "owner", members, "member")
    _expect(ownership, "topic", ("text", "integer"), "texts or integers")
    _expect(ownership, "broker", ("text", "integer"), "texts or integers")
    _expect(ownership, queue, ("text", "integer", *(["record"] if records else [])), "integers or texts")
    if weight is not None:
        _expect(ownership, weight, ("integer", "float", "decimal"), "numbers to weigh by")
    return Columns(keys, queue, weight)


def weight_column(columns: Sequence[str], weight: str | None) -> str | None:
    """The column that weighs queues: the one named, else ``weight`` where there is one."""
    if weight is not None and weight not in columns:
        raise UserError(f"ownership has no column {weight!r} to weigh queues by, it has {', '.join(columns)}")
    return "weight" if weight is None and "weight" in columns else weight


def queue_column(columns: Sequence[str]) -> str:
    """The column with the queue's number within topic and broker."""
    for name in QUEUE_COLUMNS:
        if name in columns:
            return name
    raise UserError(f"ownership has no column {' or '.join(QUEUE_COLUMNS)}, it has {', '.join(columns)}")


def _require(what: str, schema: pa.Schema, needed: Sequence[str]) -> None:
    for name in needed:
        if name not in schema.names:
            raise UserError(f"{what} has no column {name!r}, it has {', '.join(schema.names)}")
        times = schema.names.count(name)
        if times > 1:
            raise UserError(f"{what} has {times} columns {name!r}, expected one")


def _same_kind(ownership: pa.Schema, owned: str, members: pa.Schema, listed: str) -> None:
    """Both columns hold values that can name something, and that can be the same."""
    there = [("ownership", owned, ownership.field(owned).type), ("members", listed, members.field(listed).type)]
    kinds = []
    for table, name, type in there:
        kind = kind_of(type)
        if kind in ("float", "record"):
            raise UserError(f"column {name!r} of {table} holds {type}, expected texts, integers or other exact values")
        kinds.append(str(plain(type)) if kind == "other" else kind)
    if kinds[0] != kinds[1] and "nothing" not in kinds:
        (_, _, one), (_, _, other) = there
        raise UserError(
            f"column {owned!r} of ownership holds {one}, {listed!r} of members {other}: expected the same type"
        )


def _expect(schema: pa.Schema, name: str, kinds: Sequence[str], expected: str) -> None:
    if name in schema.names:
        kind = kind_of(schema.field(name).type)
        if kind not in (*kinds, "nothing"):
            raise UserError(f"column {name!r} of ownership holds {schema.field(name).type}, expected {expected}")


def kind_of(type: pa.DataType) -> str:
    """text, integer, float, decimal, record (anything nested), nothing (a column of nulls) or other."""
    type = plain(type)
    if pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type):
        return "text"
    for kind, holds in _KINDS:
        if holds(type):
            return kind
    return "other"


_KINDS = (
    ("integer", pa.types.is_integer),
    ("float", pa.types.is_floating),
    ("decimal", pa.types.is_decimal),
    ("record", pa.types.is_nested),
    ("nothing", pa.types.is_null),
)


def plain(type: pa.DataType) -> pa.DataType:
    """The type of the values, whether they are in a dictionary or not."""
    return type.value_type if pa.types.is_dictionary(type) else type


MOST = 1 << 62
"""Weights in the unit they are counted in, a member's load and the numbers of queues are less than this."""

Place: TypeAlias = Callable[[int], str]
"""A row's number to the group it is about (`place_of`)."""


def _sentence(noun: str, what: str, column: str, table: str, place: str, expected: str) -> str:
    """``place``: the group (`place_of`), empty where it has no name."""
    return f"a {noun} {what} in column {column!r} of {table}{place}: expected {expected}"


def place_of(keys: Mapping[str, object]) -> str:
    """The group of a row, from its key columns."""
    return "".join(f", {name} '{_line(value)}'" for name, value in keys.items())


def _line(value: object) -> str:
    return re.sub(r"\s+", " ", str(value))


def overloaded(columns: Columns, place: str, unit: int) -> UserError:
    """One member's weights add up to `MOST` and more."""
    what = f"carries weights that add up to {MOST // unit} or more"
    return UserError(_sentence("member", what, str(columns.weight), "ownership", place, "less"))


def listed_twice(columns: Columns, place: str) -> UserError:
    """Two rows say that the same member owns the same queue."""
    what, expected = "is listed twice for one owner", "one row for each queue and owner"
    return UserError(_sentence("queue", what, columns.queue, "ownership", place, expected))


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
        _fail(column.is_null().to_numpy(), noun, "is null", name, place, "its name", table)


def _check_range(noun: str, name: str, column: pa.ChunkedArray, unit: int, place: Place) -> None:
    """0 to less than `MOST`; null is left out."""
    large = f"is {MOST // unit} or more"
    if kind_of(column.type) == "integer":
        extremes = pc.min_max(column).as_py()
        if (extremes["min"] or 0) < 0:
            _fail(pc.less(column, 0), noun, "is negative", name, place, "0 or more")
        if (extremes["max"] or 0) >= MOST:
            _fail(pc.greater_equal(column, MOST), noun, large, name, place, "less")
        return
    values = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy()
    for wrong, what, expected in (
        (np.isnan(values), "is NaN", "0 or more"),
        (values < 0, "is negative", "0 or more"),
        (np.rint(values * unit) >= MOST, large, "less"),
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
    raise UserError(_sentence(noun, what, name, table, place(int(np.argmax(flags))), expected))
