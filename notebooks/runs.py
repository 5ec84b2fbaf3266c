"""One scenario lived through by one system: what the notebooks look at."""

from collections.abc import Mapping
from typing import Any

from compare.measure.runs.lag import lag_of
from compare.measure.runs.production_history import productions
from compare.measure.runs.record import result
from compare.scenarios.run_variant import Lived, live
from compare.scenarios.variants import Chosen, chosen
from protocols.scenario.model import Scenario, SystemPart


def run(day: Scenario, system: str, settings: Mapping[str, Any] | None = None, *, tracing: bool = False) -> Lived:
    """Let ``kafka:range``, ``rocketmq:AVG``, ... live through the scenario.

    ``settings``: of clients and brokers, under the system's own names. ``tracing`` keeps every message, as pictures of
    messages need it. Raises `protocols.UserError` for a strategy or setting that the system lacks.
    """
    if settings is None:
        (variant,) = chosen(day, [system])
    else:
        variant = Chosen(day, SystemPart(system=system, settings=dict(settings)), day.run.seed)
    return live(variant, tracing=tracing)


def figures(lived: Lived) -> dict[str, Any]:
    """The run in numbers, as `equipoise compare --format json` has them; times in seconds."""
    return result(lived)


def waiting(lived: Lived, every: float = 1.0) -> list[tuple[float, float]]:
    """(Second, records written and not yet handled, over all queues), each ``every`` seconds of the run."""
    times = [at * every * 1000 for at in range(int(lived.timeline.end / every / 1000) + 1)]
    total = dict.fromkeys(times, 0)
    for each in lag_of(lived, productions(lived), times):
        total[each.at] += each.records
    return [(at / 1000, float(records)) for at, records in total.items()]
