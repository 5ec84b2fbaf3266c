"""Snapshots: Parquet files that each hold whole groups, sorted and numbered, so that figures need no shuffle or sort.

A snapshot has two folders, ``ownership`` and ``members``, with the columns that `figures.local` describes, for
any tool to read. Their files come in pairs: one of each folder holds the same groups. What makes it fast is extra:
ownership carries ``group_number`` (position of the group in the file, groups sorted) and ``owner_number`` (position of
the owner among the group's members, -1 for nobody), members carry ``group_number``; a group without members has
one row with member null. Files are recognised and paired by the entry ``equipoise.snapshot`` of their metadata.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from compare.figures.coded import (
    CodedRows,
    Layout,
    coded_members,
    coded_ownership,
    integer_loads,
    layout_of,
    uncounted,
    unit_of_column,
)
from compare.figures.counting import Numbers, SortedRows, changes, check_listed_once, count_sorted
from compare.figures.last_step import Flags
from compare.figures.local import figure_table
from compare.figures.merging import MergedRows, NameTable, faults_in, in_sorted_order, merged
from compare.figures.parquet_files import ParquetFile, located, open_file, parquet_file
from compare.figures.shapes import (
    Columns,
    check_values,
    columns_of,
    kind_of,
    listed_twice,
    place_in,
    plain,
    queue_column,
    weight_column,
)
from protocols.errors import UserError

MARK = b"equipoise.snapshot"
"""The entry of a file's metadata that tells its pair, and whether all weights are 1."""


@dataclass(frozen=True, slots=True)
class Part:
    """The paths of two files about the same groups."""

    ownership: str
    members: str


def pairs(ownership: Sequence[ParquetFile], members: Sequence[ParquetFile]) -> list[Part] | None:
    """The pairs, if all files belong to one snapshot; None for any other Parquet."""
    owned, listed = _marks(ownership), _marks(members)
    if owned is None or listed is None or set(owned) != set(listed) or not owned:
        return None
    return [Part(owned[pair], listed[pair]) for pair in sorted(owned)]


def _marks(files: Sequence[ParquetFile]) -> dict[str, str] | None:
    """Pair to path of every file, None if one of them is no file of a snapshot."""
    marks = {}
    for file in files:
        metadata = file.schema.metadata or {}
        if MARK not in metadata:
            return None
        marks[json.loads(metadata[MARK])["pair"]] = file.path
    return marks


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
    retry = uncounted(topics.dictionary)
    if not pc.any(retry, min_count=0).as_py():
        return table, topics
    keep = pc.invert(retry.take(topics.indices).fill_null(False))
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


def write_part(folder: str, ownership: pa.Table, members: pa.Table) -> Part:
    """Write one pair of files (columns as in `table_fairness`, with integer queue numbers) below ``folder``.

    An owner that is not listed among the members is added to them. Raises `UserError` for columns that are missing or
    of another type, for rows that say what none may (`figures.shapes`), and where a queue is listed twice for
    one owner.
    """
    columns = snapshot_columns(ownership.schema, members.schema)
    layout = layout_of(ownership.schema, members.schema)
    kept = kept_columns(ownership.schema, columns)
    owned, _ = coded_ownership(ownership, layout, with_retry=True, keep=kept)
    return write_coded_part(folder, [owned], [coded_members(members, layout)], layout, ownership.schema)


def snapshot_columns(ownership: pa.Schema, members: pa.Schema) -> Columns:
    """The columns of tables to write; `UserError` also for queues that are no numbers, and topics that are."""
    columns = columns_of(ownership, members)
    topic = ownership.field("topic").type
    if kind_of(topic) not in ("text", "nothing"):
        raise UserError(f"column 'topic' of ownership holds {topic}, a snapshot expects texts")
    type = ownership.field(columns.queue).type
    if kind_of(type) not in ("integer", "nothing"):
        raise UserError(f"column {columns.queue!r} of ownership holds {type}, a snapshot expects integers")
    return columns


def kept_columns(ownership: pa.Schema, columns: Columns) -> tuple[str, ...]:
    """The columns of ownership that a snapshot keeps as they are: all but the names and the queue's number."""
    coded = (*columns.keys, "topic", "broker", "owner", columns.queue)
    return tuple(name for name in ownership.names if name not in coded)


