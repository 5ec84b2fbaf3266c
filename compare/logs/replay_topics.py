"""Partitions and subscriptions of a Kafka group, as far as its clients' logs show them."""

import re
from collections.abc import Mapping, Sequence

from compare.logs.facts import Fact
from compare.logs.replay_events import Event, clock, plain

_PARTITION = re.compile(r"topic='([^']+)', partition=(\d{1,9})|([^\s\[\],{}'=]+)-(\d{1,9})(?=[,\s\]]|$)")


def partitions(facts: Sequence[Fact], until: float) -> dict[str, int]:
    """Topics with the partitions that members had until then."""
    found: dict[str, int] = {}
    for fact in facts:
        if fact.kind in {"given", "revoked", "lost"} and (fact.at or 0.0) <= until:
            for first, number, second, other in _PARTITION.findall(fact.text):
                topic = first or second
                found[topic] = max(found.get(topic, 0), int(number or other) + 1)
    return dict(sorted(found.items()))


class Subscriptions:
    """The topics that each client says it subscribes to, from when on; clients of the Java library print that."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._told: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
        for fact in facts:
            if fact.kind == "subscribed" and fact.names and fact.client and fact.at is not None:
                told = self._told.setdefault(plain(fact.client), [])
                topics = tuple(sorted(set(fact.names)))
                if not told or told[-1][1] != topics:
                    told.append((fact.at, topics))

    def topics(self) -> set[str]:
        """Of all members at any time."""
        return {topic for told in self._told.values() for _, topics in told for topic in topics}

    def first(self, name: str) -> list[str] | None:
        """What a member subscribes to when it starts; None where its log does not tell."""
        told = self._told.get(name)
        return list(told[0][1]) if told else None

    def changes(self, members: Mapping[str, object] | set[str], begin: float) -> list[Event]:
        """Members that subscribe to other topics than before."""
        return [
            {"at": clock(at, begin), "subscribe": {name: list(topics)}}
            for name, told in sorted(self._told.items())
            for at, topics in told[1:]
            if name in members
        ]
