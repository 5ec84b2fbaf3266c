"""Groups without fixtures (tests with hypothesis need a new one for each example), and the same group in both systems,
living through the same events at the same times."""

from collections.abc import Collection, Iterator, Mapping
from typing import Self, Unpack

from compare.testing import sentences, settling
from compare.testing.assertions import fail_unsettled
from compare.testing.clock import Clock, in_ticks
from compare.testing.demands import Demands
from compare.testing.events import Events
from compare.testing.group import SETTLE_S, Group
from compare.testing.plans import DEFAULT, KAFKA, ROCKETMQ, GroupPlan, Members, QueueCounts, SharedPlan
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.model import Scenario, split_system
from protocols.scenario.writing import as_fields


def kafka_group(clock: Clock | None = None, *, kafka_version: str = "", **plan: Unpack[GroupPlan]) -> Group:
    """A Kafka group on a clock of its own (or on this one); what can be said is at `Group.__call__`. ``kafka_version``:
    4.1 to 4.4; left out, the newest."""
    return Group(KAFKA, clock or Clock(), versions={KAFKA: kafka_version} if kafka_version else {})(**plan)


def rocketmq_group(clock: Clock | None = None, *, rocketmq_version: str = "", **plan: Unpack[GroupPlan]) -> Group:
    """The same in RocketMQ, 5.3 to 5.5."""
    return Group(ROCKETMQ, clock or Clock(), versions={ROCKETMQ: rocketmq_version} if rocketmq_version else {})(**plan)


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
    group = Group(kind, clock or Clock(), versions=scenario.versions)(
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
        sentences.note_scenario(group)
    return group


class GroupPair(Events, Demands):
    """A group in Kafka and the same in RocketMQ on one clock: ``pair.kafka``, ``pair.rocketmq``, or both by iterating.

    Events happen to both; assertions must hold in both, and name the system in which they do not. Calling it makes
    another pair, see `__call__`.
    """

    def __init__(self, kafka: Group, rocketmq: Group) -> None:
        self.kafka, self.rocketmq = kafka, rocketmq
        self.clock = kafka.clock

    def __call__(
        self,
        topics: Mapping[str, QueueCounts] = DEFAULT.topics,
        members: Members = (),
        *,
        assignor: str = "",
        strategy: str = "",
        kafka_settings: Mapping[str, object] | None = None,
        rocketmq_settings: Mapping[str, object] | None = None,
        **plan: Unpack[SharedPlan],
    ) -> "GroupPair":
        """Another pair: as `Group.__call__`, with ``assignor`` for Kafka and ``strategy`` for RocketMQ."""
        members = members if isinstance(members, Mapping) else list(members)
        kafka = self.kafka(topics, members=members, assignor=assignor, settings=kafka_settings, **plan)
        return GroupPair(
            kafka, self.rocketmq(topics, members=members, strategy=strategy, settings=rocketmq_settings, **plan)
        )

    def __repr__(self) -> str:
        return f"<{self.kafka!r} and {self.rocketmq!r}>"

    def __iter__(self) -> Iterator[Group]:
        return iter(self.groups)

    @property
    def groups(self) -> tuple[Group, ...]:
        return self.kafka, self.rocketmq

    @property
    def name(self) -> str:
        return self.kafka.name

    @property
    def topics(self) -> Mapping[str, tuple[Queue, ...]]:
        return self.kafka.topics

    @property
    def known(self) -> Collection[str]:
        return self.kafka.known

    def happen(self, **fields: object) -> Self:
        for group in self.groups:
            group.happen(**fields)
        return self

    def settle(self, within: float = SETTLE_S) -> Self:
        """Let time pass until both have settled, at most so many seconds. Fails where one goes on changing."""
        if not settling.settle(self.clock, [group.world for group in self.groups], in_ticks(within)):
            fail_unsettled(next(group for group in self.groups if not settling.is_calm(group.world)), within)
        return self

    def owners(self) -> Mapping[str, Mapping[str, tuple[Queue, ...]]]:
        """``kafka`` and ``rocketmq`` to who owns what there now."""
        return {KAFKA: self.kafka.owners(), ROCKETMQ: self.rocketmq.owners()}
