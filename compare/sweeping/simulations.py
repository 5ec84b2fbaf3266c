"""One row of a sweep of simulations: a cell as a scenario, its run, and what it cost.

The event's figures are those of the time from the event on (the last of a run's `after`), the others of the whole run.
"""

from collections.abc import Mapping
from functools import lru_cache

from compare.documents.comparison import Record
from compare.running.phases import at_other_times, phases_of
from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.spread import figure
from compare.running.systems import scenario, system_of
from compare.running.variants import Variant, jittered
from compare.sweeping.allocations import ROCKETMQ, broker_names, group_of, queues_per_broker, room, settings_of
from compare.sweeping.grid import Cell, Sweep
from compare.sweeping.stories import OF_SIMULATIONS, member_name, subscription, topic_name
from protocols.scenario.model import STATIC, Scenario, SystemPart, split_system
from rocketmq_selfbalance.catalogue import SETTING as QUEUE_LIST
from rocketmq_selfbalance.catalogue import ByConfig

GROUP = "group"

WHOLE_NUMBERS: Mapping[str, str] = {
    "group_members": "fairness.members",
    "idle_members": "fairness.idle_members",
    "queues": "fairness.queues",
    "unowned_queues": "fairness.unowned_queues",
    "double_owned_queues": "fairness.double_owned_queues",
    "min": "fairness.min",
    "max": "fairness.max",
    "best_max": "optimum.max",
    "rebalances": "rebalances",
    "moves": "moves",
    "fewest_moves": "fewest_moves",
    "messages": "messages",
    "redelivered": "redelivered",
    "written": "harm.work.written",
    "handled": "harm.work.handled",
    "skipped": "harm.work.skipped",
    "waiting": "harm.work.waiting",
    "lag_peak": "lag.peak",
    "settled": "harm.settled",
}
"""Column to where its whole number is in a run's record."""

NUMBERS: Mapping[str, str] = {
    "jain": "fairness.jain",
    "max_over_mean": "fairness.max_over_mean",
    "unowned_queue_s": "unowned_queue_s",
    "longest_gap_s": "longest_gap_s",
    "double_owned_queue_s": "double_owned_queue_s",
    "no_progress_queue_s": "harm.no_progress_queue_s",
    "longest_stall_s": "harm.longest_stall_s",
    "settle_s": "settle_s",
    "burst": "burst",
    "drain_s": "lag.drain_s",
}
"""The same of other numbers."""

OF_EVENT = (
    "rebalances",
    "moves",
    "fewest_moves",
    "unowned_queue_s",
    "longest_gap_s",
    "double_owned_queue_s",
    "settle_s",
)
"""Columns of which ``event_...`` tells the part from the first event on."""

FIGURES = (*WHOLE_NUMBERS, *NUMBERS, *(f"event_{name}" for name in OF_EVENT))


def try_run(sweep: Sweep, cell: Cell, part: SystemPart) -> None:
    """Run the first moment of a cell. Raises `UserError` as `run_row` does."""
    written = scenario_of(sweep, cell, part.system)
    begun = written.model_copy(update={"run": written.run.model_copy(update={"for_": 1.0}), "events": ()})
    run_variant(Variant(begun, _with_needs(cell, part), cell.seed))


def run_row(sweep: Sweep, cell: Cell, part: SystemPart) -> Mapping[str, int | float | None]:
    """`FIGURES` of one run. Raises `UserError` for a setting that the system refuses."""
    written = _scenario(sweep, sweep.first_seed(cell.number), part.system)
    variant = jittered(Variant(written, _with_needs(cell, part), cell.seed))
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
    found: dict[str, int | float | None] = {
        name: figure(record, path) for name, path in (*WHOLE_NUMBERS.items(), *NUMBERS.items())
    }
    for name in OF_EVENT:
        values = [value for each in record["after"][1:] if (value := figure(each, name)) is not None]
        most = name in ("longest_gap_s", "settle_s")
        found[f"event_{name}"] = (max(values) if most else sum(values)) if values else None
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
        run={"for": sweep.run_for, "latency": cell.latency},
        events=_events(sweep, cell),
    )


def _events(sweep: Sweep, cell: Cell) -> list[object]:
    if cell.event.events is not None:
        return list(cell.event.events)
    story = OF_SIMULATIONS[cell.event.name]
    return list(story(sweep.event_at, cell.members, cell.topics, cell.queues, cell.subscription))
