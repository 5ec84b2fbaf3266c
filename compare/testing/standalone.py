"""Groups without fixtures: tests with hypothesis need a new one for each example."""

from typing import Unpack

from compare.testing import user_code
from compare.testing.clock import Clock
from compare.testing.group import Group
from compare.testing.plans import KAFKA, ROCKETMQ, GroupPlan
from protocols.errors import UserError
from protocols.scenario.model import Scenario, split_system
from protocols.scenario.writing import as_fields


def kafka_group(clock: Clock | None = None, **plan: Unpack[GroupPlan]) -> Group:
    """A Kafka group on a clock of its own (or on this one); what can be said is at `Group.__call__`."""
    return Group(KAFKA, clock or Clock())(**plan)


def rocketmq_group(clock: Clock | None = None, **plan: Unpack[GroupPlan]) -> Group:
    """The same in RocketMQ."""
    return Group(ROCKETMQ, clock or Clock())(**plan)


def play(scenario: Scenario, system: str = "", *, clock: Clock | None = None) -> Group:
    """A group after a scenario was run to its end. ``system``: ``kafka:range`` and the like; left out, the
    first that the scenario names. Under hypothesis the scenario is printed with the falsifying example.

    Raises `UserError` for a scenario with several groups, and for rates of topics or queues that only an event adds.
    """
    name = system or scenario.systems[0].system
    settings = next((part.settings for part in scenario.systems if part.system == name), {})
    if len(scenario.groups) != 1:
        raise UserError(f"{len(scenario.groups)} groups in {scenario.name}, expected one")
    ((group_name, part),) = scenario.groups.items()
    kind, strategy = split_system(name)
    given = as_fields(scenario)
    group = Group(kind, clock or Clock())(
        topics={topic: each["queues"] for topic, each in given["topics"].items()},
        members={member: as_fields(each) for member, each in part.members.items()},
        strategy=strategy,
        settings=settings,
        brokers=scenario.brokers,
        produce=scenario.load.produce,
        rates=scenario.load.rates,
        latency=as_fields(scenario.run).get("latency", "1ms..5ms"),
        seed=scenario.run.seed,
        name=group_name,
    )
    begin = group.clock.time
    try:
        group.live_through(scenario.events)
        group.clock.run(begin + scenario.run.for_)
    finally:
        user_code.tell(group)
    return group
