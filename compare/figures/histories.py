"""What snapshots of groups (`compare.snapshots`) tell about a time: one record for each group.

A snapshot stands for the time until the next one of its cluster, but for at most twice its polling interval: time in
which nobody watched counts for nothing. The last one stands for one interval. Times are whole milliseconds, scores and
ratios are added up as whole numbers, and each quotient is taken once from exact sums. `records_of` counts any number of
whole groups: all of them here, or some at a time wherever Spark has them, with the same bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from compare.figures.last_step import Flags, Integers
from compare.figures.standing import KEYS, differs

TOPIC_FIELDS = ("topic", "min", "max", "max_over_mean", "lag")
COUNTED = ("idle_members", "unowned_queues", "double_owned_queues", "moves", "rebalances", "distance", "lag")
MEASURED = ("score", "max_over_mean", "pile_up")
"""Columns of a snapshot that are read, besides its time, its group, ``joined``, ``left`` and ``topics``."""

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
LEAST_DAYS = 3
"""Days that a trend needs."""
STORM = 5
"""Rebalances within an hour from which on they are a storm: one restart of a member makes two."""
_SCORES, _RATIOS = 1_000_000, 10_000
"""What one point of a score and a ratio of one are counted as."""
_EXACT = 2**62


class Unfair(NamedTuple):
    """When a group counts as unfair: a column of numbers, a comparison (`operator.gt`), and a limit. Null is neither
    fair nor unfair."""

    column: str
    compare: Callable[[Any, Any], Any]
    limit: float


class DayRecord(TypedDict):
    """A group on one day (UTC)."""

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
    the same members (``pile_up`` above 0)."""

    topic: str
    hours: float
    max_over_mean_max: float | None
    lag_max: int | None


class HistoryRecord(TypedDict):
    """One group. ``hours``: time that the snapshots stand for; ``hours_unknown``: those of them in which the column of
    the condition is null. ``rebalances``: at least so many; ``rebalances_in_an_hour``: the most within one;
    ``hours_storm``: those at whose end there had been `STORM` or more within an hour. ``members_came``,
    ``members_left``, ``come_and_go``: ids that came, left, did both. What is by day is null or empty for less than a
    day: ``moves_per_day`` and ``rebalances_per_day`` for less than 24 hours watched, ``days`` where first and last
    snapshot are not that far apart, ``score_trend`` (points per day) for fewer than `LEAST_DAYS` days."""

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
    hours_storm: float
    moves: int
    moves_per_day: float | None
    rebalances: int
    rebalances_per_day: float | None
    rebalances_in_an_hour: int
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


class _Rows:
    """The columns of snapshots as arrays, and the slices that hold one group or one day of one group each."""

    def __init__(self, rows: pa.Table) -> None:
        self.table = rows
        self.ms: Integers = rows["ms"].to_numpy()
        self.stands: Integers = rows["stands"].to_numpy()
        day = self.ms // DAY_MS
        begins = differs(rows, KEYS)
        self.groups = np.flatnonzero(begins)
        self.days = np.flatnonzero(begins | np.append(True, day[1:] != day[:-1]))
        self.day: Integers = day[self.days]

    def known(self, name: str) -> Flags:
        """Where the column is not null."""
        flags: Flags = self.table[name].is_valid().to_numpy()
        return flags

    def numbers(self, name: str) -> Any:
        """The column, 0 where it is null: an array of int64 or float64, whichever it holds."""
        return pc.fill_null(self.table[name], 0).to_numpy()

    def time(self, holds: Flags) -> Integers:
        """Milliseconds per day of a group in which it holds."""
        return self.sum(np.where(holds, self.stands, 0))

    def sum(self, values: Integers) -> Integers:
        """Per day of a group."""
        summed: Integers = np.add.reduceat(values, self.days)
        return summed

    def weighed(self, name: str, unit: int) -> Integers:
        """The column times the time that it stands, in units, per day of a group: exact, however large."""
        whole: Integers = np.rint(self.numbers(name) * unit).astype(np.int64) if unit > 1 else self.numbers(name)
        stands: Integers = self.stands
        if float(np.abs(whole).max()) * float(stands.max()) * len(whole) >= _EXACT:
            whole, stands = whole.astype(object), stands.astype(object)
        return self.sum(whole * stands)

    def extreme(self, name: str, of: "np.ufunc", slices: "npt.NDArray[np.intp]") -> list[Any]:
        """Least or most per slice, None where nothing is known."""
        worst = pc.max(self.table[name]) if of is np.minimum else pc.min(self.table[name])
        if not worst.is_valid:
            return [None] * len(slices)
        filled = of.reduceat(pc.fill_null(self.table[name], worst).to_numpy(), slices)
        some = np.logical_or.reduceat(self.known(name), slices)
        return [value if known else None for value, known in zip(filled.tolist(), some.tolist(), strict=True)]


