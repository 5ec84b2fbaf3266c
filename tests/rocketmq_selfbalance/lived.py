"""A scenario that RocketMQ has lived through, and what was told of it. Times are seconds."""

from collections.abc import Mapping
from typing import Any

from protocols import Queue
from protocols.engine.nodes import Unobserved
from protocols.facts import Committed, Owns
from protocols.node_state import NodeState, fields_of
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.running import Run
from rocketmq_selfbalance.broker import Broker
from rocketmq_selfbalance.broker.consumers import ConsumerGroup
from rocketmq_selfbalance.cluster.cluster import RocketMQCluster


class Lived(Unobserved):
    """Runs a scenario of one group ``g`` (or those given) over topics on ``broker-a`` and ``broker-b``.

    ``events`` are those of the scenario format with times in seconds.
    """

    def __init__(
        self,
        topics: Mapping[str, Mapping[str, int]],
        members: Mapping[str, Mapping[str, Any]],
        *events: Any,
        seconds: float,
        strategy: str = "AVG",
        produce: float = 0.0,
        rates: Mapping[str, float] | None = None,
        seed: int = 1,
        latency: tuple[float, float] = (1.0, 5.0),
        groups: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        full: bool = False,
    ) -> None:
        self.facts: list[tuple[float, str, Any]] = []
        scenario = Scenario.model_validate(
            {
                "name": "",
                "brokers": ("broker-a", "broker-b"),
                "topics": {topic: {"queues": queues} for topic, queues in topics.items()},
                "groups": groups or {"g": {"members": members}},
                "load": {"produce": produce, "rates": rates or {}},
                "run": {"for": seconds * 1000.0, "seed": seed, "latency": latency},
                "events": events,
            }
        )
        part = SystemPart(system=f"rocketmq:{strategy}", settings=settings or {})
        self.variant = Run.of(scenario, part, RocketMQCluster, observer=self, full=full).run()
        assert isinstance(self.variant.cluster, RocketMQCluster)
        self.cluster = self.variant.cluster

    # The observer.

    def fact(self, now: float, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        self.facts.append((now / 1000, node, fact))

    # What one asks.

    def told(self, kind: type[Any]) -> list[tuple[float, str, Any]]:
        """(time, node, fact) of this kind, in order."""
        return [each for each in self.facts if type(each[2]) is kind]

    def beliefs(self, at_s: float | None = None, group: str = "g") -> dict[str, tuple[Queue, ...]]:
        """Member to what it believes to own at this time, retry queues left out."""
        found: dict[str, tuple[Queue, ...]] = {}
        for time, _, fact in self.told(Owns):
            if fact.group == group and (at_s is None or time <= at_s):
                found[fact.member] = tuple(queue for queue in fact.queues if not queue.topic.startswith("%"))
        return found

    def owners(self, at_s: float | None = None, group: str = "g") -> dict[Queue, list[str]]:
        """Queue to its owners at this time."""
        found: dict[Queue, list[str]] = {}
        for member, queues in self.beliefs(at_s, group).items():
            for queue in queues:
                found.setdefault(queue, []).append(member)
        return found

    def queues(self) -> list[Queue]:
        """All queues of the topics, as they were set last."""
        counts = self.cluster.servers.topics.items()
        return [Queue(topic, b, n) for topic, per in counts for b, count in per.items() for n in range(count)]

    def settled(self, at_s: float | None = None) -> bool:
        """Whether every queue has exactly one owner."""
        owners = self.owners(at_s)
        return sorted(owners) == sorted(self.queues()) and all(len(each) == 1 for each in owners.values())

    def commits(self, group: str = "g") -> list[tuple[float, Committed]]:
        return [(time, fact) for time, _, fact in self.told(Committed) if fact.group == group]

    def broker(self, name: str) -> Broker:
        broker = self.cluster.broker(name)
        assert broker is not None
        return broker


LEFT_OUT = {"correlation", "ids", "revision", "subscriptions", "_answers", "_revision"}
"""Numbers of requests, and what is kept only to answer sooner."""


def left_behind(value: Any) -> Any:
    """A server's state, in whatever order it has come about, without statistics."""
    if isinstance(value, dict):
        return frozenset((name, left_behind(inner)) for name, inner in value.items())
    if isinstance(value, NodeState):
        names = [name for name in fields_of(type(value)) if name not in value.apart]
        if isinstance(value, ConsumerGroup):
            names.remove("last_update")
    elif hasattr(value, "_fields"):
        names = value._fields
    elif isinstance(value, list | tuple):
        return tuple(map(left_behind, value))
    else:
        return frozenset(value) if isinstance(value, set) else value
    return tuple((name, left_behind(getattr(value, name))) for name in names if name not in LEFT_OUT)
