"""A pair of files of a snapshot (`figures.parts`) written: whole groups, sorted and numbered."""

import base64
import hashlib
import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from compare.measure.figures.coded import CodedRows, Layout, coded_members, coded_ownership, layout_of
from compare.measure.figures.faults import listed_twice
from compare.measure.figures.last_step import Flags
from compare.measure.figures.merging import MergedRows, NameTable, in_sorted_order, merged
from compare.measure.figures.parquet_files import located
from compare.measure.figures.parts import MARK, Part
from compare.measure.figures.rows import Numbers
from compare.measure.figures.shapes import Columns, columns_of, kind_of, plain
from compare.measure.figures.sorted_rows import SortedRows, check_listed_once
from protocols.errors import UserError


def write_part(folder: str, ownership: pa.Table, members: pa.Table) -> Part:
    """Write one pair of files (columns as in `table_fairness`, with integer queue numbers) below ``folder``.

    An owner that is not listed among the members is added to them. Raises `UserError` for columns that are missing or
    of another type, for rows that say what none may (`figures.faults`), and where a queue is listed twice for
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
    for each in rows.keys.values():
        digest.update(json.dumps(each.taken(np.arange(len(rows.members))).to_pylist(), default=str).encode())
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
