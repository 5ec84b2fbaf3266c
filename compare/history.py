"""The verb `history`: which files of a folder hold snapshots, which are left out and why, what counts them, and the
document of that.

`history --format json` writes the document, tables and report are made of it:

    {"unfair": "distance > 0", "from": ..., "to": ..., "snapshots": ..., "clusters": [...],
     "groups": [HistoryRecord, ...], "left_out": [{"file", "why"}, ...]}

Groups come worst first (`_rank`). Nothing is rounded, null is what no snapshot tells. Times are ISO 8601 in UTC. Means
are over time.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias, TypedDict, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from compare.figures.histories import HistoryRecord, records_of
from compare.figures.history_parts import COUNTED, MEASURED, TOPIC_FIELDS, Part, Unfair, part_of
from compare.figures.standing import Standing, polls_of, standing
from compare.snapshots import SNAPSHOTS, VERSION, VERSION_KEY, snapshot_files, snapshot_schema, superseded
from protocols import UserError

SPARK_STARTS_S, SPARK_S, LOCAL_S = 12.0, 0.5, 0.38
"""Measured (benchmarks/README.md): seconds that Spark's start takes, processor seconds for a million of groups and
topics of groups on it, and here."""

ROWS_OF_PART = 500_000
"""Rows of snapshots that are counted at once, unless a file has more."""

_NAMES = ["system", "group"]
_DAMAGED = (pa.ArrowException, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not counted."""

    file: str
    why: str


@dataclass(frozen=True, slots=True)
class Selection:
    """``root``: the folder ``snapshots``. ``files``: those to read, None for all in it."""

    root: str
    files: tuple[str, ...] | None
    left_out: tuple[LeftOut, ...] = ()


def selected(folder: str, since: date | None, until: date | None, clusters: Sequence[str]) -> Selection:
    """The files of these days and clusters (all, where none are named).

    Of another file system than the local one everything is read, and Spark chooses. `UserError` where there is no
    snapshot.
    """
    if "://" in folder:
        return Selection(f"{folder.rstrip('/')}/{SNAPSHOTS}", None)
    place = Path(folder)
    if not os.path.isdir(place):
        raise UserError(f"{folder}: there is no such folder, expected one that `equipoise watch --out` has written")
    every = list(snapshot_files(place))
    if not every:
        raise UserError(f"{folder}: no snapshots, expected a folder that `equipoise watch --out` has written")
    superfluous = superseded(every)
    chosen = [
        each.path
        for each in every
        if each.path not in superfluous
        and (since is None or each.day >= since)
        and (until is None or each.day <= until)
        and (not clusters or each.cluster in clusters)
    ]
    if not chosen:
        raise UserError(f"{folder}: no snapshots of these days and clusters, expected others of the {len(every)} files")
    left_out = [LeftOut(str(path), why) for path in chosen if (why := _fault_of_footer(path)) is not None]
    without = {each.file for each in left_out}
    files = tuple(str(path) for path in chosen if str(path) not in without)
    if not files:
        raise UserError(f"{folder}: no readable snapshots: {left_out[0].file}: {left_out[0].why}")
    root = place / SNAPSHOTS
    there = sum(not path.name.startswith(".") for path in root.rglob("*.parquet"))
    return Selection(str(root), None if len(files) == there else files, tuple(left_out))


def thoroughly(selection: Selection) -> Selection:
    """The selection without the files of which any part cannot be read; every byte of every file is looked at."""
    files = _files(selection)
    faults = [LeftOut(file, why) for file in files if (why := _fault_inside(file)) is not None]
    without = {fault.file for fault in faults}
    readable = tuple(file for file in files if file not in without)
    if faults and not readable:
        raise UserError(f"{selection.root}: no readable snapshots: {faults[0].file}: {faults[0].why}")
    return Selection(selection.root, readable, (*selection.left_out, *faults))


def _fault_of_footer(path: Path) -> str | None:
    try:
        schema = pq.read_schema(path)
    except _DAMAGED as error:
        return f"damaged: {_first_line(error)}"
    version = (schema.metadata or {}).get(VERSION_KEY)
    if version is None:
        return "not a snapshot of `equipoise watch`"
    if version != VERSION.encode():
        return f"a snapshot of version {version.decode('utf-8', 'replace')}, expected {VERSION}"
    wanted = snapshot_schema()
    wrong = [
        name for name in schema.names if name in wanted.names and schema.field(name).type != wanted.field(name).type
    ]
    return f"column {wrong[0]} holds {schema.field(wrong[0]).type}" if wrong else None


