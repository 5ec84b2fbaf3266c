"""What `sweep --format json` writes, and what tables and report are made of.

    {"sweep": str, "kind": ..., "out": str, "rows": int, "parts": int, "variants": [label, ...],
     "summary": [{...}, ...]}

Records of the summary come in the order of the grid: variant, subscription shape, event, latency. Nothing is rounded.

Files are read one after the other, those of a strategy's answers beside the optimum's, whose cells are the same. Whole
numbers are added up, and of values that are ranked it is counted how often each comes: so no order of rows changes a
digit, and what is kept grows with the values that differ, not with the rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import ceil, floor
from pathlib import Path
from typing import Any, Final, TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from compare.figures.metrics import COLUMNS
from compare.sweeping import scale
from compare.sweeping.folder import Finished, Part
from compare.sweeping.grid import OPTIMUM, Sweep

Summary = Mapping[str, Any]

EVENT, SUBSCRIPTION, VARIANT = "event", "subscription", "variant"
LATENCY = ("latency_min_ms", "latency_max_ms")
SIZE = ("members", "queues_per_topic")
"""Columns of the rows: the axes of the report's pictures."""

SPREAD = tuple(metric.column for metric in COLUMNS["summary"])
"""Figures of runs of which median, 5th and 95th percentile are told."""

_WORDS = (("median", 0.5), ("p5", 0.05), ("p95", 0.95))
_SHARES: Final[Mapping[str, tuple[str, str]]] = {
    "fairest_share": ("fairest", "cells"),
    "max_over_best": ("max", "best_max"),
    "idle_share": ("idle_members", "group_members"),
    "best_idle_share": ("best_idle_members", "group_members"),
    "unowned_share": ("unowned_queues", "queues"),
    "double_owned_share": ("double_owned_queues", "queues"),
    "moved_share": ("moves", "queues"),
    "best_moved_share": ("best_moves", "queues"),
}
"""Figure to the two sums whose quotient it is."""

_OF_THE_OPTIMUM = ("max", "min", "idle_members", "moves")
_ADDED = tuple(name for name in dict.fromkeys(name for two in _SHARES.values() for name in two) if name != "cells")
_RATIO = "ratio"

MOST_KEPT = 200_000
"""Rows that wait to be counted together."""


class SweepDocument(TypedDict):
    """The document; ``out``: where the rows are, as it was given."""

    sweep: str
    kind: str
    out: str
    rows: int
    parts: int
    variants: list[str]
    summary: list[Summary]


def document(sweep: Sweep, folder: Path, finished: Finished) -> SweepDocument:
    """The whole document, counted over the rows of all parts."""
    return {
        "sweep": sweep.name,
        "kind": sweep.kind,
        "out": str(folder),
        "rows": finished.rows,
        "parts": len(finished.records),
        "variants": [label for label in sweep.labels if label != OPTIMUM],
        "summary": list(_summary(sweep, finished)),
    }


def by_size(sweep: Sweep, finished: Finished) -> list[Summary]:
    """The figures of each `SIZE`, shape, event and variant over the rows of allocations; none where the sizes have no
    grid."""
    if sweep.kind != "allocations" or len(sweep.members) < 2 or len(sweep.queues) < 2:
        return []
    return list(_summary(sweep, finished, SIZE))


def columns_of(kind: str) -> tuple[str, ...]:
    """The columns of numbers of a summary of this kind."""
    if kind == "scale":
        return scale.FIGURES
    if kind == "allocations":
        shares = [*_SHARES]
        return ("cells", *shares[:2], "max_over_best_p95", "max_over_best_max", *shares[2:])
    return ("runs", "settled_share", *(f"{name}_{word}" for name in SPREAD for word, _ in _WORDS))


def _summary(sweep: Sweep, finished: Finished, sizes: Sequence[str] = ()) -> Iterator[Summary]:
    """A record per variant, subscription shape, event and latency, or these columns of the grid; of `scale` per row."""
    if sweep.kind == "scale":
        columns = ["members", *LATENCY, "seed", *scale.FIGURES]
        for part in finished.parts:
            rows = _read(sweep, finished, part, columns).to_pylist()
            yield from ({VARIANT: sweep.labels[part.variant], **row} for row in rows)
        return
    is_of_runs = sweep.kind == "simulations"
    keys = (SUBSCRIPTION, EVENT, *(LATENCY if is_of_runs else sizes))
    added, ranked = (["settled"], SPREAD) if is_of_runs else (_ADDED, [_RATIO])
    for variant, label in enumerate(sweep.labels):
        if label == OPTIMUM:
            continue
        sums, values = _Tally(keys, added), {name: _Tally((*keys, name), ()) for name in ranked}
        for part in finished.parts:
            if part.variant == variant:
                rows = _rows(sweep, finished, part, keys)
                for tally in (sums, *values.values()):
                    tally.add(rows)
        spread = {name: _ranked(tally, keys, name) for name, tally in values.items()}
        counted = sums.table().to_pylist()
        for record in sorted(counted, key=lambda each: _place(sweep, each, keys)):
            key = tuple(record[name] for name in keys)
            figures = _figures(record, {name: found.get(key, []) for name, found in spread.items()})
            yield {VARIANT: label, **dict(zip(keys, key, strict=True)), **figures}