def records_of(rows: pa.Table, unfair: Unfair) -> list[HistoryRecord]:
    """A record for each group, in the order of ``rows``: its snapshots, those of one group together and in order of
    time, with the columns `KEYS`, ``ms`` (since 1970), ``stands`` (`standing.timed`), `COUNTED`, `MEASURED`,
    ``joined``, ``left`` and ``topics`` (lists of structs of `TOPIC_FIELDS`, null at will where ``pile_up`` is 0)."""
    if not rows.num_rows:
        return []
    seen = _Rows(rows.combine_chunks())
    is_known = seen.known(unfair.column)
    is_unfair = is_known & unfair.compare(seen.numbers(unfair.column), unfair.limit)
    rebalances = _rebalances(seen)
    within_an_hour = _within_an_hour(seen, rebalances)
    of_days = {
        **_sums(seen),
        "unfair": seen.time(is_unfair),
        "unknown": seen.time(~is_known),
        "storm": seen.time(within_an_hour >= STORM),
        "rebalances": seen.sum(rebalances),
    }
    first_days = np.searchsorted(seen.days, seen.groups)
    of_groups = {name: np.add.reduceat(values, first_days).tolist() for name, values in of_days.items()}
    days = _days(seen, {name: values.tolist() for name, values in of_days.items()})
    extremes = {
        "score_min": seen.extreme("score", np.minimum, seen.groups),
        **{f"{name}_max": seen.extreme(name, np.maximum, seen.groups) for name in ("max_over_mean", "distance", "lag")},
        "rebalances_in_an_hour": np.maximum.reduceat(within_an_hour, seen.groups).tolist(),
    }
    last_rows = np.append(seen.groups[1:], len(seen.ms)) - 1
    names = seen.table.select([*KEYS, "score", "lag"])
    firsts = names.take(pa.array(seen.groups)).to_pylist()
    lasts = names.take(pa.array(last_rows)).to_pylist()
    members, topics = _members(seen), _topics(seen, is_unfair)
    end_days = [*first_days[1:].tolist(), len(seen.days)]
    found = []
    for number, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        sums = {name: values[number] for name, values in of_groups.items()}
        from_day, to_day = int(first_days[number]), end_days[number]
        from_ms, to_ms = int(seen.ms[seen.groups[number]]), int(seen.ms[last_rows[number]])
        has_days = to_ms + int(seen.stands[last_rows[number]]) - from_ms >= DAY_MS
        of_group = days[from_day:to_day]
        came, left = members.get(number, (set(), set()))
        record: HistoryRecord = {
            "cluster": first["cluster"],
            "system": first["system"],
            "group": first["group"],
            "first": time_of(from_ms),
            "last": time_of(to_ms),
            **_summed(sums),
            "members_came": len(came),
            "members_left": len(left),
            "come_and_go": len(came & left),
            "score_last": last["score"],
            "score_trend": _trend(seen.day[from_day:to_day].tolist(), of_days, from_day),
            "lag_last": last["lag"],
            **{name: values[number] for name, values in extremes.items()},  # type: ignore[typeddict-item]
            "days": of_group if has_days else [],
            "topics": topics.get(number, []),
        }
        found.append(record)
    return found