def _fault_inside(file: str) -> str | None:
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as opened:
            for group in range(opened.num_row_groups):
                opened.read_row_group(group)
    except _DAMAGED as error:
        return f"damaged: {_first_line(error)}"
    return None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


Days = tuple[date | None, date | None]
Source: TypeAlias = str | pa.BufferReader
Files: TypeAlias = Iterator[tuple[str, Source]]
T = TypeVar("T")


class _UnreadableError(Exception):
    """A file that turns out to be damaged, in the words of who reads it."""


def counted(
    selection: Selection, unfair: Unfair, groups: Sequence[str], engine: str, clusters: Sequence[str], days: Days
) -> tuple[list[HistoryRecord], Selection]:
    """The records of all groups, in any order, and the selection without the files that turn out to be damaged: where
    one cannot be read, every file is looked at.

    ``engine``: ``local``, ``spark``, or ``auto``, which chooses by the number of rows; ``clusters`` and ``days``: of an
    address that only Spark reads. `UserError` where nothing is left.
    """
    remote = "://" in selection.root
    if engine == "local" and remote:
        raise UserError(f"{selection.root}: --engine local reads only local folders, expected --engine spark")
    if engine == "auto":
        pays = not remote and spark_pays(_size(selection), os.cpu_count() or 1) and find_spec("pyspark") is not None
        engine = "spark" if remote or pays else "local"

    def count(of: Selection) -> list[HistoryRecord]:
        job = _local if engine == "local" else partial(_on_spark, clusters, days)
        polls = standing(job(of, lambda files: (_polls(*file) for file in files)))
        return records_of(job(of, lambda files: _parts(files, polls, unfair, groups)))

    try:
        return count(selection), selection
    except _UnreadableError as error:
        why = f"{selection.root}: {error}, expected snapshots of `equipoise watch`"
    rest = selection if remote else thoroughly(selection)
    if rest.left_out == selection.left_out:
        raise UserError(why)
    return count(rest), rest


def _local(selection: Selection, job: Callable[[Files], Iterable[T]]) -> list[T]:
    try:
        return list(job((file, file) for file in _files(selection)))
    except _DAMAGED as error:
        raise _UnreadableError(_first_line(error)) from None


def _on_spark(
    clusters: Sequence[str], days: Days, selection: Selection, job: Callable[[Files], Iterable[T]]
) -> list[T]:
    from compare.figures.spark.history import over_files, paths_below
    from compare.figures.spark.sessions import SparkError, first_line, session

    is_local = "://" not in selection.root
    try:
        if is_local:
            files = list(_files(selection))
        else:
            files = [path for path in paths_below(session(), selection.root) if _asked_for(path, clusters, days)]
        return over_files(session(), files, job, is_local=is_local) if files else []
    except (*SparkError, OSError) as error:
        raise _UnreadableError(first_line(error)) from None


def _asked_for(path: str, clusters: Sequence[str], days: Days) -> bool:
    """Is a file at an address, by the names of its folders, of these clusters and days?"""
    *_, day, cluster, _ = ["", "", *path.split("/")]
    first, last = (bound.isoformat() if bound is not None else None for bound in days)
    of_day = day.removeprefix("day=")
    is_in_time = (first is None or of_day >= first) and (last is None or of_day <= last)
    return is_in_time and (not clusters or cluster.removeprefix("cluster=") in clusters)


def _polls(path: str, source: Source) -> tuple[str, pa.Table]:
    """The cluster and the polls of a file."""
    return _cluster(path), polls_of(_read(source, ["ms", "every_s"]))


def _parts(files: Files, polls: Mapping[str, Standing], unfair: Unfair, groups: Sequence[str]) -> Iterator[Part]:
    """The parts of these files, some hundred thousand rows each."""
    wanted = ["system", "group", "ms", *COUNTED, *MEASURED, "joined", "left", "topics", unfair.column]
    names = pa.array(groups, pa.string())
    waiting: list[tuple[str, pa.Table]] = []
    for path, source in files:
        rows = _read(source, list(dict.fromkeys(wanted)))
        if groups:
            rows = rows.filter(pc.is_in(rows["group"].cast(pa.string()), names))
        if len(rows):
            waiting.append((_cluster(path), rows))
        if sum(len(rows) for _, rows in waiting) >= ROWS_OF_PART:
            yield part_of(waiting, polls, unfair)
            waiting = []
    if waiting:
        yield part_of(waiting, polls, unfair)


