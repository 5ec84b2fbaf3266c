"""What happened to a Kafka group as a scenario, so that a remedy can be tried on it with `equipoise compare`."""

import math
import re
from collections.abc import Mapping, Sequence

from compare.logs.rebalances import Departure, GroupLog, Rebalance
from compare.logs.remedies import longer_interval
from compare.scenarios.reading import scenario
from protocols.errors import UserError
from protocols.scenario.writing import as_yaml

_PARTITION = re.compile(r"topic='([^']+)', partition=(\d{1,9})|([^\s\[\],{}'=]+)-(\d{1,9})(?=[,\s\]]|$)")
_UNKNOWN_TOPIC = "topic"
_MAX_POLL_MS = 300_000
_SESSION_MS = 45_000
_AFTER_S = 60.0
_STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky")
_BROKER = "broker-1"


def replay(log: GroupLog) -> str:
    """The scenario as YAML: members, partitions, settings and events of the logs, one variant as it was and those
    with a remedy. Raises `UserError` for a group that cannot be replayed."""
    if log.system != "kafka":
        raise UserError(f"--scenario: {log.group} is a group of RocketMQ, expected one of Kafka")
    if any(each.consumer_protocol for each in log.rebalances):
        raise UserError(f"--scenario: {log.group} uses the consumer protocol, expected a group of the classic one")
    if not log.rebalances:
        raise UserError(f"--scenario: no rebalance of {log.group} in these logs, expected at least its start")
    return as_yaml(scenario(_Night(log).fields()))


