"""Snapshots: Parquet files that each hold whole groups, sorted and numbered, so that figures need no shuffle or sort.

A snapshot has two folders, ``ownership`` and ``members``, with the columns that `figures.local` describes, for
any tool to read. Their files come in pairs: one of each folder holds the same groups. What makes it fast is extra:
ownership carries ``group_number`` (position of the group in the file, groups sorted) and ``owner_number`` (position of
the owner among the group's members, -1 for nobody), members carry ``group_number``; a group without members has
one row with member null. Files are recognised and paired by the entry ``equipoise.snapshot`` of their metadata.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet as pq

from compare.measure.figures.counting import count
from compare.measure.figures.faults import check_rows, check_values, listed_twice, overloaded, place_in
from compare.measure.figures.last_step import Flags
from compare.measure.figures.local import figure_table, integer_loads, unit_of_column
from compare.measure.figures.rows import NumberedRows, Numbers
from compare.measure.figures.shapes import Columns, columns_of, kind_of, queue_column, weight_column
from protocols.errors import UserError
from rocketmq_selfbalance.codes import RETRY_PREFIX

_MARK = b"equipoise.snapshot"


@dataclass(frozen=True, slots=True)
class Part:
    """The paths of two files about the same groups."""

    ownership: str
    members: str


def write_part(folder: str, ownership: pa.Table, members: pa.Table) -> Part:
    """Write one pair of files (columns as in `table_fairness`, with integer queue numbers) below ``folder``.

    An owner that is not listed among the members is added to them. Raises `UserError` for columns that are missing or
    of another type, for rows that say what none may (`figures.faults`), and where a queue is listed twice for
    one owner.
    """
    columns = snapshot_columns(ownership.schema, members.schema)
    check_rows(ownership, members, columns)
    keys = list(columns.keys)
    size = ownership.num_rows
    everyone = pa.concat_tables(
        [ownership.select([*keys, "owner"]).rename_columns([*keys, "member"]), members.select([*keys, "member"])],
        promote_options="permissive",
    )
    group_first, group = _ordered([_ranks(everyone[key]) for key in keys])
    member_rank = _ranks(everyone["member"])
    pair_first, pair = _ordered([group, member_rank])
    # Members without null, and the row with null where a group has nobody.
    home, named = group[pair_first], member_rank[pair_first] >= 0
    sizes = np.bincount(home[named], minlength=len(group_first))
    keep = named | (sizes[home] == 0)
    number = np.cumsum(named) - 1 - (np.cumsum(sizes) - sizes)[home]
    owner = np.where(member_rank[:size] >= 0, number[pair[:size]], -1)
    listed = everyone.take(pa.array(pair_first[keep]))

    topic, broker = _ranks(ownership["topic"]), None
    if "broker" in ownership.column_names:
        broker = _ranks(ownership["broker"])
    at = ownership[columns.queue].to_numpy()
    sort_keys = [owner, at, *([] if broker is None else [broker]), topic, group[:size]]
    order = np.lexsort(sort_keys)
    same_queue = np.ones(max(size - 1, 0), dtype=bool)
    for values in sort_keys[1:]:
        same_queue &= np.diff(values[order]) == 0
    sorted_owner = owner[order]
    twice = same_queue & (sorted_owner[1:] == sorted_owner[:-1])
    twice &= sorted_owner[1:] >= 0
    if twice.any():
        raise listed_twice(columns, place_in(ownership, keys)(int(order[1:][np.argmax(twice)])))
    # Nobody sorts first: such a row says nothing where another row names the queue.
    needless = np.append(same_queue & (sorted_owner[:-1] < 0), False)[: len(order)]
    order = order[~needless]

    numbers = {"group_number": group[:size][order].astype(np.int32), "owner_number": owner[order].astype(np.int32)}
    digest = hashlib.blake2b(digest_size=16)
    for values in (*numbers.values(), at[order].astype(np.int64), topic[order]):
        digest.update(values.tobytes())
    for key in keys:
        digest.update(json.dumps(everyone[key].take(pa.array(group_first)).to_pylist(), default=str).encode())
    name = digest.hexdigest()
    part = Part(f"{folder}/ownership/part-{name}.parquet", f"{folder}/members/part-{name}.parquet")
    weight = columns.weight
    is_one = weight is None or bool(pc.all(pc.equal(pc.fill_null(ownership[weight], 0), 1), min_count=0).as_py())
    _write(part.ownership, ownership.take(pa.array(order)), numbers, {"pair": name, "ones": is_one})
    _write(part.members, listed, {"group_number": home[keep].astype(np.int32)}, {"pair": name})
    return part


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


def recognised(ownership: str, members: str) -> list[Part] | None:
    """The pairs, if all files of both paths belong to one snapshot; None for any other Parquet."""
    owned, listed = _marks(ownership), _marks(members)
    if owned is None or listed is None or set(owned) != set(listed) or not owned:
        return None
    return [Part(owned[pair], listed[pair]) for pair in sorted(owned)]


def keys_of(part: Part) -> list[tuple[str, pa.DataType]]:
    """The key columns of a snapshot with their types."""
    schema = pq.read_schema(_open(part.members))
    return [(name, schema.field(name).type) for name in ("run", "group") if name in schema.names]


def part_fairness(part: Part, *, with_retry: bool, per_topic: bool) -> pa.Table:
    """The figures of the groups in one pair of files, as `table_fairness` returns them."""
    named, members = _groups(part)
    keys = list(named)
    schema = pq.read_schema(_open(part.ownership))
    ones = json.loads(schema.metadata[_MARK])["ones"]
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
    group, code, at = _numbers(table["group_number"]), topics.indices.to_numpy(), _numbers(table[queue])
    owner = _numbers(table["owner_number"])
    new_topic = _changes(group) | _changes(code)
    new_queue = new_topic | _changes(at)
    if "broker" in table.column_names:
        new_queue |= _changes(table["broker"].unify_dictionaries().combine_chunks().indices.to_numpy())
    # The second row of a queue makes it one with several owners, a third changes nothing.
    second = ~new_queue
    second[1:] &= new_queue[:-1]
    starts = np.flatnonzero(new_topic)
    topic = np.cumsum(new_topic) - 1
    owned = owner >= 0
    load, unknown, unit = None, None, unit_of_column(schema, columns)
    if weight is not None:
        load, unknown = integer_loads(table[weight])
        load, unknown = load[owned], unknown[owned]
    all_owned = bool(owned.all())
    of_groups, of_topics = count(
        NumberedRows(
            members=members,
            topic_group=group[starts].astype(np.int64),
            queues=_per_topic(new_queue, starts),
            unowned=_per_topic(~owned, starts),
            double_owned=_per_topic(second, starts),
            topic=topic if all_owned else topic[owned],
            member=owner if all_owned else owner[owned],
            load=load,
            unknown=unknown,
            unit=unit,
        ),
        lambda group: overloaded(columns, place(group), unit),
    )
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


def _per_topic(flags: Flags, starts: Numbers) -> Numbers:
    if not len(starts):
        return np.zeros(0, dtype=np.int64)
    return np.add.reduceat(flags, starts, dtype=np.int64)


def _changes(values: npt.NDArray[np.generic]) -> Flags:
    changes = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def _numbers(column: pa.ChunkedArray) -> Numbers:
    """Whole numbers, perhaps narrower than the type says: as the file has them."""
    return cast("Numbers", column.to_numpy())


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _ranks(column: pa.ChunkedArray) -> Numbers:
    """Each value's position in the sorted values, -1 for null."""
    encoded = column.combine_chunks().dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order) + 1, dtype=np.int64)
    ranks[order] = np.arange(len(order))
    ranks[-1] = -1
    return cast("Numbers", ranks[encoded.indices.fill_null(-1).to_numpy()])


