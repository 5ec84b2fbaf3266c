"""What happened to a group as the fields of a scenario, so that a remedy can be tried on it with `equipoise compare`.

Here is what happens to a Kafka group, of the classic or the consumer protocol; `replay_rocketmq` has RocketMQ's.
"""

import math
from collections.abc import Sequence

from compare.logs.broker_events import Loaded, TargetComputed
from compare.logs.client_events import CoordinatorGone, Joined, OfClient
from compare.logs.model import Departure, GroupLog, Rebalance
from compare.logs.remedies import longer_interval
from compare.logs.replay_events import (
    ABOUT,
    Event,
    Subscriptions,
    clock,
    in_order,
    length,
    milliseconds,
    partitions,
    plain,
    possible,
)
from compare.logs.replay_rocketmq import rocketmq_fields
from compare.logs.returns import AFTER_FENCING, AFTER_POLL, JOINED, NEW_ID
from protocols.errors import UserError

_UNKNOWN_TOPIC = "topic"
_MAX_POLL_MS = 300_000
_SESSION_MS = 45_000
_MOST_SESSION_MS = 60_000
_STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky")
_ON_SERVERS = {"uniform": "kafka:uniform", "range": "kafka:server-range"}
_BROKER = "broker-1"
_ONE_RESTART_S = 5.0
"""A broker loads its groups within so many seconds, and is away for so long where no client says for how long."""

_JOINS = frozenset({JOINED, AFTER_POLL, AFTER_FENCING, NEW_ID})


def _kafka_fields(log: GroupLog) -> dict[str, object]:
    if len({rebalance.consumer_protocol for rebalance in log.rebalances}) > 1:
        raise UserError(
            f"--scenario: {log.group} went from one protocol to the other in these logs, expected one protocol;"
            " equipoise plan writes such a change"
        )
    return _Night(log).fields()


