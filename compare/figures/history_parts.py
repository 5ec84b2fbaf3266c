"""What some files of snapshots tell of each group, as sums that other files' can be added to (`histories.records_of`).

Files become parts where they lie, some hundred thousand rows at a time, and only the parts are brought together: a row
for each group and day instead of one for each poll. All sums are of whole numbers and exact; those that may leave 64
bits have two columns (`halves`).

One figure needs neighbours that other files may have: how many rebalances there were in the hour up to a snapshot. A
part counts it where it has all polls of that hour, and hands on the other rows (of a day's file, its first hour) and
all rows with rebalances.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from compare.figures.last_step import Flags, Integers
from compare.figures.standing import DAY_MS, HOUR_MS, Standing, Whole

TOPIC_FIELDS = ("topic", "min", "max", "max_over_mean", "lag")
COUNTED = ("idle_members", "unowned_queues", "double_owned_queues", "moves", "rebalances", "distance", "lag")
MEASURED = ("score", "max_over_mean", "pile_up")
"""Columns of a snapshot that are read, besides its time, its group, ``joined``, ``left`` and ``topics``."""

STORM = 5
"""Rebalances within an hour from which on they are a storm: one restart of a member makes two."""
UNITS = {"score": 1_000_000, "max_over_mean": 10_000, "lag": 1}
"""Columns of which there is a mean over time, and what one point of them is counted as."""
TIMES = ("ms", "unfair", "unknown", "idle", "unowned", "double_owned", "storm")
SUMS = ("snapshots", *TIMES, "moves", "rebalances", "joined", "left", *(f"{name}_ms" for name in UNITS))
EXTREMES = {"score_min": np.minimum, "max_over_mean_max": np.maximum, "distance_max": np.maximum, "lag_max": np.maximum}
_EXACT = 2**62
_HALF = 48


class Unfair(NamedTuple):
    """When a group counts as unfair: a column of numbers, a comparison (`operator.gt`), and a limit. Null is neither
    fair nor unfair."""

    column: str
    compare: Callable[[Any, Any], Any]
    limit: float


Key = tuple[str, str, str]
"""Cluster, system and group."""


@dataclass(frozen=True, slots=True)
class Part:
    """``groups``; of all tables the column ``group`` is an index into them.

    ``days``, a row for each ``day`` (since 1970) of a group: `SUMS`, for each of `UNITS` the halves of its sum
    (``lag_high``, ``lag_low``), `EXTREMES`, ``first`` and ``last`` (when its snapshots were), and of the last one
    ``stands``, ``score`` and ``lag``. ``hours``, snapshots in order of time: ``ms``, ``stands`` (0 where the part has
    counted that time) and ``rebalances``. ``members``: ``member``, ``came``, ``left``. ``topics`` that piled up:
    ``topic``, ``ms``, ``max_over_mean``, ``lag``.
    """

    groups: Sequence[Key]
    days: pa.Table
    hours: pa.Table
    members: pa.Table
    topics: pa.Table


class Slices:
    """A table's columns as arrays in an order, and what becomes of them in each of the slices that begin at
    ``starts``. Of lists only the lengths are put in order."""

    def __init__(self, table: pa.Table, order: Whole | None, starts: "npt.NDArray[np.intp]") -> None:
        self.table = table
        self.order = order
        self.starts = starts

    def ordered(self, values: "npt.NDArray[Any]") -> Any:
        return values if self.order is None else values[self.order]

    def numbers(self, name: str) -> Any:
        """The column, 0 where it is null: an array of int64 or float64, whichever it holds."""
        column = self.table[name]
        return self.ordered((pc.fill_null(column, 0) if column.null_count else column).to_numpy())

    def known(self, name: str) -> Flags:
        """Where the column is not null."""
        column = self.table[name]
        found: Flags = (
            self.ordered(column.is_valid().to_numpy()) if column.null_count else np.ones(len(column), dtype=np.bool_)
        )
        return found

    def lengths(self, name: str) -> Whole:
        """Of lists, 0 where there is none."""
        found: Whole = self.ordered(lengths(self.table[name]))
        return found

    def sum(self, values: Integers) -> Integers:
        summed: Integers = np.add.reduceat(values, self.starts)
        return summed

    def extreme(self, name: str, of: "np.ufunc") -> pa.Array:
        """Least or most of each slice, null where nothing is known."""
        values, known = self.numbers(name), self.known(name)
        if known.all():
            return pa.array(of.reduceat(values, self.starts))
        worst = (values.max() if of is np.minimum else values.min()) if known.any() else 0
        found = of.reduceat(np.where(known, values, worst), self.starts)
        return pa.array(found, mask=~np.logical_or.reduceat(known, self.starts))

    def at(self, name: str, rows: Whole) -> pa.Array:
        """The column's values at these places of the order, null where they are."""
        return self.table[name].take(pa.array(rows if self.order is None else self.order[rows])).combine_chunks()


