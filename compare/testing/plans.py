"""What a test says of a group before it lives: topics, members, strategy, settings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypedDict

from compare.testing.contents import MakeHeaders, MakeValue, headers_of, key_of, value_of
from protocols.errors import UserError

QueueCounts: TypeAlias = int | Mapping[str, int]
"""Queues of a topic: a number, dealt over the brokers in turn, or a number per broker."""

Members: TypeAlias = Iterable[str] | Mapping[str, object]
"""Names of members that subscribe to all topics; or name to topics, or to the fields of a scenario's member."""

KAFKA, ROCKETMQ = "kafka", "rocketmq"
STRATEGIES: Mapping[str, str] = {KAFKA: "range", ROCKETMQ: "AVG"}
"""What each system shares by if nobody says otherwise."""


PROTOCOLS: Mapping[str, Mapping[str, str]] = {
    "classic": {},
    "consumer": {"": "uniform", "range": "server-range"},
}
"""Kafka's group protocols; under each, what an assignor is called in scenarios, where that is another name."""


def strategy_of(system: str, protocol: str, strategy: str) -> str:
    """The strategy that a scenario names for a group of this protocol (empty: the default). `UserError` for a protocol
    that the system does not have."""
    if not protocol:
        return strategy
    if system != KAFKA:
        raise UserError(f"protocol is {protocol!r}, expected none: groups of {system} have one protocol only")
    if protocol not in PROTOCOLS:
        raise UserError(f"protocol is {protocol!r}, expected one of {', '.join(PROTOCOLS)}")
    return PROTOCOLS[protocol].get(strategy, strategy)


class SharedPlan(TypedDict, total=False):
    """What `Group.__call__` takes for groups of both systems alike: see there."""

    brokers: Iterable[str]
    produce: float
    rates: Mapping[str, float]
    latency: str
    seed: int
    name: str
    value: MakeValue
    key: MakeValue
    headers: MakeHeaders


class GroupPlan(SharedPlan, total=False):
    """All that `Group.__call__` takes."""

    topics: Mapping[str, QueueCounts]
    members: Members
    assignor: str
    strategy: str
    protocol: str
    settings: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A group as a test wants it. ``settings``: of clients and brokers, under the system's own names; ``produce``:
    records per second and queue; ``rates``: other ones, by topic or queue; ``latency``: of every message, as in a
    scenario; ``seed``: of all that is left to chance."""

    topics: Mapping[str, QueueCounts] = field(default_factory=lambda: {"orders": 6})
    members: Members = ()
    strategy: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    brokers: Iterable[str] = ("broker-a",)
    produce: float = 1.0
    latency: str = "1ms..5ms"
    seed: int = 0
    name: str = "group"
    value: MakeValue = value_of
    """What stands in a record, for consumers that run the user's code."""
    key: MakeValue = key_of
    headers: MakeHeaders = headers_of
    rates: Mapping[str, float] = field(default_factory=dict)

    def fields(self) -> dict[str, object]:
        """The beginning of a scenario, as `compare.testing.world.World` wants it."""
        if not isinstance(self.topics, Mapping):
            raise UserError(f"topics is {self.topics!r}, expected a number of queues by name, such as {{'orders': 6}}")
        topics = list(self.topics)
        members = self.members
        listed = members if isinstance(members, Mapping) else dict.fromkeys(names_of("members", members), topics)
        return {
            "name": f"a test of {self.name}",
            "brokers": names_of("brokers", self.brokers),
            "topics": {topic: {"queues": queues} for topic, queues in self.topics.items()},
            "group": {"name": self.name, "members": dict(listed)},
            "load": {
                "produce": float(self.produce),
                "rates": {name: float(rate) for name, rate in self.rates.items()},
            },
        }


def names_of(what: str, given: Iterable[str]) -> list[str]:
    """A list of names; `UserError` for one name alone, which Python takes for a list of letters, and for no list."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise UserError(f"{what} is {given!r}, expected a list of names")
    return list(given)


DEFAULT = Plan()
"""The group that a fixture is before anybody asks for another."""