def _sums(seen: _Rows) -> dict[str, Integers]:
    """Per day of a group, what only the columns decide."""
    found = {
        "snapshots": seen.sum(np.ones_like(seen.ms)),
        "ms": seen.sum(seen.stands),
        "idle": seen.time(seen.numbers("idle_members") > 0),
        "unowned": seen.time(seen.numbers("unowned_queues") > 0),
        "double_owned": seen.time(seen.numbers("double_owned_queues") > 0),
        "moves": seen.sum(seen.numbers("moves")),
        "joined": seen.sum(_lengths(seen, "joined")),
        "left": seen.sum(_lengths(seen, "left")),
    }
    for name, unit in (("score", _SCORES), ("max_over_mean", _RATIOS), ("lag", 1)):
        found[f"{name}_sum"], found[f"{name}_ms"] = seen.weighed(name, unit), seen.time(seen.known(name))
    return found


def _summed(sums: Mapping[str, int]) -> Any:
    """What follows from a group's sums."""
    is_a_day = sums["ms"] >= DAY_MS
    return {
        "snapshots": sums["snapshots"],
        "hours": sums["ms"] / HOUR_MS,
        "hours_unfair": sums["unfair"] / HOUR_MS,
        "unfair_share": _quotient(sums["unfair"], sums["ms"] - sums["unknown"]),
        "hours_unknown": sums["unknown"] / HOUR_MS,
        "hours_idle": sums["idle"] / HOUR_MS,
        "hours_unowned": sums["unowned"] / HOUR_MS,
        "hours_double_owned": sums["double_owned"] / HOUR_MS,
        "hours_storm": sums["storm"] / HOUR_MS,
        "moves": sums["moves"],
        "moves_per_day": sums["moves"] * DAY_MS / sums["ms"] if is_a_day else None,
        "rebalances": sums["rebalances"],
        "rebalances_per_day": sums["rebalances"] * DAY_MS / sums["ms"] if is_a_day else None,
        "joined": sums["joined"],
        "left": sums["left"],
        "score": _quotient(sums["score_sum"], sums["score_ms"] * _SCORES),
        "lag": _quotient(sums["lag_sum"], sums["lag_ms"]),
        "max_over_mean": _quotient(sums["max_over_mean_sum"], sums["max_over_mean_ms"] * _RATIOS),
    }


def _days(seen: _Rows, of_days: Mapping[str, Sequence[int]]) -> list[DayRecord]:
    most = seen.extreme("lag", np.maximum, seen.days)
    found = []
    for number, day in enumerate(seen.day.tolist()):
        sums = {name: values[number] for name, values in of_days.items()}
        record: DayRecord = {
            "day": (date(1970, 1, 1) + timedelta(days=day)).isoformat(),
            "hours": sums["ms"] / HOUR_MS,
            "hours_unfair": sums["unfair"] / HOUR_MS,
            "hours_idle": sums["idle"] / HOUR_MS,
            "moves": sums["moves"],
            "rebalances": sums["rebalances"],
            "score": _quotient(sums["score_sum"], sums["score_ms"] * _SCORES),
            "lag": _quotient(sums["lag_sum"], sums["lag_ms"]),
            "lag_max": most[number],
        }
        found.append(record)
    return found


