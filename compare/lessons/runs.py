"""One scenario run by one system, for the notebooks."""

from collections.abc import Mapping
from typing import Any

from compare.documents.comparison import VariantRecord
from compare.measure.runs.lag import lag_of
from compare.measure.runs.production_history import productions
from compare.measure.runs.record import run_record
from compare.scenarios.run_variant import RunResult, run_variant
from compare.scenarios.variants import Variant, variants_of
from protocols.scenario.model import Scenario, SystemPart


def run(day: Scenario, system: str, settings: Mapping[str, Any] | None = None, *, tracing: bool = False) -> RunResult:
    """Let ``kafka:range``, ``rocketmq:AVG``, ... live through the scenario.

    ``settings``: of clients and brokers, under the system's own names. ``tracing`` keeps every message, as pictures of
    messages need it. Raises `protocols.UserError` for a strategy or setting that the system lacks.
    """
    if settings is None:
        (variant,) = variants_of(day, [system])
    else:
        variant = Variant(day, SystemPart(system=system, settings=dict(settings)), day.run.seed)
    return run_variant(variant, tracing=tracing)


def figures(result: RunResult) -> VariantRecord[None]:
    """The run in numbers, as `equipoise compare --format json` has them; times in seconds."""
    return run_record(result)


def waiting(result: RunResult, every: float = 1.0) -> list[tuple[float, float]]:
    """(Second, records written and not yet handled, over all queues), each ``every`` seconds of the run."""
    times = [at * every * 1000 for at in range(int(result.timeline.end / every / 1000) + 1)]
    total = dict.fromkeys(times, 0)
    for each in lag_of(result, productions(result), times):
        total[each.at] += each.records
    return [(at / 1000, float(records)) for at, records in total.items()]
