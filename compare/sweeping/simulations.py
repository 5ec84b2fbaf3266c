"""One row of a sweep of simulations: a cell as a scenario, its run, and what it cost.

The event's figures are those of the time from the event on (the last of a run's `after`), the others of the whole run.
"""

from collections.abc import Mapping
from functools import lru_cache

from compare.documents.comparison import Record
from compare.figures.metrics import COLUMNS, EVENT
from compare.running.checks import shares
from compare.running.phases import at_other_times, phases_of
from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.spread import figure
from compare.running.systems import scenario, system_of
from compare.running.variants import Variant, jittered, with_equal_threads
from compare.sweeping.allocations import ROCKETMQ, broker_names, group_of, queues_per_broker, room, settings_of
from compare.sweeping.grid import Cell, Sweep
from compare.sweeping.stories import GROUP, OF_SIMULATIONS, member_name, subscription, topic_name
from protocols.scenario.model import STATIC, Scenario, SystemPart, split_system
from rocketmq_selfbalance.catalogue import SETTING as QUEUE_LIST
from rocketmq_selfbalance.catalogue import ByConfig

FIGURES = tuple(metric.column for metric in COLUMNS["simulations"])


def try_run(sweep: Sweep, cell: Cell, part: SystemPart) -> None:
    """Run the first moment of a cell. Raises `UserError` as `run_row` does."""
    written = scenario_of(sweep, cell, part.system)
    begun = written.model_copy(update={"run": written.run.model_copy(update={"for_": 1.0}), "events": ()})
    run_variant(Variant(begun, _with_needs(cell, part), cell.seed))


def run_row(sweep: Sweep, cell: Cell, part: SystemPart) -> Mapping[str, int | float | None]:
    """`FIGURES` of one run. Raises `UserError` for a setting that the system refuses."""
    part = _with_needs(cell, part)
    written = with_equal_threads(_scenario(sweep, sweep.first_seed(cell.number), part.system), part)
    variant = jittered(Variant(written, part, cell.seed))
    phases = at_other_times(phases_of(written, system_of(part.system).numbering), variant.scenario)
    return _figures(run_record(run_variant(variant), phases))


@lru_cache(maxsize=64)
def _scenario(sweep: Sweep, cell: int, system: str) -> Scenario:
    return scenario_of(sweep, sweep.cell(cell), system)


def _with_needs(cell: Cell, part: SystemPart) -> SystemPart:
    """The variant with the rooms that a strategy of rooms is told of."""
    family, strategy = split_system(part.system.removesuffix(STATIC))
    if family != ROCKETMQ or strategy == ByConfig.name:
        return part
    before = group_of(cell.size, family, strategy)
    return part.model_copy(update={"settings": dict(settings_of(strategy, part.settings, before, before))})


def _figures(record: Record) -> Mapping[str, int | float | None]:
    found: dict[str, int | float | None] = {}
    for metric in COLUMNS["simulations"]:
        if not metric.path.startswith(EVENT):
            found[metric.column] = figure(record, metric.path)
            continue
        path = metric.path.removeprefix(EVENT)
        values = [value for moment in record["after"][1:] if (value := figure(moment, path)) is not None]
        # Counts and queue-seconds add up; of a length of time the longest is told.
        found[metric.column] = (max(values) if metric.unit == "s" else sum(values)) if values else None
    if not shares(record):
        found["settled"] = None  # where nobody owns a queue, no ownership comes to rest
    # Whether it settled is a number, too.
    return {name: int(value) if isinstance(value, bool) else value for name, value in found.items()}


def scenario_of(sweep: Sweep, cell: Cell, system: str) -> Scenario:
    """The scenario of a cell for a variant of this system and strategy; the seed is the variant's affair. Raises
    `UserError` for events of the sweep's own that cannot be in it."""
    family, strategy = split_system(system.removesuffix(STATIC))
    brokers = broker_names(cell.brokers, strategy)
    topics = {topic_name(number): {"queues": queues_per_broker(cell.queues, brokers)} for number in range(cell.topics)}
    members: dict[str, dict[str, object]] = {}
    for number in range(cell.members):
        read = subscription(cell.subscription, number, cell.members, cell.topics)
        members[member_name(number)] = {
            "subscribe": [topic_name(topic) for topic in read],
            "rack": room(number % cell.brokers),
            "handle": sweep.handle,
        }
    if strategy == ByConfig.name:
        before = group_of(cell.size, family, strategy)
        lists = settings_of(strategy, {}, before, before)[QUEUE_LIST]
        assert isinstance(lists, dict)
        for id, queues in lists.items():
            members[id]["settings"] = {QUEUE_LIST: [list(queue) for queue in queues]}
    return scenario(
        name=sweep.name,
        brokers=brokers,
        topics=topics,
        group={"name": GROUP, "members": members},
        load={"produce": sweep.produce},
        versions=sweep.versions,
        run={"for": sweep.run_for, "latency": cell.latency},
        events=_events(sweep, cell),
    )


def _events(sweep: Sweep, cell: Cell) -> list[object]:
    if cell.event.events is not None:
        return list(cell.event.events)
    story = OF_SIMULATIONS[cell.event.name]
    return list(story(sweep.event_at, cell.members, cell.topics, cell.queues, cell.subscription))
