"""Scenarios that a Kafka cluster lives through, and what was observed."""

from collections.abc import Callable, Sequence
from typing import Any

from kafka_coordinator.cluster.cluster import KafkaCluster
from protocols.engine.links import Latency
from protocols.engine.nodes import Message, Unobserved
from protocols.engine.simulation import Simulation
from protocols.facts import Callback, Noted, Owns, RebalanceBegan, RebalanceEnded
from protocols.scenario.events import Event
from protocols.scenario.fields import GroupPart, MemberPart, TopicPart
from protocols.scenario.model import Scenario, SystemPart


class Observed(Unobserved):
    """Everything that was told: time, node and fact; messages where it is tracing."""

    def __init__(self) -> None:
        self.facts: list[tuple[float, str, Any]] = []
        self.sent_messages: list[tuple[float, str, str, Message]] = []

    def fact(self, now: float, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        self.facts.append((now, node, fact))

    def sent(
        self, now: float, arrives: float | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        self.sent_messages.append((now, sender, to, message))

    def of(self, kind: type) -> list[tuple[float, Any]]:
        return [(now, fact) for now, _, fact in self.facts if isinstance(fact, kind)]

    def callbacks(self, member: str, since: float = 0.0) -> list[tuple[str, tuple[int, ...]]]:
        """Kind and partition numbers."""
        return [
            (fact.kind, tuple(queue.number for queue in fact.queues))
            for now, fact in self.of(Callback)
            if fact.member == member and now >= since
        ]

    def beliefs(self, member: str) -> list[tuple[float, tuple[int, ...]]]:
        return [
            (now, tuple(queue.number for queue in fact.queues)) for now, fact in self.of(Owns) if fact.member == member
        ]

    def of_owns(self, member: str) -> list[tuple[float, Any]]:
        return [(now, fact) for now, fact in self.of(Owns) if fact.member == member]

    def owners(self) -> dict[str, tuple[int, ...]]:
        """The last belief of every member."""
        return {fact.member: tuple(queue.number for queue in fact.queues) for _, fact in self.of(Owns)}

    def generations(self) -> list[int]:
        return [fact.generation for _, fact in self.of(RebalanceEnded)]

    def began(self) -> list[tuple[float, str]]:
        return [(now, fact.trigger) for now, fact in self.of(RebalanceBegan)]

    def notes(self) -> list[str]:
        return [fact.text for _, fact in self.of(Noted)]


class Story:
    """One Kafka variant of a scenario, with a fixed latency of 2 ms. Let time pass with `until`."""

    def __init__(
        self,
        system: str = "kafka:range",
        *,
        members: dict[str, dict[str, Any]] | Sequence[str] = ("c1", "c2"),
        topics: dict[str, int] | None = None,
        brokers: tuple[str, ...] = ("b1",),
        rate: float = 0.0,
        rates: dict[str, float] | None = None,
        replicas: int | None = None,
        controllers: tuple[str, ...] = (),
        events: Sequence[Event] = (),
        settings: dict[str, Any] | None = None,
        group_settings: dict[str, Any] | None = None,
        latency: tuple[float, float] = (2.0, 2.0),
        seed: int = 1,
        tracing: bool = False,
        observer: Callable[[], Observed] = Observed,
        version: str | None = None,
    ) -> None:
        parts = members if isinstance(members, dict) else {name: {} for name in members}
        scenario = Scenario(
            name="story",
            brokers=brokers,
            controllers=controllers,
            topics={
                topic: TopicPart(queues={b: len(range(at, count, len(brokers))) for at, b in enumerate(brokers)})
                for topic, count in (topics or {"t": 6}).items()
            },
            groups={
                "g": GroupPart(
                    members={
                        name: MemberPart(**({} if "pattern" in part else {"subscribe": ("t",)}) | part)
                        for name, part in parts.items()
                    },
                    settings=group_settings or {},
                )
            },
            load={"produce": float(rate), "rates": rates or {}},
            replication={} if replicas is None else {"kafka": replicas},
            versions={} if version is None else {"kafka": version},
            run={"for": 3_600_000.0},
            events=tuple(events),
        )
        self.seen = observer()
        self.simulation = Simulation(seed=seed, latency=Latency(*latency), observer=self.seen, tracing=tracing)
        part = SystemPart(system=system, label=system, settings=settings or {})
        self.cluster = KafkaCluster(scenario, part, self.simulation)
        self.simulation.at(0.0, self.cluster.start, "start")
        for event in scenario.events:
            self.simulation.at(event.at, lambda event=event: self.cluster.apply(event), "event")  # type: ignore[misc]

    def until(self, seconds: float) -> Observed:
        self.simulation.run(seconds * 1000)
        return self.seen

    def to_end(self, seconds: float) -> Observed:
        self.until(seconds)
        self.cluster.finish()
        return self.seen


def at(seconds: float) -> float:
    return float(seconds * 1000)