class _Night:
    """A group's rebalances on the scenario's clock, which begins with the first of them."""

    def __init__(self, log: GroupLog) -> None:
        self.log = log
        self.names = _plain_names(log)
        self.begin = log.rebalances[0].at
        self.session_ms = int(log.figures.get("session.timeout.ms") or _SESSION_MS)
        self.poll_ms = int(log.figures.get("max.poll.interval.ms") or self._likely_interval())
        self.first = self._first_members()

    def fields(self) -> dict[str, object]:
        """The scenario's fields as `compare.scenarios.reading.scenario` takes them."""
        growths = [each.at for each in self.log.rebalances[1:] if each.cause == "partitions_added"]
        topics = self._topics(min(growths, default=math.inf))
        grown = {name: number for name, number in self._topics(math.inf).items() if number > topics.get(name, number)}
        events = self._events(list(topics))
        if growths and grown:
            events = sorted([*events, {"at": self._at(growths[0]), "queues": grown}], key=_seconds)
        end = max((each.end or each.at) - self.begin for each in self.log.rebalances) + _AFTER_S
        last = max((_ms_of(event["at"]) + _ms_of(event.get("for", "0ms")) for event in events), default=0)
        return {
            "name": f"{self.log.group} as its logs tell",
            "about": "Written by equipoise logs. Partitions and settings are those that the logs show, else defaults.",
            "brokers": [_BROKER],
            "topics": {name: {"queues": number} for name, number in topics.items()},
            "group": {
                "name": _plain(self.log.group),
                "members": {name: {"subscribe": list(topics)} for name in self.first},
            },
            "run": {"for": f"{max(math.ceil(end * 1000), last + 60_000)}ms", "seed": 1},
            "systems": self._systems(),
            "events": events,
        }

    def _first_members(self) -> list[str]:
        first = self.log.rebalances[0]
        known = first.after or first.listed or list(first.seen) or first.joined or first.members
        names = sorted({self._name(member) for member in known})
        if not names:
            raise UserError(f"--scenario: the logs name no member of {self.log.group}, expected logs of its clients")
        return names

    def _name(self, member: str) -> str:
        return self.names.get(member) or _plain(member)

    def _likely_interval(self) -> int:
        """Where the setting is not in the logs: no longer than the member had been in the group."""
        since: dict[str, float] = {}
        shortest = float(_MAX_POLL_MS)
        for each in self.log.rebalances:
            for departure in each.departures:
                name = self._name(departure.member)
                if departure.how == "poll":
                    shortest = min(shortest, 900 * (departure.at - since.get(name, self.begin)))
            since |= {self._name(member): each.end or each.at for member in each.joined}
        return max(1000, round(shortest))

    def _topics(self, until: float) -> dict[str, int]:
        """Topics with the partitions that members had until then."""
        found: dict[str, int] = {}
        for fact in self.log.facts:
            if fact.kind in {"given", "revoked", "lost"} and (fact.at or 0.0) <= until:
                for first, number, second, other in _PARTITION.findall(fact.text):
                    topic = first or second
                    found[topic] = max(found.get(topic, 0), int(number or other) + 1)
        return dict(sorted(found.items())) or {_UNKNOWN_TOPIC: 2 * len(self.first)}

    def _systems(self) -> list[dict[str, object]]:
        told = [fact.text for fact in self.log.facts if fact.kind == "joined" and fact.text in _STRATEGIES]
        strategy = f"kafka:{told[-1]}" if told else "kafka:range"
        interval = longer_interval(self.log.figures) or 10 * self.poll_ms
        settings = {"max.poll.interval.ms": self.poll_ms, "session.timeout.ms": self.session_ms}
        if age := self.log.figures.get("metadata.max.age.ms"):
            settings["metadata.max.age.ms"] = int(age)
        longer = {**settings, "max.poll.interval.ms": interval}
        return [
            {"system": strategy, "label": "as it was", "settings": settings},
            {"system": strategy, "label": "a longer interval", "settings": longer},
            {"system": f"{strategy}+static", "label": "static members", "settings": settings},
        ]

    def _events(self, topics: Sequence[str]) -> list[dict[str, object]]:
        events: list[tuple[float, dict[str, object]]] = []
        there, known = set(self.first), set(self.first)
        busy: dict[str, int] = {}
        for number, each in enumerate(self.log.rebalances[1:], 1):
            for departure in each.departures:
                name = self._name(departure.member)
                if name in there:
                    event = self._gone(departure, number)
                    event["at"] = f"{max(_ms_of(event['at']), busy.get(name, 0) + 1)}ms"
                    busy[name] = _ms_of(event["at"]) + _ms_of(event.get("for", "0ms"))
                    events.append((_seconds(event), event))
                    if "leave" in event or "crash" in event:
                        there.discard(name)
            if each.cause in {"member_joined", "member_rejoined_after_poll_timeout", "member_rejoined_after_fencing"}:
                for name in sorted({self._name(member) for member in each.joined} - there):
                    join: dict[str, object] = {"at": self._at(each.at)}
                    join |= {"restart": name} if name in known else {"join": name, "subscribe": list(topics)}
                    events.append((_seconds(join), join))
                    there.add(name)
                    known.add(name)
        return [event for _, event in sorted(events, key=lambda pair: pair[0])]

    def _gone(self, departure: Departure, number: int) -> dict[str, object]:
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
            if back is not None and back.cause == "member_rejoined_after_fencing":
                return {"at": self._at(silent), "hang": name, "for": f"{round(1000 * (back.at - silent))}ms"}
            return {"at": self._at(silent), "crash": name}
        return {"at": self._at(departure.at), "leave": name}

    def _back(self, departure: Departure, number: int) -> Rebalance | None:
        name = self._name(departure.member)
        later = self.log.rebalances[number : number + 20]
        return next(
            (each for each in later if each.at > departure.at and name in map(self._name, each.joined)),
            None,
        )

    def _at(self, at: float) -> str:
        return f"{max(1, round(1000 * (at - self.begin)))}ms"


def _seconds(event: Mapping[str, object]) -> float:
    return float(_ms_of(event["at"]))


def _ms_of(duration: object) -> int:
    return int(str(duration).removesuffix("ms"))


def _plain_names(log: GroupLog) -> dict[str, str]:
    return {member: _plain(name) for member, name in log.names.items()}


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-") or "member"
