"""A cell of a sweep of simulations as a scenario."""

from compare.scenarios.reading import scenario
from compare.sweeping.grid import Cell, Sweep
from compare.sweeping.groups import broker_names, group_of, queues_per_broker, room, settings_of
from compare.sweeping.shapes import subscription
from compare.sweeping.stories import OF_SIMULATIONS, member_name, topic_name
from protocols.scenario.model import Scenario
from protocols.scenario.systems import STATIC, split_system
from rocketmq_selfbalance.strategies.by_config import SETTING as QUEUE_LIST
from rocketmq_selfbalance.strategies.by_config import ByConfig

GROUP = "group"


def scenario_of(sweep: Sweep, cell: Cell, system: str) -> Scenario:
    """The scenario of a cell for a variant of this system and strategy; the seed is the variant's affair. Raises
    `UserError` for events of the sweep's own that cannot be in it."""
    family, strategy = split_system(system.removesuffix(STATIC))
    brokers = broker_names(cell, strategy)
    topics = {topic_name(each): {"queues": queues_per_broker(cell.queues, brokers)} for each in range(cell.topics)}
    members: dict[str, dict[str, object]] = {}
    for number in range(cell.members):
        read = subscription(cell.subscription, number, cell.members, cell.topics)
        members[member_name(number)] = {
            "subscribe": [topic_name(each) for each in read],
            "rack": room(number % cell.brokers),
            "handle": sweep.handle,
        }
    if strategy == ByConfig.name:
        before = group_of(cell, family, strategy)
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
