"""The numpy engine over Arrow tables, and what every Spark task runs on its groups.

Shapes. *Ownership*, one row per queue and owner: ``run`` (optional, any type), ``group``, ``topic``, ``broker``
(optional), ``queue`` (or ``number``, ``partition``: an integer, or a text), ``owner`` (null: nobody owns it),
``weight`` (optional, 1 each; an integer or a decimal, null: unknown). *Members*, one row per member: ``run``,
``group``, ``member`` (null: only says that the group exists). An owner is a member whether listed or not.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from compare.figures.counting import count
from compare.figures.definitions import COUNTS, MILLIONTHS, NAMES, Flags, Floats, Integers, Sums, last_step
from compare.figures.queues import QueueBits, count_queues
from compare.figures.rows import NumberedRows, Numbers
from protocols.errors import UserError
from rocketmq_selfbalance.codes import RETRY_PREFIX

QUEUE_COLUMNS = ("queue", "number", "partition")
"""Names under which the queue's number is looked for, in this order."""


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
    `UserError` for a missing column or bad weights.
    """
    keys = ["run", "group"] if "run" in ownership.column_names else ["group"]
    weight = weight_column(ownership.column_names, weight)
    is_decimal = weight is not None and not pa.types.is_integer(ownership.schema.field(weight).type)
    shares = pa.concat_tables(
        [_ownership_shares(ownership, keys, weight, with_retry), _member_shares(members, keys)],
        promote_options="permissive",
    )
    figures = fairness_of_shares(shares, keys, unit=MILLIONTHS if is_decimal else 1, per_topic=per_topic)
    return figures.sort_by([(key, "ascending") for key in [*keys, *(["topic"] if per_topic else [])]])


def weight_column(columns: list[str], weight: str | None) -> str | None:
    """The column that weighs queues: the one named, else ``weight`` where there is one."""
    if weight is not None and weight not in columns:
        raise UserError(f"ownership has no column {weight!r} to weigh queues by, it has {', '.join(columns)}")
    return "weight" if weight is None and "weight" in columns else weight


def queue_column(columns: list[str]) -> str:
    """The column with the queue's number within topic and broker."""
    for name in QUEUE_COLUMNS:
        if name in columns:
            return name
    raise UserError(f"ownership has no column {' or '.join(QUEUE_COLUMNS)}, it has {', '.join(columns)}")


def require(what: str, columns: list[str], needed: list[str]) -> None:
    """`UserError` unless every column is there."""
    for name in needed:
        if name not in columns:
            raise UserError(f"{what} has no column {name!r}, it has {', '.join(columns)}")


def _ownership_shares(table: pa.Table, keys: list[str], weight: str | None, with_retry: bool) -> pa.Table:
    columns = table.column_names
    require("ownership", columns, [*keys, "topic", "owner"])
    queue = table[queue_column(columns)]
    size = table.num_rows
    broker = table["broker"] if "broker" in columns else pa.array([""] * size)
    if pa.types.is_integer(queue.type):
        number = queue.to_numpy().astype(np.int64)
    else:
        broker = pc.binary_join_element_wise(pc.cast(broker, pa.string()), pc.cast(queue, pa.string()), "\0")
        number = np.zeros(size, dtype=np.int64)
    topic = table["topic"]
    if not with_retry:
        topic = pc.if_else(pc.starts_with(topic, RETRY_PREFIX), pa.scalar(None, topic.type), topic)
    load, unknown = _loads(table, weight)
    return pa.table(
        {
            **{key: table[key] for key in keys},
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
    """Weights as integers (decimals in millionths, rounded half to even; 0 for null), and where they are null."""
    unknown = weights.is_null().to_numpy()
    known = pc.fill_null(weights, 0)
    if pa.types.is_integer(weights.type):
        return known.to_numpy().astype(np.int64), unknown
    if not (pa.types.is_floating(weights.type) or pa.types.is_decimal(weights.type)):
        raise UserError(f"weights are {weights.type}, expected numbers")
    scaled = np.rint(known.cast(pa.float64()).to_numpy() * MILLIONTHS)
    if not bool(((scaled >= 0) & (scaled < 1 << 62)).all()):
        raise UserError("a weight is negative, not finite or too large, expected 0 or more")
    return scaled.astype(np.int64), unknown


def _member_shares(table: pa.Table, keys: list[str]) -> pa.Table:
    require("members", table.column_names, [*keys, "member"])
    none = np.zeros(table.num_rows, dtype=np.int64)
    return pa.table(
        {
            **{key: table[key] for key in keys},
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


def fairness_of_shares(shares: pa.Table, keys: list[str], *, unit: int, per_topic: bool) -> pa.Table:
    """Figures from *shares* of whole groups in any order: what one owner (null: nobody) has of 64 neighbouring
    queues (`compare.figures.queues`); the columns are the keys, topic (null: only says that the owner is a member),
    broker, word, owner, load, bits, rows, unknown. Several shares of the same may be merged or not.
    """
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
    queues, unowned, double_owned = count_queues(bits, topics)
    owned = position[in_topic] >= 0
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
        )
    )
    _, group_first = _firsts(group)
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
