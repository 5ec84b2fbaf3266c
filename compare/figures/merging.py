"""Coded rows of many tasks brought together: one table of names each, groups and their members numbered.

Before that, tasks cut their coded rows into pieces of whole groups by a hash of run and group, and hand on the pieces
as bytes (Arrow's stream format). The hash depends on values only: every task, of either table, cuts the same groups
into the same piece.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from compare.figures.coded import CodedRows, Codes, Layout, Names, numbered
from compare.figures.counting import Numbers, SortedRows, changes
from compare.figures.shapes import Columns, Place, kind_of, listed_twice, overloaded, place_of
from protocols.errors import UserError


@dataclass(frozen=True, slots=True)
class NameTable:
    """Different names, and the numbers that things have in it, from 1; 0 is null."""

    values: pa.Array
    codes: Numbers

    def taken(self, at: Numbers) -> pa.Array:
        codes = self.codes[at]
        return self.values.take(pa.array(codes - 1, mask=codes == 0))

    def at(self, at: Codes) -> "NameTable":
        return NameTable(self.values, self.codes[at])

    def column(self, type: pa.DataType) -> pa.Array:
        """The names, texts as a dictionary."""
        numbers, values = pa.array((self.codes - 1).astype(np.int32), mask=self.codes == 0), self.values.cast(type)
        return pa.DictionaryArray.from_arrays(numbers, values) if kind_of(type) == "text" else values.take(numbers)


@dataclass(frozen=True, slots=True)
class MergedRows:
    """All rows of whole groups. Names are in order of appearance, or sorted (`merged`).

    Per group its ``keys`` and number of ``members``; ``member_group`` and ``member_names`` of every member, group by
    group. Per row of ownership, in any order: ``group``; ``topic``, ``broker`` (numbers in their tables); ``queue``;
    ``member`` (from 1 within the group, 0: nobody); ``load`` (None: 1 each) and ``unknown`` (None: nowhere).
    """

    keys: Mapping[str, NameTable]
    members: Numbers
    member_group: Numbers
    member_names: NameTable
    group: Numbers
    topic: NameTable
    broker: NameTable
    queue: Numbers
    member: Numbers
    load: Numbers | None
    unknown: npt.NDArray[np.bool_] | None
    others: Mapping[str, pa.Array]

    def place(self, group: int) -> str:
        """The group's name in a sentence about a fault."""
        return place_of({key: each.taken(np.array([group]))[0].as_py() for key, each in self.keys.items()})


def merged(
    owned: Sequence[CodedRows], listed: Sequence[CodedRows], layout: Layout, *, in_order: bool = False
) -> MergedRows:
    """``owned``: rows of ownership, ``listed``: of members. ``in_order``: number all names in their order."""
    everyone = [*owned, *listed]
    keys, of_group = _groups(everyone, layout, in_order)
    groups = len(next(iter(keys.values())).codes)
    group = _spread([rows.names["group"].codes for rows in everyone], of_group)
    owners, of_owner = _unified([rows.names["owner"].values for rows in everyone], layout.types["owner"], in_order)
    owner = _spread([rows.names["owner"].codes for rows in everyone], of_owner)
    # Nobody is number 0 of every group.
    names = len(owners) + 1
    cells = np.concatenate([group * names + owner, np.arange(groups) * names])
    distinct, cell = numbered(cells, groups * names)
    home, name = np.divmod(distinct, names)
    sizes = np.bincount(home, minlength=groups)
    position = np.arange(len(distinct)) - (np.cumsum(sizes) - sizes)[home]
    size = sum(map(len, owned))
    named = name > 0
    return MergedRows(
        keys=keys,
        members=sizes - 1,
        member_group=home[named],
        member_names=NameTable(owners, name[named]),
        group=group[:size],
        topic=_column(owned, "topic", in_order),
        broker=_column(owned, "broker", in_order),
        queue=_numbers(owned, "queue", 0),
        member=position[cell[:size]],
        load=_numbers(owned, "load", 1) if any("load" in rows.numbers for rows in owned) else None,
        unknown=_numbers(owned, "unknown", False) if any("unknown" in rows.numbers for rows in owned) else None,
        others=_others(owned),
    )