def _trend(days: Sequence[int], of_days: Mapping[str, Integers], start: int) -> float | None:
    """Least squares over the daily mean scores, from exact sums."""
    points = []
    for number, day in enumerate(days, start):
        time = int(of_days["score_ms"][number])
        if time:
            points.append((day, round(int(of_days["score_sum"][number]) / time)))
    if len(points) < LEAST_DAYS:
        return None
    n, x, y = len(points), sum(day for day, _ in points), sum(score for _, score in points)
    xx, xy = sum(day * day for day, _ in points), sum(day * score for day, score in points)
    return (n * xy - x * y) / ((n * xx - x * x) * _SCORES)


def _rebalances(seen: _Rows) -> Integers:
    """Those that each snapshot has seen; one of a version that did not count them has seen one where something
    changed."""
    changed = (seen.numbers("moves") > 0) | (_lengths(seen, "joined") > 0) | (_lengths(seen, "left") > 0)
    counted: Integers = np.where(seen.known("rebalances"), seen.numbers("rebalances"), changed)
    return counted


def _within_an_hour(seen: _Rows, rebalances: Integers) -> Integers:
    """How many there were in the hour up to each snapshot, in its group."""
    done = np.cumsum(rebalances)
    found = np.empty_like(done)
    for start, end in zip(seen.groups.tolist(), [*seen.groups[1:].tolist(), len(done)], strict=True):
        ms, of_group = seen.ms[start:end], done[start:end]
        before = np.searchsorted(ms, ms - HOUR_MS, side="right") - 1
        found[start:end] = of_group - np.where(before >= 0, of_group[before], of_group[0] - rebalances[start])
    return found


def _lengths(seen: _Rows, name: str) -> Integers:
    lengths: Integers = pc.fill_null(pc.list_value_length(seen.table[name]), 0).to_numpy().astype(np.int64)
    return lengths


def _members(seen: _Rows) -> dict[int, tuple[set[str], set[str]]]:
    """Number of a group to the members that came and those that left, where there are any."""
    found: dict[int, tuple[set[str], set[str]]] = {}
    some = np.flatnonzero((_lengths(seen, "joined") > 0) | (_lengths(seen, "left") > 0))
    numbers = np.searchsorted(seen.groups, some, side="right") - 1
    listed = seen.table.select(["joined", "left"]).take(pa.array(some)).to_pylist()
    for number, row in zip(numbers.tolist(), listed, strict=True):
        came, left = found.setdefault(number, (set(), set()))
        came.update(row["joined"] or ())
        left.update(row["left"] or ())
    return found


def _topics(seen: _Rows, is_unfair: Flags) -> dict[int, list[TopicRecord]]:
    """Number of a group to its topics that pile up, the longest first."""
    rows = np.flatnonzero(is_unfair & (seen.numbers("pile_up") > 0) & seen.known("topics"))
    if not len(rows):
        return {}
    lists = seen.table["topics"].take(pa.array(rows)).combine_chunks()
    of_row = rows[pc.list_parent_indices(lists).to_numpy()]
    structs = pc.list_flatten(lists)
    fields = {name: pc.struct_field(structs, name) for name in TOPIC_FIELDS}
    flat = pa.table(
        {**fields, "number": np.searchsorted(seen.groups, of_row, side="right") - 1, "ms": seen.stands[of_row]}
    ).filter(pc.greater(fields["max"], fields["min"]))
    summed = flat.group_by(["number", "topic"]).aggregate([("ms", "sum"), ("max_over_mean", "max"), ("lag", "max")])
    found: dict[int, list[TopicRecord]] = {}
    for row in summed.sort_by([("number", "ascending"), ("ms_sum", "descending"), ("topic", "ascending")]).to_pylist():
        record: TopicRecord = {
            "topic": row["topic"],
            "hours": row["ms_sum"] / HOUR_MS,
            "max_over_mean_max": row["max_over_mean_max"],
            "lag_max": row["lag_max"],
        }
        found.setdefault(row["number"], []).append(record)
    return found


def _quotient(above: int, below: int) -> float | None:
    return above / below if below else None


def time_of(ms: int) -> str:
    """Milliseconds since 1970 as ISO 8601."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
