"""What is there when an event happens, as far as a scenario alone says: events are checked against it one by one."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from protocols.scenario.paths import Path
from protocols.scenario.validation import PartError, suggestion


@dataclass(slots=True)
class ClusterState:
    """Brokers, topics and processes at the time of an event; which members are there is known to
    `protocols.scenario.membership`."""

    groups: Collection[str]
    brokers: Sequence[str]
    infrastructure: Sequence[str]
    """Servers that are no brokers."""
    processes: Sequence[str]
    """Those of members."""
    process_names: Collection[str]
    """Every name by which an event may mean a process."""
    strategies: Sequence[str] | None
    """Those of all systems; None: any name will do."""
    topics: dict[str, Mapping[str, int]]
    """Topic to its queues per broker."""
    down: set[str] = field(default_factory=set)
    """Brokers that do not run."""

    def change(self, queues: Mapping[str, Mapping[str, int] | None], brokers: Mapping[str, bool]) -> None:
        """Topics have other queues (None: are deleted), brokers run or do not run any more."""
        for topic, per_broker in queues.items():
            if per_broker is None:
                del self.topics[topic]
            else:
                self.topics[topic] = per_broker
        for broker, runs in brokers.items():
            (self.down.discard if runs else self.down.add)(broker)

    def need_topic(self, topic: str, path: Path) -> None:
        """Raises `PartError` where the topic is not there."""
        if topic not in self.topics:
            raise PartError(path, f"unknown topic {topic!r}, {suggestion(topic, self.topics)}")

    def need_strategies(self, named: str | None, path: Path) -> None:
        """Raises `PartError` for a strategy (several with commas) that no system has."""
        need_strategies(named, self.strategies, path)


def need_server(name: str, servers: Iterable[str], path: Path) -> None:
    """Raises `PartError` where the server is none of these."""
    if name not in servers:
        raise PartError(path, f"unknown broker {name!r}, {suggestion(name, servers)}")


def need_strategies(named: str | None, strategies: Sequence[str] | None, path: Path) -> None:
    """Raises `PartError` where a member's own strategies (``named``, several with commas) are not among these; None
    for ``strategies``: any name will do."""
    if named is None or strategies is None:
        return
    for name in named.split(","):
        if name.strip() not in strategies:
            raise PartError((*path, "strategy"), f"unknown strategy {name.strip()!r}, {suggestion(name, strategies)}")
