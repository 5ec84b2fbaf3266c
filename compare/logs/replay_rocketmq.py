"""What happened to a RocketMQ group as the fields of a scenario."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.logs.model import GroupLog, Rebalance
from compare.logs.replay_events import ABOUT, Event, clock, length, milliseconds, plain, possible
from compare.logs.rocketmq_lines import (
    BrokerBooted,
    BrokerLost,
    Connected,
    LockFailed,
    NewVersion,
    QueueAdded,
    Result,
    Rocket,
    RouteChanged,
    route_change,
)
from protocols.errors import UserError

_STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")
_EXPIRY_MS = 120_000
_LATE_S = 1.5
"""Brokers log whole seconds, and a member may be seen by one broker after the other."""

_UNKNOWN_QUEUES = 4
_BROKER = "broker-a"
_RETRY = "%RETRY%"
_AboutRoutes = RouteChanged | BrokerLost | BrokerBooted


def rocketmq_fields(log: GroupLog) -> dict[str, object]:
    """The scenario's fields as `compare.running.systems.scenario` takes them. Raises `UserError` where no member is
    known."""
    return _Night(log).fields()


@dataclass(slots=True)
class _Absence:
    """A member that fell silent: when, from what was seen, and when it was back (None: never)."""

    client: str
    silent: float
    back: float | None = None


class _Night:
    """A group's rebalances on the scenario's clock, which begins with the first of them."""

    def __init__(self, log: GroupLog) -> None:
        self.log = log
        self.lines = log.events
        self.begin = log.rebalances[0].at
        self.moves = [(kind, line) for kind, line in log.moves if isinstance(line, Rocket)]
        self.routes = [line for line in log.others if isinstance(line, RouteChanged)]
        started = (log.rebalances[0].end or self.begin) + _LATE_S
        self.first = sorted({line.client for _, line in self.moves if line.at <= started and line.client})
        if not self.first:
            self.first = sorted({line.client for line in self.lines if isinstance(line, QueueAdded) and line.client})
        if not self.first:
            raise UserError(f"--scenario: the logs name no member of {log.group}, expected logs of its brokers")
        self.later = [move for move in self.moves if move[1].at > started]
        self.names = _names(sorted({*self.first, *(line.client for _, line in self.moves if line.client)}))
        self.expiry_ms = min([_EXPIRY_MS, *(self._silence_ms(line) for kind, line in self.moves if _is_silent(kind))])
        self.absences: list[_Absence] = []
        self.doubled: dict[str, float] = {}
        for rebalance in reversed(log.rebalances):
            if rebalance.cause == "duplicate_client_id":
                self.doubled |= dict.fromkeys(rebalance.members, rebalance.at)

    def fields(self) -> dict[str, object]:
        """See `rocketmq_fields`."""
        topics = self._topics()
        brokers = sorted({name for queues in topics.values() for name in queues} | self._other_brokers())
        events = [*self._members_events(topics), *self._twins(topics), *self._route_events(topics)]
        events = possible(events, [self.names[client] for client in self.first])
        end = max((rebalance.end or rebalance.at) - self.begin for rebalance in self.log.rebalances)
        return {
            "name": f"{self.log.group} as its logs tell",
            "about": ABOUT,
            "brokers": brokers,
            "topics": {name: {"queues": queues} for name, queues in topics.items()},
            "group": {
                "name": plain(self.log.group),
                "members": {self.names[client]: self._member(client, topics) for client in self.first},
            },
            "run": {"for": length(events, math.ceil(1000 * end)), "seed": 1},
            "systems": self._systems(),
            "events": events,
        }

    def _member(self, client: str, topics: Mapping[str, object]) -> dict[str, object]:
        """What the member subscribes to, as far as its own log tells, and its own strategy where they differ."""
        own = [line for line in self.lines if isinstance(line, Result) and line.client == client]
        read = sorted({line.topic for line in own if line.topic in topics})
        strategy = own[-1].strategy if own else self._strategy()
        mixed = strategy != self._strategy() and strategy in _STRATEGIES
        found: dict[str, object] = {"subscribe": read or list(topics)}
        found |= {"strategy": strategy} if mixed else {}
        return found | ({"client_id": self.names[client]} if client in self.doubled else {})

    def _strategy(self) -> str:
        results = (line.strategy for line in self.lines if isinstance(line, Result))
        counter = Counter(strategy for strategy in results if strategy in _STRATEGIES)
        return min(counter, key=lambda name: (-counter[name], name), default=_STRATEGIES[0])

    def _topics(self) -> dict[str, dict[str, int]]:
        """Topics with their queues per broker, before any of them changed."""
        found: dict[str, dict[str, int]] = defaultdict(dict)
        for line in self.lines:
            if isinstance(line, QueueAdded) and not line.topic.startswith(_RETRY):
                queues = found[line.topic]
                queues[line.broker] = max(queues.get(line.broker, 0), line.queue + 1)
        changed = {line.topic for line in self._route_lines("queues_changed") if isinstance(line, RouteChanged)}
        for topic in changed & found.keys():
            found[topic] = self._queues_before(topic) or found[topic]
        for line in self.lines:
            if isinstance(line, NewVersion) and not line.topic.startswith(_RETRY):
                found[line.topic] = found[line.topic] or {_BROKER: _UNKNOWN_QUEUES}
        known = {topic: dict(sorted(queues.items())) for topic, queues in sorted(found.items())}
        return known or {"topic": {_BROKER: 2 * len(self.first)}}

    def _queues_before(self, topic: str) -> dict[str, int]:
        """What all clients together knew of the topic before its number of queues changed."""
        queues: dict[str, int] = {}
        for line in self.routes:
            if line.topic == topic:
                before, after = route_change(line.change)
                for name, number in (before or after).items():
                    queues[name] = min(number, queues.get(name, number))
        return queues

    def _other_brokers(self) -> set[str]:
        """Those that come with a change of the routes."""
        lines = self._route_lines("queues_changed")
        return {name for line in lines if isinstance(line, RouteChanged) for name in route_change(line.change)[1]}

    def _route_lines(self, cause: str) -> list[_AboutRoutes]:
        """The lines about routes and brokers behind the rebalances of a cause."""
        those = [rebalance for rebalance in self.log.rebalances[1:] if rebalance.cause == cause]
        return [line for each in those for line in _about_routes(each)]

    def _systems(self) -> list[dict[str, object]]:
        """As it was; brokers that wait longer for a silent member, where one was frozen; other strategies."""
        strategy = self._strategy()
        settings: dict[str, object] = {}
        if any(isinstance(line, LockFailed) for line in self.lines):
            settings["orderly"] = True
        longest = max(
            (absence.back - absence.silent for absence in self.absences if absence.back is not None), default=None
        )
        waiting = self._expiry(self.expiry_ms) if self.expiry_ms < _EXPIRY_MS else {}
        systems: list[dict[str, object]] = [
            {"system": f"rocketmq:{strategy}", "label": "as it was", "settings": settings | waiting}
        ]
        if longest is not None:
            patient = self._expiry(max(_EXPIRY_MS, math.ceil(1.5 * longest) * 1000))
            systems.append(
                {"system": f"rocketmq:{strategy}", "label": "a longer expiry", "settings": settings | patient}
            )
        for other in _STRATEGIES:
            if other != strategy:
                systems.append({"system": f"rocketmq:{other}", "label": other, "settings": settings | waiting})
        return systems

    def _expiry(self, ms: int) -> dict[str, object]:
        return {"channelExpiredTimeout": ms, "serverChannelMaxIdleTime": ms}

    def _silence_ms(self, line: Rocket) -> int:
        """How long a member that was dropped for its silence had been silent, in whole seconds."""
        if line.place.hint is None or isinstance(line, Connected):
            return _EXPIRY_MS
        return max(1, round(line.at - line.place.hint)) * 1000

    def _members_events(self, topics: Mapping[str, object]) -> list[Event]:
        events: list[Event] = []
        known = set(self.first)
        hanging: dict[str, _Absence] = {}
        for kind, line in self.later:
            client, at = line.client, line.at
            name, when = self.names[client], clock(at, self.begin)
            if kind == "member_joined" and client not in known:
                known.add(client)
                events.append({"at": when, "join": name} | self._member(client, topics))
            elif kind == "member_left":
                events.append({"at": when, "leave": name})
            elif kind == "connection_closed":
                events.append({"at": when, "crash": name})
            elif _is_silent(kind):
                hanging[client] = _Absence(client, at - self.expiry_ms / 1000)
                self.absences.append(hanging[client])
            elif kind == "member_rejoined" and client in hanging:
                hanging.pop(client).back = at
            elif kind in {"member_rejoined", "member_joined"}:
                events.append({"at": when, "restart": name})
        last = max(rebalance.end or rebalance.at for rebalance in self.log.rebalances)
        for absence in self.absences:
            begun = clock(absence.silent, self.begin)
            until = last + 3600.0 if absence.back is None else absence.back
            hang: Event = {"at": begun, "hang": self.names[absence.client]}
            events.append(hang | {"for": f"{round(1000 * (until - self.begin)) - milliseconds(begun)}ms"})
        return events

    def _twins(self, topics: Mapping[str, object]) -> list[Event]:
        """Second processes with the client id of a member."""
        return [
            {"at": clock(at, self.begin), "join": f"{self.names[client]}-twin"} | self._member(client, topics)
            for client, at in sorted(self.doubled.items())
            if client in self.names
        ]

    def _route_events(self, topics: Mapping[str, Mapping[str, int]]) -> list[Event]:
        events: list[Event] = []
        down: set[str] = set()
        for rebalance in self.log.rebalances[1:]:
            lines = _about_routes(rebalance)
            for does, names, at in _brokers(rebalance, lines):
                for name in sorted(names & {broker for queues in topics.values() for broker in queues}):
                    if (does == "return") == (name in down):
                        down ^= {name}
                        events.append({"at": clock(at, self.begin), "broker": name, "does": does})
            if rebalance.cause == "queues_changed":
                events += self._changes(rebalance, lines, topics)
        return events

    def _changes(
        self, each: Rebalance, lines: Sequence[_AboutRoutes], topics: Mapping[str, Mapping[str, int]]
    ) -> list[Event]:
        """Topics that have other numbers of queues after a rebalance."""
        found: dict[str, dict[str, int]] = {}
        for line in lines:
            if isinstance(line, RouteChanged) and line.topic in topics:
                before, after = route_change(line.change)
                if before != after:
                    found[line.topic] = after
        return [{"at": clock(each.at, self.begin), "queues": found}] if found else []


def _about_routes(each: Rebalance) -> list[_AboutRoutes]:
    return [line for line in each.events if isinstance(line, RouteChanged | BrokerLost | BrokerBooted)]


def _brokers(each: Rebalance, lines: Sequence[_AboutRoutes]) -> list[tuple[str, set[str], float]]:
    """Brokers that went or came back, with the time: the name server's or broker's own line is earlier than a route."""
    found: list[tuple[str, set[str], float]] = []
    for line in lines:
        before, after = route_change(line.change) if isinstance(line, RouteChanged) else ({}, {})
        at = min(line.at, each.at)
        if each.cause == "broker_down":
            gone = {line.broker} if isinstance(line, BrokerLost) else before.keys() - after.keys()
            found.append(("kill", set(gone), at))
        elif each.cause == "broker_up":
            new = {line.broker} if isinstance(line, BrokerBooted) else after.keys() - before.keys()
            found.append(("return", set(new), at))
    return sorted(found, key=lambda one: one[2])


def _is_silent(kind: str) -> bool:
    return kind == "heartbeat_expired"


def _names(clients: Sequence[str]) -> dict[str, str]:
    """Addresses where they tell the clients apart, else whole client ids."""
    addresses = Counter(client.partition("@")[0] for client in clients)
    return {
        client: plain(client.partition("@")[0]) if addresses[client.partition("@")[0]] == 1 else plain(client)
        for client in clients
    }
