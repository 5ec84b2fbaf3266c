"""How big a message is, as a class: small, medium or large by the number of values that it carries.

A value is a number, a text, a flag or nothing (None); records, tuples and mappings count what is in them, mappings
their keys as well. Up to `SMALL` values a message is small (a heartbeat, a commit), up to `MEDIUM` it is medium (a
join answer with a few members), beyond that it is large (the leader's list of a big group).

A timeline as rows of plain values, and the columns they have: what Spark, a data frame or a file gets to read.

Times are milliseconds of virtual time; a queue is its topic, broker (empty for Kafka) and number.

Rows as Arrow tables and Parquet files; pyarrow is imported when it is needed.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from protocols.engine.nodes import Time
from protocols.files import replaced
from protocols.java import Queue
from protocols.timeline.timeline import Timeline

if TYPE_CHECKING:
    import pyarrow as pa


SMALL = 16
MEDIUM = 256
CLASSES = ("small", "medium", "large")


def values_in(message: object) -> int:
    """How many values a message carries; it stops counting once there are more than `MEDIUM`."""
    count = 0
    waiting: list[object] = [message]
    while waiting and count <= MEDIUM:
        each = waiting.pop()
        if isinstance(each, tuple | list | frozenset):
            waiting.extend(each)
        elif isinstance(each, Mapping):
            waiting.extend(each)
            waiting.extend(each.values())
        else:
            count += 1
    return count


def size_class(message: object) -> str:
    """``small``, ``medium`` or ``large``."""
    count = values_in(message)
    return CLASSES[0] if count <= SMALL else CLASSES[1] if count <= MEDIUM else CLASSES[2]


Row: TypeAlias = tuple[object, ...]

_QUEUE: Mapping[str, type] = {"group": str, "topic": str, "broker": str, "queue": int}

COLUMNS: Mapping[str, Mapping[str, type]] = {
    "intervals": {"view": str, **_QUEUE, "owner": str, "from_ms": float, "to_ms": float, "generation": int},
    "rebalances": {
        "group": str,
        "generation": int,
        "began_ms": float,
        "ended_ms": float,
        "trigger": str,
        "by": str,
        "cause": str,
        "cause_ms": float,
        "changed": bool,
        "paused_members": int,
        "longest_pause_ms": float,
        "queue_gaps_ms": float,
    },
    "messages": {
        "type": str,
        "size": str,
        "sender": str,
        "to": str,
        "sent_ms": float,
        "arrives_ms": float,
        "number": int,
        "cause": int,
    },
    "deliveries": {**_QUEUE, "member": str, "first": int, "end": int, "from_ms": float, "to_ms": float},
    "given": {
        **_QUEUE,
        "member": str,
        "first": int,
        "end": int,
        "attempt": int,
        "from_ms": float,
        "due_ms": float,
        "renewed": int,
        "to_ms": float,
        "fate": str,
    },
    "commits": {**_QUEUE, "offset": int, "member": str, "generation": int, "error": str, "back": bool, "at_ms": float},
}
"""Table to its columns and their types. What is not known, or has not ended, is None. ``view`` is ``belief`` or
``grant``. ``messages`` has rows only where the simulation traced."""

LAG: Mapping[str, type] = {"at_ms": float, **_QUEUE, "records": int}
"""What `compare.running.production.lag_of` finds, as rows."""

SNAPSHOT: Mapping[str, Mapping[str, type]] = {
    "ownership": {**_QUEUE, "owner": str},
    "members": {"group": str, "member": str},
}
"""The same for who owns what at one moment, in two tables as `compare.spark.fairness` reads them."""


def rows(timeline: Timeline, table: str) -> Iterator[Row]:
    """The rows of one of the tables in `COLUMNS`, in the order of their times."""
    return _ROWS[table](timeline)


def ownership_at(timeline: Timeline, now: Time, queues: Iterable[tuple[str, Queue]]) -> list[Row]:
    """The rows of `SNAPSHOT`'s ownership at a time (milliseconds): one per queue and owner, by beliefs.

    ``queues``: (group, queue) of all that should be owned then; those without an owner have a row with None.
    """
    held: dict[tuple[str, Queue], dict[str, None]] = {key: {} for key in queues}
    for belief in timeline.beliefs:
        if belief.since <= now and (belief.until is None or belief.until > now):
            key = belief.group, belief.queue
            held[key] = {**held.get(key, {}), belief.member: None}
    return [(group, *queue, owner) for (group, queue), owners in held.items() for owner in owners or (None,)]


def _intervals(timeline: Timeline) -> Iterator[Row]:
    for view, intervals in (("belief", timeline.beliefs), ("grant", timeline.grants)):
        for held in intervals:
            yield view, held.group, *held.queue, held.member, held.since, held.until, held.generation


def _rebalances(timeline: Timeline) -> Iterator[Row]:
    for rebalance in timeline.rebalances:
        yield (
            *(rebalance.group, rebalance.generation, rebalance.began, rebalance.ended),
            *(rebalance.trigger, rebalance.by, rebalance.cause.text, rebalance.cause.at, rebalance.changed),
            *(len(rebalance.paused), max(rebalance.paused.values(), default=0.0), rebalance.queue_gaps),
        )


def _messages(timeline: Timeline) -> Iterator[Row]:
    for message in timeline.trace.messages if timeline.trace else ():
        name, size = type(message.message).__name__, size_class(message.message)
        yield name, size, message.sender, message.to, message.at, message.arrives, message.number, message.cause


def _deliveries(timeline: Timeline) -> Iterator[Row]:
    for done in timeline.deliveries:
        yield done.group, *done.queue, done.member, done.first, done.end, done.since, done.until


def _given(timeline: Timeline) -> Iterator[Row]:
    for each in timeline.given:
        yield each.group, *each.queue, each.member, *each[3:]


def _commits(timeline: Timeline) -> Iterator[Row]:
    for commit in timeline.commits:
        yield (
            *(commit.group, *commit.queue),
            *(commit.offset, commit.member, commit.generation, commit.error, commit.back, commit.at),
        )


_ROWS = {
    "intervals": _intervals,
    "rebalances": _rebalances,
    "messages": _messages,
    "deliveries": _deliveries,
    "given": _given,
    "commits": _commits,
}


def table(rows: Iterable[Row], columns: Mapping[str, type], run: str | None = None) -> "pa.Table":
    """Rows as a table with these columns (`rows.COLUMNS`, `rows.SNAPSHOT`): string, bigint, double and boolean.

    ``run``, if given, is the first column, so that many runs can lie in one table.
    """
    import pyarrow as pa

    arrow: Mapping[type, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    found = list(rows)
    by_column = list(zip(*found, strict=True)) or [()] * len(columns)
    arrays = {
        name: pa.array(values, arrow[kind]) for (name, kind), values in zip(columns.items(), by_column, strict=True)
    }
    if run is not None:
        arrays = {"run": pa.array([run] * len(found), pa.string()), **arrays}
    return pa.table(arrays)


def write_parquet(tables: Mapping[str, Iterable["pa.Table"]], folder: Path) -> list[Path]:
    """Write ``folder/NAME.parquet`` for every name, its tables (with equal columns) one below the other.

    All of them are written before the first takes its place: an interrupted run leaves the old ones. Returns the paths.
    Raises `OSError` where a file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.parquet" for name in tables]
    try:
        with ExitStack() as beside:
            for path, parts in zip(paths, tables.values(), strict=True):
                pq.write_table(pa.concat_tables(parts), beside.enter_context(replaced(path)))
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
    return paths
