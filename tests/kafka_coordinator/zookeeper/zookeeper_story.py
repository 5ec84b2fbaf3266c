"""Runs a scenario with 0.8 consumers and keeps what they tell."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kafka_coordinator.zookeeper.cluster import ZooKeeperCluster
from protocols.engine.nodes import Unobserved
from protocols.facts import Committed, Delivered, Noted, Owns, RebalanceBegan
from protocols.java import Queue
from protocols.scenario.events import Event
from protocols.scenario.fields import GroupPart, MemberPart, TopicPart
from protocols.scenario.model import LoadPart, RunPart, Scenario, SystemPart
from protocols.scenario.running import Run

TEN_EACH = LoadPart(produce=10.0)


class Told(NamedTuple):
    """A fact with its time in milliseconds."""

    at: float
    fact: Any


class Story(Unobserved):
    """Three members c1, c2, c3 on six partitions of t, unless told otherwise; 10 records per second and partition.

    ``user``: fields of all members about the user's code."""

    def __init__(
        self,
        *events: Event,
        members: Sequence[str] = ("c1", "c2", "c3"),
        partitions: int = 6,
        seconds: float = 60,
        seed: int = 1,
        latency: tuple[float, float] = (1.0, 5.0),
        strategy: str = "range",
        topics: tuple[str, ...] = ("t",),
        load: LoadPart = TEN_EACH,
        user: Mapping[str, Any] = MappingProxyType({}),
        **settings: Any,
    ) -> None:
        self.facts: list[Told] = []
        scenario = Scenario(
            name="story",
            topics={topic: TopicPart(queues={"broker-a": partitions}) for topic in topics},
            groups={"g": GroupPart(members={each: MemberPart(subscribe=topics, **user) for each in members})},
            load=load,
            run=RunPart.model_validate({"for": seconds * 1000.0, "seed": seed, "latency": latency}),
            events=tuple(sorted(events, key=lambda event: event.at)),
        )
        named = {name.replace("_", "."): value for name, value in settings.items()}
        system = SystemPart(system=f"kafka-zookeeper:{strategy}", settings=named)
        self.variant = Run.of(scenario, system, ZooKeeperCluster, observer=self).run()
        self.messages = {kind.__name__: count for kind, count in self.variant.simulation.messages.items()}

    def fact(self, now: float, node: str, fact: Any, root: int, cause: int) -> None:
        """Called by the simulation."""
        self.facts.append(Told(now, fact))

    def of(self, kind: type, since: float = 0.0, until: float = float("inf")) -> list[Told]:
        """Facts of a kind within some seconds."""
        return [told for told in self.facts if type(told.fact) is kind and since * 1000 <= told.at <= until * 1000]

    def beliefs(self, at: float) -> dict[str, tuple[Queue, ...]]:
        """Member to what it believes to own at a time in seconds."""
        return {told.fact.member: told.fact.queues for told in self.of(Owns, until=at)}

    def owners(self, at: float) -> dict[Queue, list[str]]:
        """Queue to its owners, who believe so, at a time in seconds."""
        found: dict[Queue, list[str]] = {}
        for member, queues in self.beliefs(at).items():
            for queue in queues:
                found.setdefault(queue, []).append(member)
        return found

    def notes(self) -> list[str]:
        """What was noted."""
        return [told.fact.text for told in self.of(Noted)]

    def rebalances(self, since: float, until: float) -> list[str]:
        """Who began a rebalance within some seconds."""
        return [told.fact.member for told in self.of(RebalanceBegan, since, until)]

    def redelivered(self) -> int:
        """Records delivered twice."""
        spans: dict[Queue, list[tuple[int, int]]] = {}
        for told in self.of(Delivered):
            spans.setdefault(told.fact.queue, []).append((told.fact.first, told.fact.end))
        again = 0
        for each in spans.values():
            reached = 0
            for first, end in sorted(each):
                again += max(0, min(reached, end) - first)
                reached = max(reached, end)
        return again

    def commits(self) -> list[Told]:
        """Offsets stored."""
        return self.of(Committed)
