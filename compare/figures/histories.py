"""What snapshots of groups (`compare.snapshots`) tell about a time: one record for each group.

A snapshot stands for the time until the next one of its cluster, but for at most twice its polling interval: time in
which nobody watched counts for nothing. The last one stands for one interval. Times are whole milliseconds, scores and
ratios are added up as whole numbers, and each quotient is taken once from exact sums. So it does not matter into which
parts the files were divided (`history_parts`), nor who has counted these.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeAlias, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from compare.figures.history_parts import (
    EXTREMES,
    STORM,
    SUMS,
    UNITS,
    Key,
    Part,
    Slices,
    merged_members,
    merged_topics,
    whole,
    within_an_hour,
)
from compare.figures.standing import DAY_MS, HOUR_MS

Columns: TypeAlias = Mapping[str, Sequence[Any]]
"""Name to values, whole numbers or None, one for each group and day."""

LEAST_DAYS = 3
"""Days that a trend needs."""


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


def records_of(parts: Sequence[Part]) -> list[HistoryRecord]:
    """A record for each group of these parts, in no order that matters."""
    if not parts:
        return []
    groups, tables = _brought_together(parts)
    seen, first_days = _slices(tables["days"])
    of_days = _columns(seen)
    storms, most = _near_storms(tables["hours"], len(groups))
    members, topics = _members(tables["members"]), _topics(tables["topics"])
    days = _days(of_days)
    found = []
    for number, (from_day, to_day) in enumerate(zip(first_days, [*first_days[1:], len(days)], strict=True)):
        at = slice(from_day, to_day)
        sums = {name: sum(of_days[name][at]) for name in (*SUMS, *(f"{name}_sum" for name in UNITS))}
        sums["storm"] += storms[number]
        cluster, system, group = groups[number]
        from_ms, to_ms = of_days["first"][from_day], of_days["last"][to_day - 1]
        has_days = to_ms + of_days["stands"][to_day - 1] - from_ms >= DAY_MS
        came, left, both = members.get(number, (0, 0, 0))
        record: HistoryRecord = {
            "cluster": cluster,
            "system": system,
            "group": group,
            "first": time_of(from_ms),
            "last": time_of(to_ms),
            **_summed(sums),
            "members_came": came,
            "members_left": left,
            "come_and_go": both,
            "score_last": of_days["score"][to_day - 1],
            "score_trend": _trend(*(of_days[name][at] for name in ("day", "score_sum", "score_ms"))),
            "lag_last": of_days["lag"][to_day - 1],
            **_extremes(of_days, at),  # type: ignore[typeddict-item]
            "rebalances_in_an_hour": most[number],
            "days": days[at] if has_days else [],
            "topics": topics.get(number, []),
        }
        found.append(record)
    return found


def _brought_together(parts: Sequence[Part]) -> tuple[list[Key], dict[str, pa.Table]]:
    """All groups, and the parts' tables with indices into them."""
    groups: dict[Key, int] = {}
    tables: dict[str, list[pa.Table]] = {name: [] for name in ("days", "hours", "members", "topics")}
    for part in parts:
        number = np.array([groups.setdefault(key, len(groups)) for key in part.groups], dtype=np.int64)
        for name, those in tables.items():
            table: pa.Table = getattr(part, name)
            at = table.column_names.index("group")
            those.append(table.set_column(at, "group", pa.array(number[table["group"].to_numpy()])))
    merged = {"members": merged_members, "topics": merged_topics}
    return list(groups), {name: merged.get(name, pa.concat_tables)(those) for name, those in tables.items()}


def _slices(days: pa.Table) -> tuple[Slices, list[int]]:
    """Slices of one day of one group each, the part with its last snapshot last, and which of them begin a group."""
    group, day = days["group"].to_numpy(), days["day"].to_numpy()
    order = np.lexsort((days["last"].to_numpy(), day, group))
    group, day = group[order], day[order]
    begins = np.append(True, (group[1:] != group[:-1]) | (day[1:] != day[:-1]))
    starts = np.flatnonzero(begins)
    return Slices(days, order, starts), np.flatnonzero(np.append(True, np.diff(group[starts]) > 0)).tolist()


def _columns(seen: Slices) -> Columns:
    """What each slice comes to: the columns of `Part.days`, and the sums of which these have halves."""
    last = np.append(seen.starts[1:], len(seen.table)) - 1
    halved = {f"{name}_{half}" for name in UNITS for half in ("high", "low")}
    sums = {name: seen.sum(seen.numbers(name)).tolist() for name in (*SUMS, *halved)}
    return {
        **sums,
        **{f"{name}_sum": list(map(whole, sums[f"{name}_high"], sums[f"{name}_low"])) for name in UNITS},
        **{name: seen.extreme(name, of).to_pylist() for name, of in EXTREMES.items()},
        "day": seen.numbers("day")[seen.starts].tolist(),
        "first": seen.extreme("first", np.minimum).to_pylist(),
        **{name: seen.at(name, last).to_pylist() for name in ("last", "stands", "score", "lag")},
    }


