"""Who was in a group when, and whose partitions stood still: what the lanes of the picture show."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from compare.logs.facts import client_of
from compare.logs.rebalances import GroupLog, Rebalance

Span = tuple[float, float]
"""From and to, seconds since 1970."""

_GONE = frozenset({"member_left", "connection_closed", "heartbeat_expired"})


@dataclass(slots=True)
class Presence:
    """By member's name: the times in the group, and the times without its partitions."""

    there: dict[str, list[Span]] = field(default_factory=dict)
    paused: dict[str, list[Span]] = field(default_factory=dict)


def presence(log: GroupLog, begin: float, end: float) -> Presence:
    """Of all members that the logs tell of, between the begin and the end of the logs."""
    found = _Book(begin)
    if log.system == "rocketmq":
        _rocketmq(log, found)
    else:
        _kafka(log, found)
    for name in list(found.since):
        found.goes(name, end)
    pauses: dict[str, list[Span]] = {}
    for each in log.rebalances:
        for member, span in sorted(each.pauses.items()):
            pauses.setdefault(_name(log, member), []).append(span)
    return Presence(dict(sorted(found.spans.items())), pauses)


class _Book:
    """Who is there since when."""

    def __init__(self, begin: float) -> None:
        self.begin = begin
        self.since: dict[str, float] = {}
        self.spans: dict[str, list[Span]] = {}

    def comes(self, name: str, at: float) -> None:
        self.since.setdefault(name, at)
        self.spans.setdefault(name, [])

    def goes(self, name: str, at: float) -> None:
        """Who was never seen coming was there before the logs begin."""
        if name not in self.since and name in self.spans:
            return
        self.spans.setdefault(name, []).append((self.since.pop(name, self.begin), at))


def _kafka(log: GroupLog, found: _Book) -> None:
    for each in log.rebalances:
        for departure in each.departures:
            found.goes(_name(log, departure.member), departure.at)
        now = {_name(log, member) for member in _members(each)}
        if each.after is not None:
            for name in sorted(found.since.keys() - now):
                found.goes(name, each.at)
        joined = {_name(log, member) for member in each.joined}
        for name in sorted(now - found.since.keys()):
            found.comes(name, each.at if name in joined else each.end or each.at)


def _members(each: Rebalance) -> Sequence[str]:
    return each.after if each.after is not None else [*each.joined, *each.seen]


def _rocketmq(log: GroupLog, found: _Book) -> None:
    moves = [(fact.at or 0.0, kind in _GONE, fact.client or "") for kind, fact in log.moves]
    known = {name for _, _, name in moves}
    for fact in log.facts:
        if fact.client and fact.client not in known and fact.kind in {"r_added", "r_result"}:
            known.add(fact.client)
            moves.append((found.begin, False, fact.client))
    for at, gone, client in sorted(moves):
        name = _name(log, client)
        if gone:
            found.goes(name, at)
        else:
            found.comes(name, at)


def _name(log: GroupLog, member: str) -> str:
    return log.names.get(member) or client_of(member)