def write_coded_part(
    folder: str, owned: Sequence[CodedRows], listed: Sequence[CodedRows], layout: Layout, schema: pa.Schema
) -> Part:
    """As `write_part`, from coded rows with the other columns of ownership (`kept_columns`), whose schema is
    ``schema``."""
    rows = merged(owned, listed, layout, in_order=True)
    numbers, order = in_sorted_order(rows, with_order=True)
    assert order is not None
    check_listed_once(numbers, lambda group: listed_twice(layout.columns, rows.place(group)))
    # Nobody sorts first: such a row says nothing where another row names the queue.
    needed = np.ones(len(order), dtype=bool)
    needed[:-1] = numbers.new_queue[1:] | (numbers.member[:-1] >= 0)
    owned_table = _ownership(rows, numbers, order, needed, layout.columns, schema)
    listed_table = _members(rows)
    name = _digest(rows, numbers, order, needed)
    part = Part(f"{folder}/ownership/part-{name}.parquet", f"{folder}/members/part-{name}.parquet")
    is_one = rows.load is None or bool((rows.load == layout.unit).all())
    _write(part.ownership, owned_table, {"pair": name, "ones": is_one})
    _write(part.members, listed_table, {"pair": name})
    return part


def _ownership(
    rows: MergedRows, numbers: SortedRows, order: Numbers, needed: Flags, columns: Columns, schema: pa.Schema
) -> pa.Table:
    order, group, member = order[needed], numbers.group[needed], numbers.member[needed]
    first = np.cumsum(rows.members) - rows.members
    owner = np.zeros(len(member), dtype=np.int64)
    owner[member >= 0] = rows.member_names.codes[(first[group] + member)[member >= 0]]
    named = {
        **{key: each.at(group) for key, each in rows.keys.items()},
        "topic": rows.topic.at(order),
        "broker": rows.broker.at(order),
        "owner": NameTable(rows.member_names.values, owner),
    }
    found: dict[str, pa.Array] = {}
    for field in schema:
        if field.name in named:
            found[field.name] = named[field.name].column(plain(field.type))
        elif field.name == columns.queue:
            found[field.name] = pa.array(rows.queue[order]).cast(field.type)
        else:
            found[field.name] = rows.others[field.name].take(pa.array(order))
    extra = {"group_number": group, "owner_number": member}
    return pa.table({**found, **{name: pa.array(values.astype(np.int32)) for name, values in extra.items()}})


def _members(rows: MergedRows) -> pa.Table:
    """All members, group by group, and one row without a name for a group that has none."""
    empty = np.flatnonzero(rows.members == 0)
    home, code = np.append(rows.member_group, empty), np.append(rows.member_names.codes, np.zeros_like(empty))
    order = np.argsort(home, kind="stable")
    home = home[order]
    named = {**{key: each.at(home) for key, each in rows.keys.items()}}
    named["member"] = NameTable(rows.member_names.values, code[order])
    columns = {name: each.column(each.values.type) for name, each in named.items()}
    return pa.table({**columns, "group_number": pa.array(home.astype(np.int32))})


def _digest(rows: MergedRows, numbers: SortedRows, order: Numbers, needed: Flags) -> str:
    digest = hashlib.blake2b(digest_size=16)
    order = order[needed]
    for values in (numbers.group[needed], numbers.member[needed], rows.queue[order], rows.topic.codes[order]):
        digest.update(values.astype(np.int64).tobytes())
    for key in rows.keys.values():
        digest.update(json.dumps(key.taken(np.arange(len(rows.members))).to_pylist(), default=str).encode())
    return digest.hexdigest()


def _write(path: str, table: pa.Table, mark: dict[str, object]) -> None:
    filesystem, place = located(path)
    filesystem.create_dir(place.rsplit("/", 1)[0], recursive=True)
    # Columns are handed over as dictionaries, because that is cheap, and are plain texts to whoever reads them.
    about = {MARK: json.dumps(mark).encode()}
    schema = pa.schema([(field.name, plain(field.type)) for field in table.schema], about)
    about[b"ARROW:schema"] = base64.b64encode(schema.serialize().to_pybytes())
    with pq.ParquetWriter(place, table.schema, filesystem=filesystem, store_schema=False) as writer:
        writer.write_table(table, row_group_size=1 << 20)
        writer.add_key_value_metadata(about)