def part_of(files: Sequence[tuple[str, pa.Table]], polls: Mapping[str, Standing], unfair: Unfair) -> Part:
    """The part of some whole files, at least one row; ``files``: the cluster and the rows of each, ``polls``: those of
    all files of these clusters."""
    groups: dict[Key, int] = {}
    number = np.concatenate([_numbers(cluster, rows, groups) for cluster, rows in files])
    stands, is_followed = _stands(files, polls)
    rows = pa.concat_tables(rows.drop_columns(["system", "group"]) for _, rows in files)
    ms = rows["ms"].to_numpy()
    moments = (number << int(ms.max() - ms.min() + HOUR_MS).bit_length()) + (ms - ms.min())
    order = np.argsort(moments, kind="stable") if (moments[1:] < moments[:-1]).any() else None
    if order is not None:
        number, ms, stands, moments = number[order], ms[order], stands[order], moments[order]
        is_followed = is_followed[order]
    day = ms // DAY_MS
    begins = np.append(True, (number[1:] != number[:-1]) | (day[1:] != day[:-1]))
    seen = Slices(rows, order, np.flatnonzero(begins))
    is_known = seen.known(unfair.column)
    is_unfair = is_known & unfair.compare(seen.numbers(unfair.column), unfair.limit)
    rebalances = _rebalances(seen)
    is_storm = ~is_followed & (within_an_hour(moments, rebalances) >= STORM)
    times = {"unfair": is_unfair, "unknown": ~is_known, "storm": is_storm}
    days = {
        "group": number[seen.starts],
        "day": day[seen.starts],
        **{name: seen.sum(np.where(holds, stands, 0)) for name, holds in times.items()},
        "rebalances": seen.sum(rebalances),
        **_sums(seen, stands),
        **{name: seen.extreme(name.rpartition("_")[0], of) for name, of in EXTREMES.items()},
        **_ends(seen, ms, stands),
    }
    near = np.flatnonzero(is_followed | (rebalances > 0))
    hours = {
        "group": number[near],
        "ms": ms[near],
        "stands": np.where(is_followed, stands, 0)[near],
        "rebalances": rebalances[near],
    }
    if order is not None:
        unordered = np.empty_like(order)
        unordered[order] = np.arange(len(order))
        number, stands, is_unfair = number[unordered], stands[unordered], is_unfair[unordered]
    return Part(
        list(groups), pa.table(days), pa.table(hours), _members(rows, number), _topics(rows, number, stands, is_unfair)
    )


