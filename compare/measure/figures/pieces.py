"""Coded rows cut into pieces of whole groups by a hash of run and group, and their bytes (Arrow's stream format).

The hash depends on values only: every task, of either table, cuts the same groups into the same piece.
"""

from collections.abc import Iterator
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from compare.measure.figures.coded import CodedRows, Names
from compare.measure.figures.numbering import numbered
from compare.measure.figures.rows import Numbers
from compare.measure.figures.shapes import kind_of

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
    others = {name: each.take(pa.array(order)) for name, each in rows.others.items()}
    for at in np.flatnonzero(np.diff(first)).tolist():
        start, end, base = first[at], first[at + 1], first_group[at]
        group = Names(values.slice(base, first_group[at + 1] - base), codes[start:end] - base)
        kept = {name: _kept(Names(each.values, each.codes[start:end])) for name, each in names.items()}
        yield (
            at,
            CodedRows(
                {"group": group, **kept},
                {name: each[start:end] for name, each in numbers.items()},
                {name: each.slice(start, end - start) for name, each in others.items()},
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
