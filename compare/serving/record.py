"""What real clients did, in the form of `equipoise compare`: one variant, ``real``, and its report."""

from collections import Counter
from collections.abc import Mapping

from compare.documents.comparison import ScenarioDocument
from compare.explaining.document import Measured, document
from compare.running.phases import phases_of
from compare.running.record import run_record
from compare.running.run_variant import RunResult, ending
from compare.running.runs import MeasuredRun
from compare.running.spread import spread_figures
from compare.running.systems import known_strategies
from compare.running.variants import Variant
from compare.serving.history import REAL, History
from compare.serving.service import Service
from protocols.engine.nodes import Time
from protocols.engine.sockets import Sockets
from protocols.scenario.model import SystemPart

NAME = "real clients"

DEFAULT: Mapping[str, str] = {"kafka": "range", "rocketmq": "AVG"}
"""System to what its clients use if nobody says otherwise. Brokers of RocketMQ are never told a strategy."""

CONCLUDED = (
    "members' beliefs are concluded from what they say to the servers and are told by them; which records a member's"
    " code has handled is not seen, so that redelivered and burst say nothing"
)
"""What the figures rest on."""


def result_of(history: History, service: Service, world: Sockets, end: Time, name: str = NAME) -> RunResult:
    """All that happened until ``end`` (milliseconds), as the result of a run."""
    history.look(end)
    part = SystemPart(system=f"{service.system}:{_strategy(history, service.system)}", label=REAL)
    scenario = history.scenario(name, end, (part,))
    timeline = history.timeline(end, world.messages)
    return RunResult(Variant(scenario, part, 0), timeline, ending(scenario, service.numbering))


def measured(result: RunResult, service: Service, *, with_chart_data: bool) -> Measured:
    """The scenario, its one run, and the document; ``with_chart_data``: the report is to be written."""
    phases = phases_of(result.variant.scenario, service.numbering)
    record = run_record(result, phases)
    chart_data = None
    if with_chart_data:
        from compare.running.chart_data import chart_data_of

        chart_data = chart_data_of(result, phases)
    run = MeasuredRun(result.variant, record, spread_figures(record), (), chart_data)
    scenario = result.variant.scenario
    found: ScenarioDocument = document(scenario, [run])
    found["assumptions"] = [{"system": service.system, "text": f"{CONCLUDED}."}]
    return scenario, [run], found


def _strategy(history: History, system: str) -> str:
    """The strategy that most groups use; where none is known, the one that clients use by default."""
    known = known_strategies()[system].names
    used = Counter(name for name in history.strategies.values() if name in known)
    return max(used, key=lambda name: (used[name], name), default=DEFAULT[system])