def in_sorted_order(rows: MergedRows, *, with_order: bool = False) -> tuple[SortedRows, Numbers | None]:
    """The rows by group, topic, broker, queue and member; ``with_order``: and where each of them stood before."""
    columns = (rows.group, rows.topic.codes, rows.broker.codes, rows.queue, rows.member)
    bits = [int(column.max(initial=0)).bit_length() for column in columns]
    follow = with_order or rows.load is not None or rows.unknown is not None
    order = None
    if sum(bits) <= 64:
        key = np.zeros(len(rows.group), dtype=np.uint64)
        for column, width in zip(columns, bits, strict=True):
            key <<= np.uint64(width)
            key |= column.astype(np.uint64)
        key, order = _sorted(key, sum(bits), follow)
        after = [sum(bits[at + 1 :]) for at in range(len(bits))]

        def sorted_column(at: int) -> Numbers:
            return ((key >> np.uint64(after[at])) & np.uint64((1 << bits[at]) - 1)).astype(np.int64)

        group, topic, member = sorted_column(0), sorted_column(1), sorted_column(4)
        new_topic, new_queue = (changes(key >> np.uint64(after[at])) for at in (1, 3))
    else:
        order = np.lexsort(columns[::-1])
        group, topic, broker, queue, member = (column[order] for column in columns)
        new_topic = changes(group) | changes(topic)
        new_queue = new_topic | changes(broker) | changes(queue)
    return (
        SortedRows(
            group=group,
            topic=topic,
            new_topic=new_topic,
            new_queue=new_queue,
            member=member - 1,
            load=rows.load if rows.load is None or order is None else rows.load[order],
            unknown=rows.unknown if rows.unknown is None or order is None else rows.unknown[order],
            members=rows.members,
        ),
        order,
    )


def faults_in(
    columns: Columns, unit: int, place: Place
) -> tuple[Callable[[int], UserError], Callable[[int], UserError]]:
    """The errors about a group (by its number): a queue listed twice for one owner; a member's load too large."""
    return (lambda group: listed_twice(columns, place(group)), lambda group: overloaded(columns, place(group), unit))


def _sorted(
    key: npt.NDArray[np.uint64], bits: int, follow: bool
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64] | None]:
    if not follow:
        key.sort()
        return key, None
    width = max(0, len(key) - 1).bit_length()
    if bits + width > 64:
        order = np.argsort(key, kind="stable")
        return key[order], order
    key = key << np.uint64(width) | np.arange(len(key), dtype=np.uint64)
    key.sort()
    return key >> np.uint64(width), (key & np.uint64((1 << width) - 1)).astype(np.int64)


def _groups(
    everyone: Sequence[CodedRows], layout: Layout, in_order: bool
) -> tuple[dict[str, NameTable], list[Numbers]]:
    """The keys of every group, and per rows the numbers of their groups."""
    listed = [rows.names["group"].values for rows in everyone]
    tables, pair, size = [], np.zeros(sum(map(len, listed)), dtype=np.int64), 1
    for key in layout.columns.keys:
        values, codes = _unified([coded_rows.field(key) for coded_rows in listed], layout.types[key], in_order)
        tables.append(values)
        pair, size = pair * (len(values) + 1) + np.concatenate(codes), size * (len(values) + 1)
    distinct, number = numbered(pair, size)
    keys: dict[str, NameTable] = {}
    for key, values in zip(reversed(layout.columns.keys), reversed(tables), strict=True):
        distinct, code = np.divmod(distinct, len(values) + 1)
        keys[key] = NameTable(values, code)
    ends = np.cumsum([len(coded_rows) for coded_rows in listed])
    return {key: keys[key] for key in layout.columns.keys}, np.split(number, ends[:-1])


def _unified(tables: Sequence[pa.Array], type: pa.DataType, in_order: bool) -> tuple[pa.Array, list[Numbers]]:
    """The different values of all tables, and per table the numbers of its values, from 1; null is 0."""
    found = pa.concat_arrays([pa.array([], type), *tables]).dictionary_encode()
    values, codes = found.dictionary, found.indices.fill_null(-1).to_numpy().astype(np.int64) + 1
    if in_order:
        order = pc.sort_indices(values).to_numpy()
        rank = np.zeros(len(order) + 1, dtype=np.int64)
        rank[order + 1] = np.arange(1, len(order) + 1)
        values, codes = values.take(pa.array(order)), rank[codes]
    return values, np.split(codes, np.cumsum([len(table) for table in tables])[:-1])


def _column(owned: Sequence[CodedRows], name: str, in_order: bool) -> NameTable:
    """A column of names; none where it is missing."""
    there = [rows.names[name] for rows in owned if name in rows.names]
    if not there:
        return NameTable(pa.array([], pa.string()), np.zeros(sum(map(len, owned)), dtype=np.int64))
    values, numbers = _unified([each.values for each in there], pa.string(), in_order)
    return NameTable(values, _spread([each.codes for each in there], numbers))