class _Night:
    """A group's rebalances on the scenario's clock, which begins with the first of them."""

    def __init__(self, log: GroupLog) -> None:
        self.log = log
        self.names = {member: plain(name) for member, name in log.names.items()}
        self.begin = log.rebalances[0].at
        self.consumer_protocol = log.rebalances[0].consumer_protocol
        known = None if self.consumer_protocol else log.figures.get("session.timeout.ms")
        self.session_ms = int(known or self._likely_session())
        self.poll_ms = int(log.figures.get("max.poll.interval.ms") or self._likely_interval())
        self.first = self._first_members()
        self.instances = self._instances()
        self.subscriptions = Subscriptions(log.events)

    def fields(self) -> dict[str, object]:
        growths = [
            rebalance.at
            for rebalance in self.log.rebalances[1:]
            if "partitions_added" in {cause.name for cause in rebalance.causes}
        ]
        topics = self._topics(min(growths, default=math.inf))
        grown = {name: number for name, number in self._topics(math.inf).items() if number > topics.get(name, number)}
        events = self._events(list(topics))
        if growths and grown:
            events = in_order([*events, {"at": self._at(growths[0]), "queues": grown}])
        end = max((rebalance.end or rebalance.at) - self.begin for rebalance in self.log.rebalances)
        return {
            "name": f"{self.log.group} as its logs tell",
            "about": ABOUT,
            "brokers": [_BROKER],
            "topics": {name: {"queues": number} for name, number in topics.items()},
            "group": {
                "name": plain(self.log.group),
                "members": {name: self._member(name, topics) for name in self.first},
            },
            "run": {"for": length(events, math.ceil(1000 * end)), "seed": 1},
            "systems": self._systems(),
            "events": events,
        }

    def _member(self, name: str, topics: Sequence[str] | dict[str, int]) -> dict[str, object]:
        instance = {"instance_id": self.instances[name]} if name in self.instances else {}
        return {"subscribe": self.subscriptions.first(name) or list(topics), **instance}

    def _first_members(self) -> list[str]:
        first = self.log.rebalances[0]
        known = first.after or first.listed or list(first.seen) or list(first.joined) or first.members
        names = sorted({self._name(member) for member in known})
        if not names:
            raise UserError(f"--scenario: the logs name no member of {self.log.group}, expected logs of its clients")
        return names

    def _name(self, member: str) -> str:
        return self.names.get(member) or plain(member)

    def _instances(self) -> dict[str, str]:
        """Static members; an id that several members use is left out."""
        found: dict[str, set[str]] = {}
        for event in self.log.events:
            if isinstance(event, OfClient) and event.instance and event.member:
                found.setdefault(self._name(event.member), set()).add(event.instance)
        ids = [instance for those in found.values() for instance in those]
        return {
            name: instance
            for name, those in sorted(found.items())
            if len(those) == 1 and ids.count(instance := next(iter(those))) == 1
        }

    def _likely_interval(self) -> int:
        """Where the setting is not in the logs: no longer than the member had been in the group."""
        since: dict[str, float] = {}
        shortest = float(_MAX_POLL_MS)
        for rebalance in self.log.rebalances:
            for departure in rebalance.departures:
                name = self._name(departure.member)
                if departure.how == "poll":
                    shortest = min(shortest, 900 * (departure.at - since.get(name, self.begin)))
            since |= {self._name(member): rebalance.end or rebalance.at for member in rebalance.joined}
        return max(1000, round(shortest))

    def _likely_session(self) -> int:
        """Where the setting is not in the logs: no longer than the member's own log had been silent."""
        shortest = float(_SESSION_MS)
        gone = [known for rebalance in self.log.rebalances for known in rebalance.departures if known.how == "session"]
        for departure in gone:
            own = [
                event.at
                for event in self.log.events
                if isinstance(event, OfClient)
                and event.at < departure.at - 0.5
                and (event.member == departure.member or event.client == self.log.names.get(departure.member))
            ]
            shortest = min(shortest, 900 * (departure.at - max(own, default=self.begin)))
        return max(1000, round(shortest))

    def _topics(self, until: float) -> dict[str, int]:
        """Topics with the partitions that members had until then, at least one of each that is subscribed to."""
        found = partitions(self.log.events, until)
        subscribed = dict.fromkeys(self.subscriptions.topics(), 1) if found else {}
        return dict(sorted((subscribed | found).items())) or {_UNKNOWN_TOPIC: 2 * len(self.first)}

    def _systems(self) -> list[dict[str, object]]:
        """As it was, and the remedies: a longer interval, static members, the consumer protocol."""
        interval = longer_interval(self.log.figures) or 10 * self.poll_ms
        if self.consumer_protocol:
            told = [event.assignor for event in self.log.events if isinstance(event, TargetComputed)]
            strategy = _ON_SERVERS.get(told[-1] if told else "", "kafka:uniform")
            settings = self._server_settings()
        else:
            joins = [event.protocol for event in self.log.events if isinstance(event, Joined)]
            told = [protocol for protocol in joins if protocol in _STRATEGIES]
            strategy = f"kafka:{told[-1]}" if told else "kafka:range"
            settings = {"max.poll.interval.ms": self.poll_ms, "session.timeout.ms": self.session_ms}
        if age := self.log.figures.get("metadata.max.age.ms"):
            settings["metadata.max.age.ms"] = int(age)
        longer = {**settings, "max.poll.interval.ms": interval}
        systems: list[dict[str, object]] = [
            {"system": strategy, "label": "as it was", "settings": settings},
            {"system": strategy, "label": "a longer interval", "settings": longer},
        ]
        if not self.instances:
            systems.append({"system": f"{strategy}+static", "label": "static members", "settings": settings})
        if not self.consumer_protocol:
            settings = self._server_settings()
            systems.append({"system": "kafka:uniform", "label": "the consumer protocol", "settings": settings})
        return systems

    def _server_settings(self) -> dict[str, int]:
        """Of the consumer protocol, whose sessions are the broker's to set."""
        session = self.session_ms
        server_settings = {"max.poll.interval.ms": self.poll_ms, "group.consumer.session.timeout.ms": session}
        if session < _SESSION_MS:
            server_settings["group.consumer.min.session.timeout.ms"] = session
            server_settings["group.consumer.min.heartbeat.interval.ms"] = heartbeat = max(1, min(5000, session // 3))
            server_settings["group.consumer.heartbeat.interval.ms"] = heartbeat
        if session > _MOST_SESSION_MS:
            server_settings["group.consumer.max.session.timeout.ms"] = session
        return server_settings

    def _events(self, topics: Sequence[str]) -> list[Event]:
        events: list[Event] = []
        there, known = set(self.first), set(self.first)
        busy: dict[str, int] = {}
        for number, rebalance in enumerate(self.log.rebalances[1:], 1):
            for departure in rebalance.departures:
                name = self._name(departure.member)
                if name in there:
                    event = self._gone(departure, number)
                    event["at"] = f"{max(milliseconds(event['at']), busy.get(name, 0) + 1)}ms"
                    busy[name] = milliseconds(event["at"]) + milliseconds(event.get("for", "0ms"))
                    events.append(event)
                    if "leave" in event or "crash" in event:
                        there.discard(name)
            if any(cause.name in _JOINS for cause in rebalance.causes) or rebalance.doubts:
                for name in sorted({self._name(member) for member in rebalance.joined} - there):
                    at: Event = {"at": self._at(rebalance.at)}
                    events.append(
                        at | {"restart": name} if name in known else at | {"join": name} | self._member(name, topics)
                    )
                    there.add(name)
                    known.add(name)
        changes = self.subscriptions.changes(known, self.begin)
        return possible([*events, *self._restarts(known), *self._coordinator_restarts(), *changes], self.first)

    def _coordinator_restarts(self) -> list[Event]:
        """The broker was away from when a client lost it, or a little earlier, until it had loaded the group anew."""
        events: list[Event] = []
        lost = [event.at for event in self.log.events if isinstance(event, CoordinatorGone)]
        back = self.begin
        for loaded in sorted({event.at for event in self.log.events if isinstance(event, Loaded)}):
            if loaded > back + _ONE_RESTART_S:
                gone = min((at for at in lost if back < at < loaded), default=loaded - _ONE_RESTART_S)
                events.append({"at": self._at(gone), "broker": _BROKER, "does": "stop"})
                events.append({"at": self._at(loaded), "broker": _BROKER, "does": "return"})
                back = loaded
        return events

    def _restarts(self, known: set[str]) -> list[Event]:
        """Static members that were restarted without a rebalance."""
        return [
            {"at": self._at(event.at), "restart": name}
            for event in self.log.happenings
            if event.cause == "static_member_restarted"
            for name in sorted({self._name(member) for member in event.members})
            if name in known and name in self.instances
        ]

    def _gone(self, departure: Departure, number: int) -> Event:
        """The event before a departure: a loop that stands still, a process that freezes, dies or closes."""
        name = self._name(departure.member)
        back = self._back(departure, number)
        if departure.how == "poll":
            allowed = self.poll_ms / 1000
            beyond = (back.at - departure.at) if back else allowed / 2
            return {
                "at": self._at(departure.at - allowed),
                "stop_polling": name,
                "for": f"{round(1000 * (allowed + beyond))}ms",
            }
        if departure.how in {"session", "not_rejoined"}:
            silent = departure.at - self.session_ms / 1000
            if back is not None and any(cause.name == AFTER_FENCING for cause in back.causes):
                return {"at": self._at(silent), "hang": name, "for": f"{round(1000 * (back.at - silent))}ms"}
            return {"at": self._at(silent), "crash": name}
        return {"at": self._at(departure.at), "leave": name}

    def _back(self, departure: Departure, number: int) -> Rebalance | None:
        name = self._name(departure.member)
        later = self.log.rebalances[number : number + 20]
        return next((each for each in later if each.at > departure.at and name in map(self._name, each.joined)), None)

    def _at(self, at: float) -> str:
        return clock(at, self.begin)


def replay(log: GroupLog) -> dict[str, object]:
    """The scenario's fields: members, partitions, settings and events of the logs, one variant as it was and those
    with a remedy. Raises `UserError` for a group that cannot be replayed."""
    if not log.rebalances:
        raise UserError(f"--scenario: no rebalance of {log.group} in these logs, expected at least its start")
    return rocketmq_fields(log) if log.system == "rocketmq" else _kafka_fields(log)
