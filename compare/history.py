"""The verb `history`: which files of a folder hold snapshots, which are left out and why, and the document of what
Spark counts in them.

`history --format json` writes the document, tables and report are made of it:

    {"unfair": "distance > 0", "from": ..., "to": ..., "snapshots": ..., "clusters": [...],
     "groups": [HistoryRecord, ...], "left_out": [{"file", "why"}, ...]}

Groups come worst first: the lowest mean score, then the most hours unfair. Nothing is rounded, null is what no snapshot
tells. Times are ISO 8601 in UTC. Means are over time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

import pyarrow as pa
import pyarrow.parquet as pq

from compare.figures.spark.history import KEYS, RATIOS, SCORES, HistoryTables
from compare.snapshots import SNAPSHOTS, VERSION, VERSION_KEY, snapshot_files, snapshot_schema, superseded
from protocols import UserError

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
    if not place.is_dir():
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
    files = selection.files or tuple(str(file.path) for file in snapshot_files(Path(selection.root).parent))
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


HOUR_MS, DAY_HOURS = 3_600_000, 24
LEAST_DAYS = 3
"""Days that a trend needs."""

_Key = tuple[str, str, str]
_Row: TypeAlias = Mapping[str, Any]
"""Of a table, as Arrow gives it."""


class DayRecord(TypedDict):
    """A group on one day (UTC); ``rebalances``: those that began then."""

    day: str
    hours: float
    hours_unfair: float
    hours_idle: float
    moves: int
    rebalances: int
    score: float | None
    lag: float | None
    lag_max: int | None


class TopicRecord(TypedDict):
    """A topic that piles up: ``hours`` in which it was shared unevenly while its group was unfair and its topics loaded
    the same members."""

    topic: str
    hours: float
    max_over_mean_max: float | None
    lag_max: int | None


class HistoryRecord(TypedDict):
    """One group. ``hours``: time that the snapshots stand for; ``hours_unknown``: those of them in which the column of
    the condition is null. ``members_came``, ``members_left``, ``come_and_go``: ids that came, left, did both.
    ``score_trend``: points per day, null for fewer than `LEAST_DAYS` days."""

    cluster: str
    system: str
    group: str
    first: str
    last: str
    snapshots: int
    hours: float
    hours_unfair: float
    unfair_share: float | None
    hours_unknown: float
    hours_idle: float
    hours_unowned: float
    hours_double_owned: float
    moves: int
    moves_per_day: float | None
    rebalances: int
    rebalances_per_day: float | None
    longest_rebalance_s: float
    joined: int
    left: int
    members_came: int
    members_left: int
    come_and_go: int
    score: float | None
    score_min: float | None
    score_last: float | None
    score_trend: float | None
    max_over_mean: float | None
    max_over_mean_max: float | None
    distance_max: int | None
    lag: float | None
    lag_max: int | None
    lag_last: int | None
    days: list[DayRecord]
    topics: list[TopicRecord]


HistoryDocument = TypedDict(
    "HistoryDocument",
    {
        "unfair": str,
        "from": str | None,
        "to": str | None,
        "snapshots": int,
        "clusters": list[str],
        "groups": list[HistoryRecord],
        "left_out": list[Mapping[str, str]],
    },
)


def document(tables: HistoryTables, unfair: str, left_out: Sequence[LeftOut]) -> HistoryDocument:
    """The whole document; ``unfair``: the condition as the user wrote it."""
    rebalances: dict[_Key, dict[int, _Row]] = {}
    for row in tables.rebalances.to_pylist():
        rebalances.setdefault(_key(row), {})[row["day"]] = row
    members = {_key(row): row for row in tables.members.to_pylist()}
    topics: dict[_Key, list[TopicRecord]] = {}
    for row in tables.topics.to_pylist():
        topics.setdefault(_key(row), []).append(
            {
                "topic": row["topic"],
                "hours": row["ms"] / HOUR_MS,
                "max_over_mean_max": row["max_over_mean_max"],
                "lag_max": row["lag_max"],
            }
        )
    groups = []
    for row in tables.groups.to_pylist():
        key = _key(row)
        found = sorted(topics.get(key, []), key=lambda topic: (-topic["hours"], topic["topic"]))
        groups.append(_group(row, rebalances.get(key, {}), members.get(key, {}), found))
    groups.sort(key=_rank)
    return {
        "unfair": unfair,
        "from": min((group["first"] for group in groups), default=None),
        "to": max((group["last"] for group in groups), default=None),
        "snapshots": sum(group["snapshots"] for group in groups),
        "clusters": sorted({group["cluster"] for group in groups}),
        "groups": groups,
        "left_out": [{"file": each.file, "why": each.why} for each in left_out],
    }


def _key(row: _Row) -> _Key:
    cluster, system, group = (str(row[name]) for name in KEYS)
    return cluster, system, group


def _rank(group: HistoryRecord) -> tuple[object, ...]:
    score = group["score"]
    worst = (score is None, score or 0.0, -group["hours_unfair"], -group["moves"])
    return (*worst, group["cluster"], group["system"], group["group"])


def _group(
    row: _Row, rebalances: Mapping[int, _Row], members: Mapping[str, int], topics: list[TopicRecord]
) -> HistoryRecord:
    cluster, system, group = _key(row)
    hours, moves = row["ms"] / HOUR_MS, row["moves"] or 0
    count = sum(rebalance["rebalances"] for rebalance in rebalances.values())
    return {
        "cluster": cluster,
        "system": system,
        "group": group,
        "first": time_of(row["first_ms"]),
        "last": time_of(row["last_ms"]),
        "snapshots": row["snapshots"],
        "hours": hours,
        "hours_unfair": row["unfair_ms"] / HOUR_MS,
        "unfair_share": _quotient(row["unfair_ms"], row["ms"] - row["unknown_ms"]),
        "hours_unknown": row["unknown_ms"] / HOUR_MS,
        "hours_idle": row["idle_ms"] / HOUR_MS,
        "hours_unowned": row["unowned_ms"] / HOUR_MS,
        "hours_double_owned": row["double_owned_ms"] / HOUR_MS,
        "moves": moves,
        "moves_per_day": _quotient(moves * DAY_HOURS * HOUR_MS, row["ms"]),
        "rebalances": count,
        "rebalances_per_day": _quotient(count * DAY_HOURS * HOUR_MS, row["ms"]),
        "longest_rebalance_s": max((rebalance["longest_ms"] for rebalance in rebalances.values()), default=0) / 1000,
        "joined": row["joined"] or 0,
        "left": row["left"] or 0,
        "members_came": members.get("came", 0),
        "members_left": members.get("left", 0),
        "come_and_go": members.get("come_and_go", 0),
        "score": _quotient(row["score_sum"], row["score_ms"] * SCORES),
        "score_min": row["score_min"],
        "score_last": row["score_last"],
        "score_trend": _trend(row),
        "max_over_mean": _quotient(row["max_over_mean_sum"], row["max_over_mean_ms"] * RATIOS),
        "max_over_mean_max": row["max_over_mean_max"],
        "distance_max": row["distance_max"],
        "lag": _quotient(row["lag_sum"], row["lag_ms"]),
        "lag_max": row["lag_max"],
        "lag_last": row["lag_last"],
        "days": [_day(day, rebalances) for day in row["days"]],
        "topics": topics,
    }


def _day(row: _Row, rebalances: Mapping[int, _Row]) -> DayRecord:
    began = rebalances.get(row["day"])
    return {
        "day": (date(1970, 1, 1) + timedelta(days=row["day"])).isoformat(),
        "hours": row["ms"] / HOUR_MS,
        "hours_unfair": row["unfair_ms"] / HOUR_MS,
        "hours_idle": row["idle_ms"] / HOUR_MS,
        "moves": row["moves"] or 0,
        "rebalances": began["rebalances"] if began is not None else 0,
        "score": _quotient(row["score_sum"], row["score_ms"] * SCORES),
        "lag": _quotient(row["lag_sum"], row["lag_ms"]),
        "lag_max": row["lag_max"],
    }


def _trend(row: _Row) -> float | None:
    """Least squares over the daily mean scores, from exact sums."""
    n = row["trend_n"]
    if n < LEAST_DAYS:
        return None
    x, y, xx, xy = (int(row[f"trend_{name}"]) for name in ("x", "y", "xx", "xy"))
    slope: float = (n * xy - x * y) / ((n * xx - x * x) * SCORES)
    return slope


def _quotient(above: int | None, below: int) -> float | None:
    return above / below if above is not None and below else None


def time_of(ms: int) -> str:
    """Milliseconds since 1970 as ISO 8601."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