def _spread(codes: Sequence[Codes], numbers: Sequence[Numbers]) -> Numbers:
    parts = [number[code] for code, number in zip(codes, numbers, strict=True)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _numbers(owned: Sequence[CodedRows], name: str, missing: int | bool) -> npt.NDArray[Any]:
    kind = np.dtype(type(missing))
    return np.concatenate(
        [np.zeros(0, dtype=kind), *(rows.numbers.get(name, np.full(len(rows), missing)).astype(kind) for rows in owned)]
    )


def _others(owned: Sequence[CodedRows]) -> dict[str, pa.Array]:
    names = owned[0].others if owned else ()
    return {name: pa.concat_arrays([rows.others[name] for rows in owned]) for name in names}


_KEPT_WHOLE = 256
"""Tables of so few names go to every piece as they are; of longer ones a piece gets what it needs."""

_OTHER = "="
"""Begins the names of columns that are handed on as they are."""

_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def cut(rows: CodedRows, pieces: int) -> Iterator[tuple[int, CodedRows]]:
    """The pieces (0 to ``pieces`` - 1) that have rows, with these rows."""
    groups = rows.names["group"]
    piece_of = ((_hashes(groups.values) >> np.uint64(32)) * np.uint64(pieces) >> np.uint64(32)).astype(np.int64)
    order = np.argsort(piece_of, kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    first_group = _bounds(piece_of, pieces)
    values = groups.values.take(pa.array(order))
    # Radix sort, which takes linear time, is for integers of 16 bits and less.
    piece = piece_of.astype(np.uint16 if pieces <= 1 << 16 else np.int64)[groups.codes]
    first = _bounds(piece, pieces)
    order = np.argsort(piece, kind="stable")
    codes = number[groups.codes][order]
    names = {
        name: Names(each.values, each.codes.astype(_narrowest(len(each.values)))[order])
        for name, each in rows.names.items()
        if name != "group"
    }
    numbers = {name: each[order] for name, each in rows.numbers.items()}
    others = {name: other.take(pa.array(order)) for name, other in rows.others.items()}
    for at in np.flatnonzero(np.diff(first)).tolist():
        start, end, base = first[at], first[at + 1], first_group[at]
        group = Names(values.slice(base, first_group[at + 1] - base), codes[start:end] - base)
        kept = {name: _kept(Names(each.values, each.codes[start:end])) for name, each in names.items()}
        yield (
            at,
            CodedRows(
                {"group": group, **kept},
                {name: each[start:end] for name, each in numbers.items()},
                {name: other.slice(start, end - start) for name, other in others.items()},
            ),
        )


def packed(rows: CodedRows) -> pa.Buffer:
    """The rows as bytes, each number as narrow as it can be."""
    columns: dict[str, pa.Array] = {}
    for name, each in rows.names.items():
        codes = pa.array(each.codes.astype(_narrowest(len(each.values))))
        columns[name] = pa.DictionaryArray.from_arrays(codes, each.values, safe=False)
    for name, values in rows.numbers.items():
        narrow = values.astype(_narrowest(int(values.max(initial=0)) + 1)) if values.dtype != np.bool_ else values
        columns[name] = pa.array(narrow)
    columns |= {_OTHER + name: values for name, values in rows.others.items()}
    batch = pa.RecordBatch.from_pydict(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


def unpacked(data: pa.Buffer | bytes) -> CodedRows:
    """What `packed` was given."""
    batch = pa.ipc.open_stream(data).read_next_batch()
    names, numbers, others = {}, {}, {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name.startswith(_OTHER):
            others[name.removeprefix(_OTHER)] = column
        elif pa.types.is_dictionary(column.type):
            names[name] = Names(column.dictionary, column.indices.to_numpy())
        else:
            numbers[name] = column.to_numpy(zero_copy_only=False)
    return CodedRows(names, numbers, others)


def _hashes(groups: pa.StructArray) -> npt.NDArray[np.uint64]:
    result = np.zeros(len(groups), dtype=np.uint64)
    for values in groups.flatten():
        if kind_of(values.type) == "integer":
            hashes = values.to_numpy().astype(np.int64).view(np.uint64)
        else:
            encoded = values.dictionary_encode()
            known = [crc32(str(value).encode()) for value in encoded.dictionary.to_pylist()]
            hashes = np.array(known, dtype=np.uint64)[encoded.indices.to_numpy()]
        # The finalizer of splitmix64.
        result = (result + hashes) * _MIX[0]
        result = (result ^ (result >> np.uint64(30))) * _MIX[1]
        result = (result ^ (result >> np.uint64(27))) * _MIX[2]
        result ^= result >> np.uint64(31)
    return result


def _kept(names: Names) -> Names:
    if len(names.values) <= _KEPT_WHOLE:
        return names
    distinct, codes = numbered(names.codes.astype(np.int64), len(names.values))
    return Names(names.values.take(pa.array(distinct)), codes)


def _bounds(piece: npt.NDArray[Any], pieces: int) -> Numbers:
    """Where each piece begins, and where the last one ends, once they are sorted."""
    return np.append(0, np.cumsum(np.bincount(piece, minlength=pieces)))


def _narrowest(size: int) -> type[np.unsignedinteger[Any]]:
    """The type for 0 to ``size`` - 1."""
    return next(kind for kind in (np.uint8, np.uint16, np.uint32, np.uint64) if size - 1 <= np.iinfo(kind).max)
