"""What `sweep --format json` writes, what tables and report are made of, and the summary as a table.

    {"sweep": str, "kind": ..., "out": str, "rows": int, "parts": int, "variants": [label, ...],
     "summary": [{...}, ...]}

Records of the summary come in the order of the grid: variant, subscription shape, event, latency. Nothing is rounded.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from compare.figures.spark import sweeps
from compare.figures.spark.sessions import session
from compare.formatting import number, ratio
from compare.showing.console import print_line, print_table
from compare.sweeping.folder import ROWS, Finished
from compare.sweeping.grid import OPTIMUM, Sweep

Summary = Mapping[str, Any]


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
    """The whole document, counted by Spark over the rows in the folder."""
    rows = sweeps.read_rows(session(), str(folder.absolute() / ROWS))
    count = sweeps.allocations if sweep.kind == "allocations" else sweeps.simulations
    return {
        "sweep": sweep.name,
        "kind": sweep.kind,
        "out": str(folder),
        "rows": sum(record["rows"] for record in finished.records.values()),
        "parts": len(finished.records),
        "variants": [label for label in sweep.labels if label != OPTIMUM],
        "summary": in_order(sweep, count(rows).to_pylist()),
    }


def in_order(sweep: Sweep, records: list[Summary]) -> list[Summary]:
    """Records in the order in which the grid lists their values."""
    events = [event.name for event in sweep.events]

    def place(record: Summary) -> tuple[object, ...]:
        sizes = tuple(record[name] for name in ("members", "topics", "queues_per_topic") if name in record)
        latency = record.get("latency_min_ms"), record.get("latency_max_ms")
        shape, event = sweep.subscriptions.index(record["subscription"]), events.index(record["event"])
        return sweep.labels.index(record["variant"]), shape, event, latency, sizes

    return sorted(records, key=place)


Cell = Callable[[Summary], str]


def percent(value: float | None) -> str:
    """A share with one decimal."""
    return "-" if value is None else f"{100 * value:.1f} %"


def _percent(name: str) -> Cell:
    return lambda record: percent(record[name])


def _ratio(name: str) -> Cell:
    return lambda record: ratio(record[name])


def _of_three(name: str, digits: int = 1) -> Cell:
    """Median, and from which to which value nine of ten runs lie."""

    def told(record: Summary) -> str:
        median, low, high = (record[f"{name}_{word}"] for word in ("median", "p5", "p95"))
        if median is None:
            return "-"
        if low == high:
            return number(median, digits)
        return f"{number(median, digits)} ({number(low, digits)} to {number(high, digits)})"

    return told


NAMES = ("variant", "subscription", "event")
_ALLOCATIONS: tuple[tuple[str, Cell], ...] = (
    ("groups", lambda record: number(record["cells"])),
    ("fairest", _percent("fairest_share")),
    ("max/best", _ratio("max_over_best")),
    ("95 %", _ratio("max_over_best_p95")),
    ("worst", _ratio("max_over_best_max")),
    ("idle", _percent("idle_share")),
    ("best idle", _percent("best_idle_share")),
    ("no owner", _percent("unowned_share")),
    ("two owners", _percent("double_owned_share")),
    ("moved", _percent("moved_share")),
    ("best moved", _percent("best_moved_share")),
)
_SIMULATIONS: tuple[tuple[str, Cell], ...] = (
    ("runs", lambda record: number(record["runs"])),
    ("settled", _percent("settled_share")),
    ("settled after, s", _of_three("event_settle_s")),
    ("rebalances", _of_three("event_rebalances")),
    ("moves", _of_three("event_moves")),
    ("fewest", _of_three("event_fewest_moves")),
    ("no owner, queue-s", _of_three("event_unowned_queue_s")),
    ("two owners, queue-s", _of_three("event_double_owned_queue_s")),
    ("no progress, queue-s", _of_three("no_progress_queue_s")),
    ("longest stall, s", _of_three("longest_stall_s")),
    ("twice", _of_three("redelivered", 0)),
)


def columns_of(found: SweepDocument) -> Sequence[tuple[str, Cell]]:
    return _ALLOCATIONS if found["kind"] == "allocations" else _SIMULATIONS


def latencies(found: SweepDocument) -> bool:
    """Whether the summary differs by latency."""
    return len({_latency(record) for record in found["summary"]}) > 1


def cells(found: SweepDocument, record: Summary) -> list[str]:
    named = [str(record[name]) for name in NAMES]
    return [*named, *([_latency(record)] if latencies(found) else []), *(cell(record) for _, cell in columns_of(found))]


def headings(found: SweepDocument) -> list[tuple[str, str]]:
    names = (*NAMES, "latency") if latencies(found) else NAMES
    return [*((name, "left") for name in names), *((heading, "right") for heading, _ in columns_of(found))]


def headline(found: SweepDocument) -> str:
    """What the sweep is, in a line."""
    return f"{found['sweep']}: {found['rows']:,} rows of {len(found['variants'])} variants, in {found['out']}"


def print_sweep(found: SweepDocument, format: str) -> None:
    print_line(headline(found), format)
    print_table(headings(found), [cells(found, record) for record in found["summary"]], format, names=3)


def _latency(record: Summary) -> str:
    if "latency_min_ms" not in record:
        return ""
    return f"{number(record['latency_min_ms'])}..{number(record['latency_max_ms'])} ms"