def _place(sweep: Sweep, record: Summary, keys: Sequence[str]) -> tuple[object, ...]:
    """Where the grid lists the values of a record."""
    events = [event.name for event in sweep.events]
    others = [record[name] for name in keys if name not in (SUBSCRIPTION, EVENT)]
    return sweep.subscriptions.index(record[SUBSCRIPTION]), events.index(record[EVENT]), others


def _rows(sweep: Sweep, finished: Finished, part: Part, keys: Sequence[str]) -> pa.Table:
    """The rows of a part; of allocations each beside those figures of its cell's optimum that it is judged by."""
    if sweep.kind == "simulations":
        return _read(sweep, finished, part, [*keys, *dict.fromkeys(("settled", *SPREAD))])
    own = ["cell", "min", *(name for name in _ADDED if not name.startswith("best_") and name != "fairest")]
    rows = _read(sweep, finished, part, [*keys, *own])
    best = _read(sweep, finished, replace(part, variant=len(sweep.labels) - 1), ["cell", *_OF_THE_OPTIMUM])
    if not rows["cell"].equals(best["cell"]):
        raise AssertionError(f"{part.name(sweep)} has other cells than its optimum")
    for name in _OF_THE_OPTIMUM:
        rows = rows.append_column(f"best_{name}", best[name])
    is_whole = pc.equal(pc.add(rows["unowned_queues"], rows["double_owned_queues"]), 0)
    is_as_fair = (pc.equal(rows[name], rows[f"best_{name}"]) for name in ("max", "min"))
    fairest = reduce(pc.and_, is_as_fair, is_whole)
    heaviest = pc.if_else(pc.greater(rows["best_max"], 0), rows["best_max"], None)
    ratio = pc.divide(pc.cast(rows["max"], pa.float64()), pc.cast(heaviest, pa.float64()))
    return rows.append_column("fairest", pc.cast(fairest, pa.int64())).append_column(_RATIO, ratio)


def _read(sweep: Sweep, finished: Finished, part: Part, columns: Sequence[str]) -> pa.Table:
    return pq.ParquetFile(part.file(finished.folder, sweep)).read([*columns])


class _Tally:
    """How often each combination of ``keys`` comes in rows, and the sums of other columns in them; nothing is counted
    of rows in which the last key is null."""

    def __init__(self, keys: Sequence[str], added: Sequence[str]) -> None:
        self._keys, self._added = list(keys), ["count", *added]
        self._pieces: list[pa.Table] = []

    def add(self, rows: pa.Table) -> None:
        rows = rows.filter(pc.is_valid(rows[self._keys[-1]]))
        rows = rows.append_column("count", pa.repeat(1, rows.num_rows))
        self._pieces.append(rows.select([*self._keys, *self._added]))
        if sum(piece.num_rows for piece in self._pieces[1:]) > max(MOST_KEPT, self._pieces[0].num_rows):
            self._pieces = [self.table()]

    def table(self) -> pa.Table:
        """A row for each combination: the keys, ``count``, the sums."""
        grouped = pa.concat_tables(self._pieces).group_by(self._keys, use_threads=False)
        found = grouped.aggregate([(name, "sum") for name in self._added])
        return found.select([*self._keys, *(f"{name}_sum" for name in self._added)]).rename_columns(
            [*self._keys, *self._added]
        )


def _ranked(tally: _Tally, keys: Sequence[str], name: str) -> dict[tuple[object, ...], list[tuple[float, int]]]:
    """Of each combination of the keys the values of a column, ascending, each with how often it comes."""
    found: dict[tuple[object, ...], list[tuple[float, int]]] = {}
    for row in tally.table().sort_by(name).to_pylist():
        found.setdefault(tuple(row[key] for key in keys), []).append((row[name], row["count"]))
    return found


def _figures(sums: Summary, values: Mapping[str, Sequence[tuple[float, int]]]) -> Summary:
    """From sums and ranked values to the columns of the summary."""
    if _RATIO not in values:
        spread = {f"{name}_{word}": _percentile(values[name], share) for name in SPREAD for word, share in _WORDS}
        settled = None if sums["settled"] is None else sums["settled"] / sums["count"]
        return {"runs": sums["count"], "settled_share": settled, **spread}
    ratios, sums = values[_RATIO], {**sums, "cells": sums["count"]}
    found = {name: sums[above] / sums[below] if sums[below] else None for name, (above, below) in _SHARES.items()}
    found |= {"cells": sums["cells"], "max_over_best_p95": _percentile(ratios, 0.95)}
    found |= {"max_over_best_max": ratios[-1][0] if ratios else None}
    return {name: found[name] for name in columns_of("allocations")}


def _percentile(values: Sequence[tuple[float, int]], share: float) -> float | None:
    """Of values with how often they come, ascending; between neighbours linear. None where there is none."""
    if not values:
        return None
    place = (sum(count for _, count in values) - 1) * share
    low, high = (_at(values, which) for which in (floor(place), ceil(place)))
    return low + (high - low) * (place - floor(place))


def _at(values: Sequence[tuple[float, int]], place: int) -> float:
    for value, count in values:
        place -= count
        if place < 0:
            return float(value)
    raise IndexError(place)