def _cluster(path: str) -> str:
    return Path(path).parent.name.removeprefix("cluster=")


def _read(source: Source, columns: Sequence[str]) -> pa.Table:
    """These columns of a file, null where it lacks one; ``ms`` is told by the column ``at``. Names are dictionaries,
    and of topics there is only what is counted."""
    schema = snapshot_schema()
    with pq.ParquetFile(source, page_checksum_verification=True, read_dictionary=_NAMES) as opened:
        there = opened.schema_arrow.names
        wanted = [name for name in ("at", *columns) if name in there and name != "topics"]
        of_topics = [f"topics.list.element.{name}" for name in TOPIC_FIELDS] if "topics" in columns else []
        table = opened.read([*wanted, *(of_topics if "topics" in there else ())])
    topic = pa.struct([schema.field("topics").type.value_type.field(name) for name in TOPIC_FIELDS])
    rows = table.num_rows
    at = table["at"] if "at" in there else pa.nulls(rows, pa.timestamp("ms"))
    found = {"ms": at.cast(pa.int64())}
    for name in columns:
        if name not in found:
            plain = pa.list_(topic) if name == "topics" else schema.field(name).type
            type = pa.dictionary(pa.int32(), plain) if name in _NAMES else plain
            found[name] = table[name].cast(type) if name in there else pa.nulls(rows, type)
    told = pa.table({name: found[name] for name in columns})
    return told.filter(pc.is_valid(at)) if at.null_count else told


def _files(selection: Selection) -> Sequence[str]:
    if selection.files is not None:
        return selection.files
    return tuple(str(file.path) for file in snapshot_files(Path(selection.root).parent))


def spark_pays(size: int, processors: int) -> bool:
    """Whether so many groups and topics of groups in all snapshots are counted sooner by Spark on all processors than
    by one of them here: on two from 93 million on, on eight from 38 million on."""
    return size / 1e6 * (LOCAL_S - SPARK_S / processors) > SPARK_STARTS_S


def _size(selection: Selection) -> int:
    """Groups and topics of groups in all snapshots."""
    size = 0
    for file in _files(selection):
        about = pq.read_metadata(file)
        names = [about.schema.column(number).path for number in range(about.num_columns)]
        at = names.index("topics.list.element.topic") if "topics.list.element.topic" in names else None
        for number in range(about.num_row_groups):
            group = about.row_group(number)
            size += group.num_rows + (0 if at is None else group.column(at).num_values)
    return size


_Span = TypedDict("_Span", {"from": str | None, "to": str | None})


class HistoryDocument(_Span):
    """The whole document."""

    unfair: str
    snapshots: int
    clusters: list[str]
    groups: list[HistoryRecord]
    left_out: list[Mapping[str, str]]


def document(groups: Sequence[HistoryRecord], unfair: str, left_out: Sequence[LeftOut]) -> HistoryDocument:
    """The whole document; ``unfair``: the condition as the user wrote it."""
    return {
        "unfair": unfair,
        "from": min((group["first"] for group in groups), default=None),
        "to": max((group["last"] for group in groups), default=None),
        "snapshots": sum(group["snapshots"] for group in groups),
        "clusters": sorted({group["cluster"] for group in groups}),
        "groups": sorted(groups, key=_rank),
        "left_out": [{"file": each.file, "why": each.why} for each in left_out],
    }


STORMY = 0.01
"""Part of a group's time in a storm from which on the group comes before all that have none: less is a restart."""


def _rank(group: HistoryRecord) -> tuple[object, ...]:
    """The worst first: groups in a storm, by its part of their time, whatever their score is between rebalances; then
    by the lowest mean score and the most hours unfair."""
    storm = group["hours_storm"] / group["hours"] if group["hours"] else 0.0
    score = group["score"]
    worst = (-storm if storm >= STORMY else 0.0, score is None, score or 0.0, -group["hours_unfair"], -group["moves"])
    return (*worst, group["cluster"], group["system"], group["group"])
