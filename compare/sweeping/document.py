"""What `sweep --format json` writes, and what tables and report are made of.

    {"sweep": str, "kind": ..., "out": str, "rows": int, "parts": int, "variants": [label, ...],
     "summary": [{...}, ...]}

Records of the summary come in the order of the grid: variant, subscription shape, event, latency. Nothing is rounded.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from compare.figures.spark import sweeps
from compare.figures.spark.sessions import session
from compare.sweeping.folder import ROWS, Finished
from compare.sweeping.grid import OPTIMUM, Sweep

Summary = Mapping[str, Any]

SIZE = ("members", "queues_per_topic")
"""Columns of the rows: the axes of the report's pictures."""


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


def by_size(sweep: Sweep, folder: Path) -> list[Summary]:
    """The figures of each `SIZE`, shape, event and variant over the rows of allocations in the folder; none where the
    sizes have no grid."""
    if sweep.kind != "allocations" or len(sweep.members) < 2 or len(sweep.queues) < 2:
        return []
    rows = sweeps.read_rows(session(), str(folder.absolute() / ROWS))
    records: list[Summary] = sweeps.by_size(rows, *SIZE).to_pylist()
    return records
