"""Ownership and members as numbers into tables of names: what Spark's tasks hand to each other, and what is counted.

Text is looked at once, where the tables of names are made: all that follows moves and compares small integers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from compare.catalogues import UNCOUNTED
from compare.figures.counting import Numbers
from compare.figures.definitions import MILLIONTHS
from compare.figures.last_step import Flags
from compare.figures.shapes import Columns, check_keys, check_values, columns_of, kind_of, place_in, plain


def numbered(values: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """The different values in ascending order, and each value's position among them; they are 0 to ``size`` - 1."""
    if size <= 4 * len(values) + 4096:
        there = np.zeros(size, dtype=bool)
        there[values] = True
        position = np.cumsum(there, dtype=np.int64)
        position -= 1
        return np.flatnonzero(there), position[values]
    found = pa.array(values).dictionary_encode()
    distinct = found.dictionary.to_numpy()
    order = np.argsort(distinct)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[found.indices.to_numpy()]


Codes: TypeAlias = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Names:
    """A column of names: row i has ``values[codes[i]]``, which is null for nobody and for what has no name."""

    values: pa.Array
    codes: Codes


@dataclass(frozen=True, slots=True)
class CodedRows:
    """Rows of ownership, or of members, in any order.

    ``names``: ``group`` (records of the key columns), ``owner``, and of ownership ``topic`` and perhaps ``broker``.
    ``numbers`` of ownership: ``queue`` (left out: 0), ``load`` (left out: 1 each), ``unknown`` (flags; left out: none).
    ``others``: columns that a snapshot keeps as they are.
    """

    names: Mapping[str, Names]
    numbers: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    others: Mapping[str, pa.Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names["group"].codes)


@dataclass(frozen=True, slots=True)
class Layout:
    """What is to be known of both tables before any row is: the columns, the types of names that both tables have
    (key columns and ``owner``), and the load of weight 1."""

    columns: Columns
    types: Mapping[str, pa.DataType]
    unit: int


def layout_of(ownership: pa.Schema, members: pa.Schema, weight: str | None = None, *, records: bool = False) -> Layout:
    """As `columns_of`, errors included."""
    columns = columns_of(ownership, members, weight, records=records)
    pairs = [*((key, key, key) for key in columns.keys), ("owner", "owner", "member")]
    types = {name: _common(ownership.field(one).type, members.field(other).type) for name, one, other in pairs}
    return Layout(columns, types, unit_of_column(ownership, columns))


def unit_of_column(ownership: pa.Schema, columns: Columns) -> int:
    """The load of weight 1: more than one where weights are decimals."""
    is_exact = columns.weight is None or kind_of(ownership.field(columns.weight).type) in ("integer", "nothing")
    return 1 if is_exact else MILLIONTHS


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if "text" in (kind_of(one), kind_of(other)) or kind_of(one) == kind_of(other) == "nothing":
        return pa.string()
    both = [pa.schema([("", plain(type))]) for type in (one, other)]
    return pa.unify_schemas(both, promote_options="permissive").field(0).type


def coded_ownership(
    table: pa.Table, layout: Layout, *, with_retry: bool, keep: tuple[str, ...] = ()
) -> tuple[CodedRows, CodedRows | None]:
    """Rows of ownership, and the owners of retry topics as rows of members, which they are without these topics.

    ``keep``: columns to hand on as they are. Raises `UserError` for rows that say what none may (`figures.shapes`).
    """
    columns = layout.columns
    check_keys(table, columns.keys, "ownership")
    check_values(table, columns, place_in(table, columns.keys))
    names = {"group": _groups(table, layout), "owner": _names(table["owner"], layout.types["owner"])}
    names["topic"] = _names(table["topic"], pa.string())
    numbers: dict[str, npt.NDArray[Any]] = {}
    broker = table["broker"] if "broker" in table.column_names else None
    queue = table[columns.queue]
    if kind_of(queue.type) in ("integer", "nothing"):
        numbers["queue"] = queue.cast(pa.int64()).to_numpy() if queue.type == pa.null() else queue.to_numpy()
    else:
        # No broker and the broker without a name are one here: a null would swallow the queue's name.
        named = pa.scalar("") if broker is None else pc.fill_null(broker.cast(pa.string()), "")
        broker = pc.binary_join_element_wise(named, queue.cast(pa.string()), "\0")
    if broker is not None:
        names["broker"] = _names(broker, pa.string())
    if columns.weight is not None:
        load, unknown = integer_loads(table[columns.weight])
        unknown &= table["owner"].is_valid().to_numpy()
        if layout.unit != 1 or len(load) == 0 or load.min() != 1 or load.max() != 1:
            numbers["load"] = load
        if unknown.any():
            numbers["unknown"] = unknown
    rows = CodedRows(names, numbers, {name: _one(table[name]) for name in keep})
    return (rows, None) if with_retry else _without_retry(rows)