def _numbers(cluster: str, rows: pa.Table, groups: dict[Key, int]) -> Whole:
    """The number of each row's group in ``groups``, which gets those that it lacks."""
    system, group = (rows[name].unify_dictionaries().combine_chunks() for name in ("system", "group"))
    width = max(1, len(group.dictionary))
    both = system.indices.to_numpy().astype(np.int64) * width + group.indices.to_numpy()
    systems, names = system.dictionary.to_pylist(), group.dictionary.to_pylist()
    number = np.zeros(len(systems) * width, dtype=np.int64)
    for each in np.flatnonzero(np.bincount(both, minlength=len(number))).tolist():
        number[each] = groups.setdefault((cluster, systems[each // width], names[each % width]), len(groups))
    found: Whole = number[both]
    return found


def _stands(files: Sequence[tuple[str, pa.Table]], polls: Mapping[str, Standing]) -> tuple[Whole, Flags]:
    """How long each row stands, and whether other files have a poll in the hour up to it."""
    places = [polls[cluster].places(rows["ms"].to_numpy()) for cluster, rows in files]
    own: dict[str, list[Whole]] = {}
    for (cluster, _), at in zip(files, places, strict=True):
        own.setdefault(cluster, []).append(np.flatnonzero(np.bincount(at)))
    followed = {cluster: polls[cluster].followed(of_files) for cluster, of_files in own.items()}
    each = [(cluster, at) for (cluster, _), at in zip(files, places, strict=True)]
    return (
        np.concatenate([polls[cluster].stands[at] for cluster, at in each]),
        np.concatenate([followed[cluster][at] for cluster, at in each]),
    )


def _rebalances(seen: Slices) -> Integers:
    """Those that each snapshot has seen; one of a version that did not count them has seen one where something
    changed."""
    counted: Integers = seen.numbers("rebalances")
    known = seen.known("rebalances")
    if known.all():
        return counted
    changed = (seen.numbers("moves") > 0) | (seen.lengths("joined") > 0) | (seen.lengths("left") > 0)
    return np.where(known, counted, changed)


def within_an_hour(moments: Whole, rebalances: Integers) -> Integers:
    """How many there were in the hour up to each snapshot, in its group; ``moments``: milliseconds, ascending, those of
    two groups at least an hour apart."""
    some = np.flatnonzero(rebalances)
    change = np.zeros(len(moments) + 1, dtype=np.int64)
    change[some] = rebalances[some]
    np.subtract.at(change, np.searchsorted(moments, moments[some] + HOUR_MS), rebalances[some])
    found: Integers = np.cumsum(change[:-1])
    return found


def _sums(seen: Slices, stands: Whole) -> dict[str, Integers]:
    """Per slice, what only the columns decide."""
    found = {"ms": seen.sum(stands), "snapshots": np.diff(np.append(seen.starts, len(stands)))}
    for name, column in (
        ("idle", "idle_members"),
        ("unowned", "unowned_queues"),
        ("double_owned", "double_owned_queues"),
    ):
        found[name] = seen.sum(np.where(seen.numbers(column) > 0, stands, 0))
    found["moves"] = seen.sum(seen.numbers("moves"))
    for name in ("joined", "left"):
        found[name] = seen.sum(seen.lengths(name))
    for name, unit in UNITS.items():
        values = seen.numbers(name)
        whole = values if unit == 1 else np.rint(values * unit).astype(np.int64)
        found[f"{name}_ms"] = seen.sum(np.where(seen.known(name), stands, 0))
        if float(np.abs(whole).max()) * float(found["ms"].max()) < _EXACT:
            summed = seen.sum(whole * stands)
        else:
            summed = seen.sum(whole.astype(object) * stands.astype(object))
        found |= halves(name, summed)
    return found


def halves(name: str, sums: Integers) -> dict[str, Integers]:
    """Two columns of int64 for sums of any size."""
    high = sums >> _HALF
    low = sums - (high << _HALF)
    return {f"{name}_high": high.astype(np.int64), f"{name}_low": low.astype(np.int64)}


def whole(high: int, low: int) -> int:
    """The sum that two columns hold."""
    return (high << _HALF) + low


def _ends(seen: Slices, ms: Whole, stands: Whole) -> dict[str, pa.Array]:
    last = np.append(seen.starts[1:], len(ms)) - 1
    times = {"first": ms[seen.starts], "last": ms[last], "stands": stands[last]}
    return {**times, "score": seen.at("score", last), "lag": seen.at("lag", last)}


def lengths(lists: pa.ChunkedArray) -> Whole:
    found: Whole = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    return found


def _members(rows: pa.Table, number: Whole) -> pa.Table:
    """Who came and who left, each member of a group once."""
    found = []
    for name in ("joined", "left"):
        member = pc.list_flatten(rows[name])
        came = pa.repeat(name == "joined", len(member))
        table = {
            "group": np.repeat(number, lengths(rows[name])),
            "member": member,
            "came": came,
            "left": pc.invert(came),
        }
        found.append(pa.table(table))
    return merged_members(found)


def merged_members(tables: Sequence[pa.Table]) -> pa.Table:
    """Each member of a group once: whether it ``came``, whether it ``left``."""
    each = pa.concat_tables(tables).group_by(["group", "member"]).aggregate([("came", "max"), ("left", "max")])
    return each.rename_columns(["group", "member", "came", "left"])


def _topics(rows: pa.Table, number: Whole, stands: Whole, is_unfair: Flags) -> pa.Table:
    """The topics that were shared unevenly while their group was unfair and its topics loaded the same members."""
    chosen = is_unfair & (pc.fill_null(rows["pile_up"], 0).to_numpy() > 0)
    lists = rows["topics"].filter(pa.array(chosen))
    size, structs = lengths(lists), pc.list_flatten(lists)
    fields = {name: pc.struct_field(structs, name) for name in TOPIC_FIELDS}
    flat = {**fields, "group": np.repeat(number[chosen], size), "ms": np.repeat(stands[chosen], size)}
    return merged_topics([pa.table(flat).filter(pc.greater(fields["max"], fields["min"]))])


def merged_topics(tables: Sequence[pa.Table]) -> pa.Table:
    """Each topic of a group once: how long, and its worst."""
    most = [("ms", "sum"), ("max_over_mean", "max"), ("lag", "max")]
    names = ["group", "topic", "ms", "max_over_mean", "lag"]
    return pa.concat_tables(tables).group_by(["group", "topic"]).aggregate(most).rename_columns(names)
