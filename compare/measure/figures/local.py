"""The numpy engine over Arrow tables (`compare.measure.figures.shapes`), and what every Spark task runs on its groups.

An owner is a member whether listed or not.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from compare.measure.figures.counting import count
from compare.measure.figures.definitions import COUNTS, MILLIONTHS, NAMES
from compare.measure.figures.faults import check_rows, listed_twice, overloaded, place_in
from compare.measure.figures.last_step import Flags, Floats, Integers, Sums, last_step
from compare.measure.figures.queues import QueueBits, count_queues
from compare.measure.figures.rows import NumberedRows, Numbers
from compare.measure.figures.shapes import Columns, columns_of, kind_of
from rocketmq_selfbalance.codes import RETRY_PREFIX


def table_fairness(
    ownership: pa.Table,
    members: pa.Table,
    *,
    weight: str | None = None,
    with_retry: bool = False,
    per_topic: bool = False,
) -> pa.Table:
    """The figures of every group as a table: ``run`` (if given), ``group``, then the figures; sorted by group.

    ``weight`` names the weight's column (default: ``weight`` where there is one, else 1 each). ``per_topic`` adds a
    column ``topic`` and one row per topic of a group; ``topic`` is null in the rows of whole groups. Raises
    `UserError` for columns that are missing or of another type, and for rows that say what none may
    (`compare.measure.figures.faults`).
    """
    columns = columns_of(ownership.schema, members.schema, weight)
    check_rows(ownership, members, columns)
    shares = pa.concat_tables(
        [_ownership_shares(ownership, columns, with_retry), _member_shares(members, columns)],
        promote_options="permissive",
    )
    figures = fairness_of_shares(shares, columns, unit=unit_of_column(ownership.schema, columns), per_topic=per_topic)
    return figures.sort_by([(key, "ascending") for key in [*columns.keys, *(["topic"] if per_topic else [])]])


def unit_of_column(ownership: pa.Schema, columns: Columns) -> int:
    """The load of weight 1: more than one where weights are decimals."""
    is_exact = columns.weight is None or kind_of(ownership.field(columns.weight).type) in ("integer", "nothing")
    return 1 if is_exact else MILLIONTHS


def _ownership_shares(table: pa.Table, columns: Columns, with_retry: bool) -> pa.Table:
    queue = table[columns.queue]
    size = table.num_rows
    broker = table["broker"].cast(pa.string()) if "broker" in table.column_names else pa.array([""] * size)
    if kind_of(queue.type) == "integer":
        number = queue.to_numpy().astype(np.int64)
    else:
        # No broker and the broker without a name are one here: a null would swallow the queue's name.
        broker = pc.binary_join_element_wise(pc.fill_null(broker, ""), pc.cast(queue, pa.string()), "\0")
        number = np.zeros(size, dtype=np.int64)
    topic = table["topic"].cast(pa.string())
    if not with_retry:
        topic = pc.if_else(pc.starts_with(topic, RETRY_PREFIX), pa.scalar(None, topic.type), topic)
    load, unknown = _loads(table, columns.weight)
    return pa.table(
        {
            **{key: table[key] for key in columns.keys},
            "topic": topic,
            "broker": broker,
            "word": number >> 6,
            "owner": table["owner"],
            "load": load,
            "bits": (np.uint64(1) << (number & 63).astype(np.uint64)).view(np.int64),
            "rows": np.ones(size, dtype=np.int64),
            "unknown": unknown,
        }
    )


def _loads(table: pa.Table, weight: str | None) -> tuple[Numbers, Flags]:
    if weight is None:
        return np.ones(table.num_rows, dtype=np.int64), np.zeros(table.num_rows, dtype=bool)
    load, unknown = integer_loads(table[weight])
    return load, unknown & table["owner"].is_valid().to_numpy()


def integer_loads(weights: pa.ChunkedArray) -> tuple[Numbers, Flags]:
    """Checked weights as integers (decimals in millionths, rounded half to even; null as 0), and which are null."""
    unknown = weights.is_null().to_numpy()
    if kind_of(weights.type) in ("integer", "nothing"):
        return pc.fill_null(weights.cast(pa.int64()), 0).to_numpy(), unknown
    known = pc.fill_null(weights.cast(pa.float64()), 0.0)
    return np.rint(known.to_numpy() * MILLIONTHS).astype(np.int64), unknown


def _member_shares(table: pa.Table, columns: Columns) -> pa.Table:
    none = np.zeros(table.num_rows, dtype=np.int64)
    return pa.table(
        {
            **{key: table[key] for key in columns.keys},
            "topic": pa.nulls(table.num_rows, pa.string()),
            "broker": pa.array([""] * table.num_rows),
            "word": none,
            "owner": table["member"],
            "load": none,
            "bits": none,
            "rows": none,
            "unknown": none.astype(bool),
        }
    )


def fairness_of_shares(shares: pa.Table, columns: Columns, *, unit: int, per_topic: bool) -> pa.Table:
    """Figures from *shares* of whole groups in any order: what one owner (null: nobody) has of 64 neighbouring
    queues (`figures.queues`); the columns are the keys, topic (null: only says that the owner is a member),
    broker, word, owner, load (null: too large), bits, rows, unknown. Several shares of the same may be merged or not.

    Raises `UserError` for a queue that is listed twice for one owner, and for a member with too large a load.
    """
    keys = columns.keys
    place = place_in(shares, keys)
    if shares["load"].null_count:
        raise overloaded(columns, place(int(np.argmax(shares["load"].is_null().to_numpy()))), unit)
    group = _combined([_codes(shares[key]) for key in keys])
    topic, owner = _codes(shares["topic"]), _codes(shares["owner"])
    groups = int(group.max(initial=-1)) + 1
    members, position = _members(group, owner, groups)
    in_topic = np.flatnonzero(topic >= 0)
    of_topic = _combined([group[in_topic], topic[in_topic]])
    topics, first = _firsts(of_topic)
    word = _combined([of_topic, _codes(shares["broker"])[in_topic], _codes(shares["word"])[in_topic]])
    column = {name: shares[name].to_numpy()[in_topic] for name in ("load", "bits", "rows", "unknown")}
    bits = QueueBits(word, of_topic, position[in_topic], column["bits"].view(np.uint64), column["rows"])
    queues, unowned, double_owned = count_queues(
        bits, topics, lambda topic: listed_twice(columns, place(int(in_topic[first[topic]])))
    )
    owned = position[in_topic] >= 0
    _, group_first = _firsts(group)
    of_groups, of_topics = count(
        NumberedRows(
            members=members,
            topic_group=group[in_topic][first],
            queues=queues,
            unowned=unowned,
            double_owned=double_owned,
            topic=of_topic[owned],
            member=position[in_topic][owned],
            load=column["load"][owned],
            unknown=column["unknown"][owned],
            unit=unit,
        ),
        lambda group: overloaded(columns, place(int(group_first[group])), unit),
    )
    named = {key: shares[key].take(pa.array(group_first)) for key in keys}
    if not per_topic:
        return figure_table(named, of_groups)
    rows = in_topic[first]
    named["topic"] = pa.nulls(groups, pa.string())
    of_each = {key: shares[key].take(pa.array(rows)) for key in keys}
    of_each["topic"] = shares["topic"].take(pa.array(rows)).cast(pa.string())
    return pa.concat_tables([figure_table(named, of_groups), figure_table(of_each, of_topics)])


def figure_table(named: dict[str, pa.ChunkedArray], sums: Sums) -> pa.Table:
    """Columns that name the rows, then the figures: counts as int64, the others as float64, null where undefined."""
    figures = last_step(sums)
    return pa.table({**named, **{name: _column(name, figures[name]) for name in NAMES}})


def _column(name: str, values: Integers | Floats) -> pa.Array:
    return pa.array(values.astype(np.int64)) if name in COUNTS else pa.array(values, from_pandas=True)


def _codes(column: pa.ChunkedArray) -> Numbers:
    """Equal values to equal numbers from 0, null to -1."""
    indices = column.combine_chunks().dictionary_encode().indices
    codes: Numbers = indices.fill_null(-1).to_numpy().astype(np.int64)
    return codes


def _combined(codes: list[Numbers]) -> Numbers:
    """Equal combinations to equal numbers, 0, 1, ... in the order of appearance; null (-1) is a value of its own."""
    found = codes[0] + 1
    for more in codes[1:]:
        # Both factors are below 2^31: a table holds fewer rows.
        found = pa.array(found * (int(more.max(initial=-1)) + 2) + more + 1).dictionary_encode().indices.to_numpy()
        found = found.astype(np.int64)
    if len(codes) == 1:
        found = pa.array(found).dictionary_encode().indices.to_numpy().astype(np.int64)
    return found


def _firsts(numbers: Numbers) -> tuple[int, Numbers]:
    """How many numbers there are (given in the order of appearance), and where each appears first."""
    first = np.flatnonzero(np.diff(np.maximum.accumulate(numbers), prepend=-1))
    return len(first), first


def _members(group: Numbers, owner: Numbers, groups: int) -> tuple[Numbers, Numbers]:
    """Members per group, and each row's owner as position within its group (-1: nobody)."""
    position = np.full(len(group), -1, dtype=np.int64)
    there = np.flatnonzero(owner >= 0)
    member = _combined([group[there], owner[there]])
    size, first = _firsts(member)
    home = group[there][first]
    members = np.bincount(home, minlength=groups)
    order = np.argsort(home, kind="stable")
    within = np.empty(size, dtype=np.int64)
    within[order] = np.arange(size) - np.repeat(np.cumsum(members) - members, members)
    position[there] = within[member]
    return members, position
