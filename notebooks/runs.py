"""One scenario lived through by one system: what the notebooks look at."""

from collections.abc import Mapping
from typing import Any

from compare.scenarios.figures import result
from compare.scenarios.living import Lived, live
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