def coded_members(table: pa.Table, layout: Layout) -> CodedRows:
    """Rows of members. Raises `UserError` for a group or run that is null."""
    check_keys(table, layout.columns.keys, "members")
    return CodedRows({"group": _groups(table, layout), "owner": _names(table["member"], layout.types["owner"])})


def integer_loads(weights: pa.ChunkedArray) -> tuple[Numbers, Flags]:
    """Checked weights as integers (decimals in millionths, rounded half to even; null as 0), and which are null."""
    unknown = weights.is_null().to_numpy()
    if kind_of(weights.type) in ("integer", "nothing"):
        return pc.fill_null(weights.cast(pa.int64()), 0).to_numpy(), unknown
    known = pc.fill_null(weights.cast(pa.float64()), 0.0)
    return np.rint(known.to_numpy() * MILLIONTHS).astype(np.int64), unknown


def uncounted(topics: pa.Array) -> pa.Array:
    """Of each topic whether no figure counts it (`compare.catalogues.UNCOUNTED`)."""
    return pc.fill_null(reduce(pc.or_, [pc.starts_with(topics, prefix) for prefix in UNCOUNTED]), False)


def _without_retry(rows: CodedRows) -> tuple[CodedRows, CodedRows | None]:
    topic = rows.names["topic"]
    retry = uncounted(topic.values).to_numpy(zero_copy_only=False)
    if not retry.any():
        return rows, None
    is_retry = retry[topic.codes]
    owners = CodedRows({name: rows.names[name] for name in ("group", "owner")})
    return _chosen(rows, np.flatnonzero(~is_retry)), _chosen(owners, np.flatnonzero(is_retry))


def _chosen(rows: CodedRows, at: Numbers) -> CodedRows:
    return CodedRows(
        {name: Names(each.values, each.codes[at]) for name, each in rows.names.items()},
        {name: number[at] for name, number in rows.numbers.items()},
        {name: other.take(pa.array(at)) for name, other in rows.others.items()},
    )


def _groups(table: pa.Table, layout: Layout) -> Names:
    """The key columns as one column of records."""
    keys = layout.columns.keys
    named = [_names(table[key], layout.types[key]) for key in keys]
    pair, size = named[0].codes.astype(np.int64), len(named[0].values)
    for each in named[1:]:
        pair, size = pair * len(each.values) + each.codes, size * len(each.values)
    distinct, codes = numbered(pair, size)
    fields = []
    for each in reversed(named):
        distinct, code = np.divmod(distinct, max(1, len(each.values)))
        fields.append(each.values.take(pa.array(code)))
    return Names(pa.StructArray.from_arrays(fields[::-1], list(keys)), codes)


def _names(column: pa.ChunkedArray, type: pa.DataType) -> Names:
    if pa.types.is_dictionary(column.type):
        array = _one(column.unify_dictionaries())
        if array.dictionary.null_count:
            array = array.cast(plain(array.type)).dictionary_encode()
    else:
        array = _one(column.cast(type)).dictionary_encode()
    values, indices = array.dictionary.cast(type), array.indices
    if array.null_count:
        indices = indices.fill_null(len(values))
        values = pa.concat_arrays([values, pa.nulls(1, type)])
    return Names(values, indices.to_numpy())


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