def _near_storms(rows: pa.Table, groups: int) -> tuple[list[int], list[int]]:
    """Of each group the milliseconds in a storm that no part could count, and the most rebalances within an hour."""
    storms, most = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    if len(rows):
        ms, number = rows["ms"].to_numpy(), rows["group"].to_numpy()
        moments = (number << int(ms.max() - ms.min() + HOUR_MS).bit_length()) + (ms - ms.min())
        order = np.argsort(moments, kind="stable")
        number = number[order]
        counts = within_an_hour(moments[order], rows["rebalances"].to_numpy()[order])
        np.maximum.at(most, number, counts)
        np.add.at(storms, number, np.where(counts >= STORM, rows["stands"].to_numpy()[order], 0))
    return storms.tolist(), most.tolist()


def _extremes(of_days: Columns, at: slice) -> Any:
    known = {name: [value for value in of_days[name][at] if value is not None] for name in EXTREMES}
    return {
        name: (min if of is np.minimum else max)(known[name]) if known[name] else None for name, of in EXTREMES.items()
    }


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
        "score": _quotient(sums["score_sum"], sums["score_ms"] * UNITS["score"]),
        "lag": _quotient(sums["lag_sum"], sums["lag_ms"]),
        "max_over_mean": _quotient(sums["max_over_mean_sum"], sums["max_over_mean_ms"] * UNITS["max_over_mean"]),
    }


def _days(of_days: Columns) -> list[DayRecord]:
    names = {day: (date(1970, 1, 1) + timedelta(days=day)).isoformat() for day in set(of_days["day"])}
    columns = (
        "day",
        "ms",
        "unfair",
        "idle",
        "moves",
        "rebalances",
        "score_sum",
        "score_ms",
        "lag_sum",
        "lag_ms",
        "lag_max",
    )
    return [
        {
            "day": names[day],
            "hours": ms / HOUR_MS,
            "hours_unfair": unfair / HOUR_MS,
            "hours_idle": idle / HOUR_MS,
            "moves": moves,
            "rebalances": rebalances,
            "score": _quotient(scores, scored * UNITS["score"]),
            "lag": _quotient(lags, lagged),
            "lag_max": most,
        }
        for day, ms, unfair, idle, moves, rebalances, scores, scored, lags, lagged, most in zip(
            *(of_days[name] for name in columns), strict=True
        )
    ]


def _trend(days: Sequence[int], sums: Sequence[int], times: Sequence[int]) -> float | None:
    """Least squares over the daily mean scores, from exact sums."""
    points = [(day, round(of_day / time)) for day, of_day, time in zip(days, sums, times, strict=True) if time]
    if len(points) < LEAST_DAYS:
        return None
    n, x, y = len(points), sum(day for day, _ in points), sum(score for _, score in points)
    xx, xy = sum(day * day for day, _ in points), sum(day * score for day, score in points)
    return (n * xy - x * y) / ((n * xx - x * x) * UNITS["score"])


def _members(members: pa.Table) -> dict[int, tuple[int, int, int]]:
    """Number of a group to how many members came, left, did both, where there are any."""
    both = pc.and_(members["came"], members["left"])
    counted = pa.table({"group": members["group"], "came": members["came"], "left": members["left"], "both": both})
    each = counted.group_by("group").aggregate([("came", "sum"), ("left", "sum"), ("both", "sum")])
    came, left, did_both, number = (
        column.to_pylist() for column in each.select(["came_sum", "left_sum", "both_sum", "group"])
    )
    return dict(zip(number, zip(came, left, did_both, strict=True), strict=True))


def _topics(topics: pa.Table) -> dict[int, list[TopicRecord]]:
    """Number of a group to its topics that pile up, the longest first."""
    found: dict[int, list[TopicRecord]] = {}
    for row in topics.sort_by([("group", "ascending"), ("ms", "descending"), ("topic", "ascending")]).to_pylist():
        record: TopicRecord = {
            "topic": row["topic"],
            "hours": row["ms"] / HOUR_MS,
            "max_over_mean_max": row["max_over_mean"],
            "lag_max": row["lag"],
        }
        found.setdefault(row["group"], []).append(record)
    return found


def _quotient(above: int, below: int) -> float | None:
    return above / below if below else None


def time_of(ms: int) -> str:
    """Milliseconds since 1970 as ISO 8601."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
