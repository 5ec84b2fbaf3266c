"""The same group in both systems, living through the same events at the same times."""

from collections.abc import Collection, Iterator, Mapping
from typing import Self, Unpack

from compare.testing import settling
from compare.testing.assertions import fail_unsettled
from compare.testing.clock import in_ticks
from compare.testing.demands import Demands
from compare.testing.events import Events
from compare.testing.group import SETTLE_S, Group
from compare.testing.plans import DEFAULT, KAFKA, ROCKETMQ, Members, QueueCounts, SharedPlan
from protocols.java import Queue


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
        topics: Mapping[str, QueueCounts] | None = None,
        members: Members = (),
        *,
        assignor: str = "",
        strategy: str = "",
        kafka_settings: Mapping[str, object] | None = None,
        rocketmq_settings: Mapping[str, object] | None = None,
        **plan: Unpack[SharedPlan],
    ) -> "GroupPair":
        """Another pair: as `Group.__call__`, with ``assignor`` for Kafka and ``strategy`` for RocketMQ."""
        topics = DEFAULT.topics if topics is None else topics
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
