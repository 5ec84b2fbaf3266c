"""What `sweep --format json` writes, and what tables and report are made of.

    {"sweep": str, "kind": ..., "out": str, "rows": int, "parts": int, "variants": [label, ...],
     "summary": [{...}, ...]}

Records of the summary come in the order of the grid: variant, subscription shape, event, latency. Nothing is rounded.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from compare.measure.spark import sweep_summary
from compare.measure.spark.sessions import session
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
    rows = sweep_summary.read_rows(session(), str(folder.absolute() / ROWS))
    count = sweep_summary.allocations if sweep.kind == "allocations" else sweep_summary.simulations
    return {
        "sweep": sweep.name,
        "kind": sweep.kind,
        "out": str(folder),
        "rows": sum(each["rows"] for each in finished.records.values()),
        "parts": len(finished.records),
        "variants": [label for label in sweep.labels if label != OPTIMUM],
        "summary": in_order(sweep, count(rows).to_pylist()),
    }


def in_order(sweep: Sweep, records: list[Summary]) -> list[Summary]:
    """Records in the order in which the grid lists their values."""
    events = [each.name for each in sweep.events]

    def place(record: Summary) -> tuple[object, ...]:
        sizes = tuple(record[name] for name in ("members", "topics", "queues_per_topic") if name in record)
        latency = record.get("latency_min_ms"), record.get("latency_max_ms")
        shape, event = sweep.subscriptions.index(record["subscription"]), events.index(record["event"])
        return sweep.labels.index(record["variant"]), shape, event, latency, sizes

    return sorted(records, key=place)
