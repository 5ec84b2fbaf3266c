"""Runs as Parquet files: what Spark reads of any number of variants.

`compare.spark.fairness("DIR/ownership.parquet", "DIR/members.parquet")` says how fair each run ended.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from compare.running.lag import lag_of
from compare.running.production import productions
from compare.running.run_variant import RunResult
from protocols.timeline.rows import COLUMNS, LAG, SNAPSHOT, Row, ownership_at, rows, table, write_parquet

if TYPE_CHECKING:
    import pyarrow as pa

LAG_SAMPLES = 300
"""How often the lag of each queue is taken, evenly over the run, the end included."""


def write_runs(results: Sequence[RunResult], folder: Path, several: bool) -> list[Path]:
    """Write ``intervals``, ``rebalances``, ``messages``, ``deliveries``, ``commits``, ``lag``, and ``ownership`` and
    ``members`` at the end; the column ``run`` names the variant and its seed, and the scenario where there are
    ``several``. Returns the paths; raises `OSError`."""
    tables: dict[str, list[pa.Table]] = {name: [] for name in (*COLUMNS, "lag", *SNAPSHOT)}
    for result in results:
        scenario = f"{result.variant.scenario.name}: " if several else ""
        run = f"{scenario}{result.variant.label} (seed {result.variant.seed})"
        for name, columns in COLUMNS.items():
            tables[name].append(table(rows(result.timeline, name), columns, run))
        owned = ownership_at(result.timeline, result.timeline.end, result.ending.expected())
        members = [tuple(key) for key in result.ending.members]
        tables["lag"].append(table(_lag(result), LAG, run))
        tables["ownership"].append(table(owned, SNAPSHOT["ownership"], run))
        tables["members"].append(table(members, SNAPSHOT["members"], run))
    return write_parquet(tables, folder)


def _lag(result: RunResult) -> Iterator[Row]:
    end = result.timeline.end
    times = [end * number / LAG_SAMPLES for number in range(1, LAG_SAMPLES + 1)]
    for each in lag_of(result, productions(result), times):
        yield each.at, each.group, *each.queue, each.records
