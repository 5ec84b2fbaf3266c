"""Snapshots: Parquet files that each hold whole groups, sorted and numbered, so that figures need no shuffle or sort.

A snapshot has two folders, ``ownership`` and ``members``, with the columns that `figures.local` describes, for
any tool to read. Their files come in pairs: one of each folder holds the same groups. What makes it fast is extra:
ownership carries ``group_number`` (position of the group in the file, groups sorted) and ``owner_number`` (position of
the owner among the group's members, -1 for nobody), members carry ``group_number``; a group without members has
one row with member null. Files are recognised and paired by the entry ``equipoise.snapshot`` of their metadata.
`figures.part_writing` writes them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from compare.measure.figures.coded import integer_loads, unit_of_column
from compare.measure.figures.faults import check_values, place_in
from compare.measure.figures.local import figure_table
from compare.measure.figures.merging import faults_in
from compare.measure.figures.parquet_files import ParquetFile, open_file, parquet_file, parquet_files
from compare.measure.figures.rows import Numbers
from compare.measure.figures.shapes import Columns, plain, queue_column, weight_column
from compare.measure.figures.sorted_rows import SortedRows, changes, count_sorted
from rocketmq_selfbalance.codes import RETRY_PREFIX

MARK = b"equipoise.snapshot"
"""The entry of a file's metadata that tells its pair, and whether all weights are 1."""


@dataclass(frozen=True, slots=True)
class Part:
    """The paths of two files about the same groups."""

    ownership: str
    members: str


def recognised(ownership: str, members: str) -> list[Part] | None:
    """The pairs, if all files of both paths belong to one snapshot; None for any other Parquet."""
    owned, listed = parquet_files(ownership), parquet_files(members)
    return None if owned is None or listed is None else pairs(owned, listed)


def pairs(ownership: Sequence[ParquetFile], members: Sequence[ParquetFile]) -> list[Part] | None:
    """As `recognised`, of files that were found."""
    owned, listed = _marks(ownership), _marks(members)
    if owned is None or listed is None or set(owned) != set(listed) or not owned:
        return None
    return [Part(owned[pair], listed[pair]) for pair in sorted(owned)]


def _marks(files: Sequence[ParquetFile]) -> dict[str, str] | None:
    """Pair to path of every file, None if one of them is no file of a snapshot."""
    found = {}
    for each in files:
        metadata = each.schema.metadata or {}
        if MARK not in metadata:
            return None
        found[json.loads(metadata[MARK])["pair"]] = each.path
    return found


def keys_of(part: Part) -> list[tuple[str, pa.DataType]]:
    """The key columns of a snapshot with their types."""
    schema = pq.read_schema(open_file(part.members))
    return [(name, schema.field(name).type) for name in ("run", "group") if name in schema.names]


def part_fairness(part: Part, *, with_retry: bool, per_topic: bool) -> pa.Table:
    """The figures of the groups in one pair of files, as `table_fairness` returns them."""
    named, members = _groups(part)
    keys = list(named)
    schema = pq.read_schema(open_file(part.ownership))
    ones = json.loads(schema.metadata[MARK])["ones"]
    queue = queue_column(schema.names)
    weight = None if ones else weight_column(schema.names, None)
    columns = Columns(tuple(keys), queue, weight)
    wanted = ["topic", "broker", queue, "group_number", "owner_number", *([weight] if weight else [])]
    table = _read(part.ownership, wanted, ["topic", "broker"])

    place = place_in(pa.table(named), keys)
    # Files of an earlier version were written unchecked.
    check_values(table, columns, lambda row: place(table["group_number"][row].as_py()))
    topics = table["topic"].unify_dictionaries().combine_chunks()
    if not with_retry:
        table, topics = _without_retry(table, topics)
    group, at = _numbers(table["group_number"]), _numbers(table[queue])
    new_topic = changes(group) | changes(topics.indices.to_numpy())
    new_queue = new_topic | changes(at)
    if "broker" in table.column_names:
        new_queue |= changes(table["broker"].unify_dictionaries().combine_chunks().indices.to_numpy())
    load, unknown = (None, None) if weight is None else integer_loads(table[weight])
    rows = SortedRows(
        group=group,
        topic=topics.indices.to_numpy(),
        new_topic=new_topic,
        new_queue=new_queue,
        member=_numbers(table["owner_number"]),
        load=load,
        unknown=unknown,
        members=members,
    )
    unit = unit_of_column(schema, columns)
    of_groups, of_topics, starts = count_sorted(rows, unit, *faults_in(columns, unit, place))
    if not per_topic:
        return figure_table(named, of_groups)
    text = pa.string()
    of_each = {key: column.take(pa.array(group[starts])) for key, column in named.items()}
    of_each["topic"] = pa.chunked_array([topics.take(pa.array(starts)).cast(text)])
    named["topic"] = pa.chunked_array([pa.nulls(len(members), text)])
    return pa.concat_tables([figure_table(named, of_groups), figure_table(of_each, of_topics)])


def _groups(part: Part) -> tuple[dict[str, pa.ChunkedArray], Numbers]:
    """The keys of the groups in a part, and how many members each has."""
    listed = _read(part.members, ["run", "group", "member", "group_number"], ["group", "member"])
    group = _numbers(listed["group_number"])
    first = np.flatnonzero(np.diff(group, prepend=-1))
    members = np.bincount(group[listed["member"].is_valid().to_numpy()], minlength=len(first))
    names = [name for name in ("run", "group") if name in listed.column_names]
    return {name: _plain(listed[name].take(pa.array(first))) for name in names}, members


def _without_retry(table: pa.Table, topics: pa.DictionaryArray) -> tuple[pa.Table, pa.DictionaryArray]:
    """Rows and their topics without those of retry topics."""
    retry = pc.starts_with(topics.dictionary, RETRY_PREFIX)
    if not pc.any(retry, min_count=0).as_py():
        return table, topics
    keep = pc.invert(pc.fill_null(retry.take(topics.indices), False))
    return table.filter(keep), topics.filter(keep)


def _read(path: str, columns: list[str], dictionaries: list[str]) -> pa.Table:
    file = parquet_file(path, dictionaries)
    wanted = [name for name in columns if name in file.schema_arrow.names]
    return file.read(columns=wanted, use_threads=False)


def _numbers(column: pa.ChunkedArray) -> Numbers:
    """Whole numbers, perhaps narrower than the type says: as the file has them."""
    return cast("Numbers", column.to_numpy())


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(plain(column.type))
