"""From the rows of the atlas's two sweeps to its data."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

from compare.sweeping.document import SPREAD
from compare.sweeping.folder import ROWS
from compare.sweeping.grid import Sweep
from tools.atlas.tables import MOVES, STATE, Allocations, Events, Key, Size, Spread

_COLUMNS: Mapping[str, str] = {
    "max": "max",
    "min": "min",
    "idle": "idle_members",
    "unowned": "unowned_queues",
    "twice": "double_owned_queues",
    "moves": "moves",
}
"""What the atlas keeps, to the column of a sweep's rows."""

_OF_THE_STATE = ("idle_members", "unowned_queues", "double_owned_queues", "max_over_mean")

COSTS = tuple(name for name in SPREAD if name not in _OF_THE_STATE)
"""Costs of runs that the atlas keeps."""


def allocations_of(sweep: Sweep, folder: Path) -> Allocations:
    """The atlas's allocations out of a finished sweep's folder."""
    events = tuple(event.name for event in sweep.events)
    place = {
        size: number
        for number, size in enumerate(Size(m, t, q) for m in sweep.members for t in sweep.topics for q in sweep.queues)
    }
    values: dict[Key, list[int | None]] = defaultdict(lambda: [None] * len(place))
    for variant, row in _rows(folder):
        at = place[Size(row["members"], row["topics"], row["queues_per_topic"])]
        for told in STATE if row["event"] == "none" else (MOVES,):
            values[variant, row["subscription"], row["event"], told][at] = row[_COLUMNS[told]]
    labels = tuple(dict.fromkeys(key[0] for key in sorted(values)))
    return Allocations(sweep.members, sweep.topics, sweep.queues, sweep.subscriptions, events, labels, dict(values))


def events_of(sweep: Sweep, folder: Path) -> Events:
    """The costs of events out of a finished sweep's folder."""
    runs: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for variant, row in _rows(folder):
        runs[variant, row["event"]].append(row)
    (size,) = {Size(m, t, q) for m in sweep.members for t in sweep.topics for q in sweep.queues}
    costs = {
        key: {name: spread_of(row[name] for row in sorted(rows, key=lambda row: row["seed"])) for name in COSTS}
        for key, rows in sorted(runs.items())
    }
    variants = tuple(dict.fromkeys(variant for variant, _ in costs))
    events = tuple(event.name for event in sweep.events)
    return Events(size, sweep.produce, len(sweep.seeds), events, variants, costs)


def spread_of(values: Iterable[float | None]) -> Spread:
    """5th percentile, median, 95th percentile (between neighbours linear, as Spark's) of the values that are told."""
    told = [value for value in values if value is not None]
    if not told:
        return Spread(None, None, None)
    if len(told) == 1:
        return Spread(told[0], told[0], told[0])
    of_twenty: Sequence[float] = quantiles(told, n=20, method="inclusive")
    low, middle, high = (round(of_twenty[at], 3) for at in (0, 9, 18))
    return Spread(low, middle, high)


def _rows(folder: Path) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """(variant, row) of every row."""
    for path in sorted((folder / ROWS).glob("variant=*")):
        variant = unquote(path.name.removeprefix("variant="))
        for part in sorted(path.glob("*.parquet")):
            for row in pq.ParquetFile(part).read().to_pylist():
                yield variant, row
