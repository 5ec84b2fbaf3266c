"""Events, times and names of scenarios that are written from logs.

Partitions and subscriptions of a Kafka group, as far as its clients' logs show them.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from compare.logs.client_events import Partitions, Subscribed
from compare.logs.events import Event as Line

AFTER_MS = 60_000
"""The run goes on for so long after the last that happened."""

ABOUT = "Written by equipoise logs. Members, partitions and settings are those that the logs show, else defaults."

Event = dict[str, object]


def clock(at: float, begin: float) -> str:
    """The moment as a scenario writes it, milliseconds after the begin, at least one."""
    return f"{max(1, round(1000 * (at - begin)))}ms"


def milliseconds(duration: object) -> int:
    """What `clock` wrote."""
    return int(str(duration).removesuffix("ms"))


def in_order(events: Iterable[Event]) -> list[Event]:
    """By time; what is written first comes first where times are equal."""
    return sorted(events, key=lambda event: milliseconds(event["at"]))


def length(events: Iterable[Mapping[str, object]], end: int) -> str:
    """How long the run takes in which the events and what the logs show until ``end`` (ms) happen."""
    last = max((milliseconds(event["at"]) + milliseconds(event.get("for", "0ms")) for event in events), default=0)
    return f"{max(end, last) + AFTER_MS}ms"


def plain(name: str) -> str:
    """The name with nothing in it that a scenario's names may not have."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-") or "member"


def possible(events: Iterable[Event], first: Collection[str]) -> list[Event]:
    """The events in order of time, without what a member cannot do that does not run, or runs already.

    Logs that are cut off, or two lines about one end, tell of such.
    """
    running, known = set(first), set(first)
    found: list[Event] = []
    for event in in_order(events):
        kind = next((kind for kind in _OF_MEMBERS if kind in event), None)
        name = str(event[kind]) if kind else ""
        if kind in {"leave", "crash", "hang", "stop_polling"} and name not in running:
            continue
        if (kind == "join" and name in known) or (kind == "restart" and name not in known):
            continue
        changed = event.get("subscribe") if kind is None else None
        if isinstance(changed, dict) and not changed.keys() <= running:
            continue
        if kind in {"leave", "crash"}:
            running.discard(name)
        elif kind in {"join", "restart"}:
            running.add(name)
            known.add(name)
        found.append(event)
    return found


_OF_MEMBERS = ("leave", "crash", "hang", "stop_polling", "join", "restart")


_PARTITION = re.compile(r"topic='([^']+)', partition=(\d{1,9})|([^\s\[\],{}'=]+)-(\d{1,9})(?=[,\s\]]|$)")


def partitions(lines: Sequence[Line], until: float) -> dict[str, int]:
    """Topics with the partitions that members had until then."""
    found: dict[str, int] = {}
    for line in lines:
        if isinstance(line, Partitions) and line.at <= until:
            for first, number, second, other in _PARTITION.findall(line.partitions):
                topic = first or second
                found[topic] = max(found.get(topic, 0), int(number or other) + 1)
    return dict(sorted(found.items()))


class Subscriptions:
    """The topics that each client says it subscribes to, from when on; clients of the Java library print that."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._told: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
        for line in lines:
            if isinstance(line, Subscribed) and line.topics and line.client:
                told = self._told.setdefault(plain(line.client), [])
                topics = tuple(sorted(set(line.topics)))
                if not told or told[-1][1] != topics:
                    told.append((line.at, topics))

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
