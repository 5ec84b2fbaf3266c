"""Lines of one Kafka group put together by generation or epoch."""

import re

from compare.logs.facts import Fact, client_of
from compare.logs.rebalances import Rebalance

_LONG_S = 3600
"""The same generation after so many seconds of silence is another group of that name."""

_REASONS = (
    ("add", re.compile(r"^Adding new member (?P<member>\S+) with group instance id")),
    ("leave", re.compile(r"^explicit `LeaveGroup` request for \((?P<member>[^)]*)\) members")),
    ("leave", re.compile(r"^[Rr]emoving member (?P<member>\S+) on LeaveGroup")),
    ("expire", re.compile(r"^[Rr]emoving member (?P<member>\S+) on heartbeat expiration")),
    ("rejoin", re.compile(r"^[Ll]eader (?P<member>\S+) re-joining group during")),
    ("rejoin", re.compile(r"^Updating metadata for member (?P<member>\S+) during")),
)
_ONE_JOIN_S = 2.0
_CLIENT_REASON = re.compile(r"; client reason: (.*)$")
_SETTLING_S = 10.0
"""Members of the consumer protocol learn of an epoch with their heartbeats; a longer gap is something else."""

_RECENT = 50
"""So many rebalances back a generation is looked for."""


class Generations:
    """Collects the lines of each generation; the facts are to be taken in order of time."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.found: list[Rebalance] = []
        self.recent: list[Fact] = []

    def _generation(self, number: int, at: float) -> Rebalance:
        for each in reversed(self.found[-_RECENT:]):
            if each.generation == number and abs(at - (each.end or each.at)) < _LONG_S:
                return each
        new = Rebalance(self.group, number, first=at)
        self.found.append(new)
        return new

    def take(self, fact: Fact, with_epochs: bool) -> None:
        at, number = fact.at, fact.generation
        assert at is not None
        if fact.kind == "prepare" and number is not None:
            each = self._generation(number + 1, at)
            if each.begun is None or not each.trigger:
                each.begun, each.reason = at, fact.text
                each.trigger, each.trigger_members = _trigger(fact.text)
            each.facts.append(fact)
        elif fact.kind in {"stabilized", "emptied", "assigned"} and number is not None:
            self._settled(fact, number, at)
        elif fact.kind == "k_bumped" and number is not None:
            each = self._generation(number, at)
            each.begun, each.consumer_protocol, each.reason = at, True, fact.text
            each.notes = [known for known in self.recent if at - (known.at or at) < 1.0]
            each.facts += [*each.notes, fact]
            self.recent.clear()
        elif fact.kind == "k_target" and number is not None:
            self._generation(number, at).stabilized = at
        elif fact.kind in {"k_joined", "k_left", "k_fenced", "k_subscribed", "k_replaced", "left", "failed"}:
            self.recent.append(fact)
        elif fact.kind in {"joined", "shared_out"}:
            self._joined(fact, number, at)
        elif fact.kind == "lists" and fact.member:
            led = next(
                (each for each in reversed(self.found) if any(k.stream is fact.stream for k in each.facts)), None
            )
            if led is not None:
                led.listed = sorted({*(led.listed or []), fact.member})
        elif fact.kind in {"k_moved", "k_epoch"} and number is not None and number > 0:
            self._moved(fact, number, at, with_epochs)

    def _settled(self, fact: Fact, number: int, at: float) -> None:
        each = self._generation(number, at)
        if fact.kind == "assigned":
            each.ready = at
        else:
            each.stabilized = at
            each.emptied = fact.kind == "emptied"
            each.count = 0 if each.emptied else int(fact.text or 0)
        each.facts.append(fact)

    def _unnumbered(self, at: float) -> Rebalance:
        """Some clients do not print the generation: the one that is there, or their own cluster of joins."""
        for each in reversed(self.found[-_RECENT:]):
            if each.stabilized is not None and abs(at - each.stabilized) < _ONE_JOIN_S:
                return each
        new = Rebalance(self.group, first=at)
        self.found.append(new)
        return new

    def _joined(self, fact: Fact, number: int | None, at: float) -> None:
        each = self._unnumbered(at) if number is None else self._generation(number, at)
        if fact.kind == "shared_out":
            each.listed = list(fact.names)
        else:
            member = fact.member or self._member_of(fact)
            if member:
                each.seen.setdefault(member, at)
            if not any(known.stream.role == "broker" for known in each.facts):
                each.stabilized = at if each.stabilized is None else min(at, each.stabilized)
        each.facts.append(fact)

    def _member_of(self, fact: Fact) -> str | None:
        """Older Java clients do not print their member id: the latest one of the same client id."""
        for each in reversed(self.found[-_RECENT:]):
            for known in each.facts:
                for name in (*known.names, known.member or "", *each.trigger_members):
                    if name and client_of(name) == fact.client:
                        return name
        return fact.client

    def _moved(self, fact: Fact, number: int, at: float, with_epochs: bool) -> None:
        known = any(each.generation == number for each in self.found)
        if not known and with_epochs:
            return
        each = self._generation(number, at)
        if not known:
            each.consumer_protocol, each.begun = True, at
            each.facts.append(fact)
        if fact.member:
            each.seen.setdefault(fact.member, at)
        settled = fact.kind == "k_epoch" or fact.text.endswith("to STABLE")
        if settled and at - (each.ready or each.at) < _SETTLING_S and each is self.found[-1]:
            each.ready = at


def _trigger(reason: str) -> tuple[str, list[str]]:
    for kind, pattern in _REASONS:
        if match := pattern.search(reason):
            return kind, [name.strip() for name in match.group("member").split(",") if name.strip()]
    return "other", []


def client_reason(text: str) -> str:
    """What the client gave as its reason, "" where it gave none."""
    match = _CLIENT_REASON.search(text)
    said = (match.group(1) if match else "").strip().removesuffix(".")
    return "" if said == "not provided" else said