def _ordered(ranks: list[Numbers]) -> tuple[Numbers, Numbers]:
    """For each different combination, sorted, its first row; and each row's combination."""
    found = ranks[0] + 1
    first, found = np.unique(found, return_index=True, return_inverse=True)[1:]
    for more in ranks[1:]:
        both = found * (int(more.max(initial=-1)) + 2) + more + 1
        first, found = np.unique(both, return_index=True, return_inverse=True)[1:]
    return first, found


def _write(path: str, table: pa.Table, extra: dict[str, Numbers], mark: dict[str, object]) -> None:
    for name, values in extra.items():
        table = table.append_column(name, pa.array(values))
    table = table.replace_schema_metadata({_MARK: json.dumps(mark)})
    filesystem, place = _place(path)
    filesystem.create_dir(place.rsplit("/", 1)[0], recursive=True)
    pq.write_table(table, place, filesystem=filesystem, row_group_size=1 << 20, write_page_index=False)


def _read(path: str, columns: list[str], dictionaries: list[str]) -> pa.Table:
    names = pq.read_schema(_open(path)).names
    wanted = [name for name in columns if name in names]
    file = pq.ParquetFile(_open(path), read_dictionary=[name for name in dictionaries if name in wanted])
    return file.read(columns=wanted, use_threads=False)


def _open(path: str) -> Any:
    filesystem, place = _place(path)
    return filesystem.open_input_file(place)


def _place(path: str) -> tuple[pa.fs.FileSystem, str]:
    if "://" in path or path.startswith("file:"):
        found: tuple[pa.fs.FileSystem, str] = pa.fs.FileSystem.from_uri(path)
        return found
    return pa.fs.LocalFileSystem(), path


def _marks(path: str) -> dict[str, str] | None:
    """Pair to path of every file, None if one of them is no file of a snapshot."""
    try:
        filesystem, place = _place(path)
    except (pa.ArrowInvalid, OSError):
        # A file system of Spark's that Arrow does not know.
        return None
    info = filesystem.get_file_info(place)
    if info.type == pa.fs.FileType.Directory:
        listed = filesystem.get_file_info(pa.fs.FileSelector(place, recursive=True))
        places = [each.path for each in listed if each.type == pa.fs.FileType.File]
        places = [each for each in places if not each.rsplit("/", 1)[-1].startswith(("_", "."))]
    else:
        places = [place] if info.type == pa.fs.FileType.File else []
    prefix = path[: len(path) - len(place)] if path.endswith(place) else ""
    found = {}
    for each in places:
        try:
            metadata = pq.read_schema(filesystem.open_input_file(each)).metadata or {}
        except (pa.ArrowInvalid, OSError):
            return None
        if _MARK not in metadata:
            return None
        found[json.loads(metadata[_MARK])["pair"]] = prefix + each
    return found
