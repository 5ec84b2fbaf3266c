"""Whom everybody waited for in a rebalance of the classic protocol: the member that joined last.

The coordinator completes a rebalance when the last member has joined, or when it removes those that have not. The
broker's log names new members and those it removes; a client's log says when it joined and when the join was through,
both by its own clock. Where neither shows who came last, it is said to be unknown.
"""

from collections import defaultdict

from compare.logs.facts import Fact, Ordered
from compare.logs.processes import Process, Processes
from compare.logs.rebalances import GroupLog, Rebalance

LAST_BY_S = 1.0
"""Who joins last, so much later than the first, is the one that everybody waited for."""

_AT_ONCE_S = 0.1
"""A rebalance is through so soon after the last member has joined or was removed."""

_Waits = dict[str, tuple[float, list[Fact]]]
"""Members to the seconds from their join until the rebalance was through, with the lines that tell."""


class LastToJoin:
    """The joins of a group's members."""

    def __init__(self, log: GroupLog, processes: Processes) -> None:
        self._processes = processes
        lines: dict[Process, list[Fact]] = defaultdict(list)
        for fact in log.facts:
            if fact.sure and fact.kind in {"joining", "revoked", "lost"} and fact.stream.role != "broker":
                lines[processes.of(fact)].append(fact)
        self._gave_up = {process: Ordered(facts) for process, facts in lines.items()}
        self._sent = {process: known.of("joining") for process, known in self._gave_up.items()}
        self._new = Ordered(fact for fact in log.facts if fact.kind == "added" and fact.member)
        self._before: Rebalance | None = None

    def find(self, each: Rebalance, last: float) -> None:
        """Set `waited_for` and its evidence; ``last``: the end of the rebalance before."""
        before, self._before = self._before, each
        if each.consumer_protocol or each.emptied or each.stabilized is None or _cooperative(each):
            return
        if _starts(each, before):
            return  # an empty group waits for a time, not for a member
        if removed := _removed(each):
            each.waited_for, each.waiting = removed
            return
        each.waited_for, each.waiting = _last(each, self._at_brokers(each, last) | self._at_clients(each, last))

    def _at_brokers(self, each: Rebalance, last: float) -> _Waits:
        assert each.stabilized is not None
        found: _Waits = {}
        for fact in self._new.between(max(last, (each.begun or last) - _AT_ONCE_S), each.stabilized):
            if fact.sure and fact.stream.role == "broker" and fact.member:
                found[fact.member] = (each.stabilized - (fact.at or 0.0), [fact])
        prepares = [fact for fact in each.facts if fact.kind == "prepare" and fact.sure]
        if each.begun is not None and prepares and each.trigger in {"add", "rejoin"}:
            for member in each.trigger_members:
                found.setdefault(member, (each.stabilized - each.begun, prepares[:1]))
        return found

    def _at_clients(self, each: Rebalance, last: float) -> _Waits:
        found: _Waits = {}
        for fact in each.facts:
            if fact.kind != "joined" or not fact.sure or fact.at is None or fact.stream.role == "broker":
                continue
            member = fact.member or next((name for name, at in each.seen.items() if at == fact.at), None)
            process = self._processes.of(fact)
            if member is None or process not in self._sent:
                continue
            sent = self._sent[process].latest(fact.at) or self._gave_up[process].latest(fact.at)
            if sent is not None and (sent.at or 0.0) > last:
                found[member] = (fact.at - (sent.at or 0.0), [sent, fact])
        return found


def _cooperative(each: Rebalance) -> bool:
    """Whether members keep their partitions during the rebalance, so that nobody waits."""
    return "cooperative" in (each.cause or "") or any("cooperative" in fact.text for fact in each.facts)


def _starts(each: Rebalance, before: Rebalance | None) -> bool:
    return each.generation == 1 or each.before == [] or (before is not None and before.emptied)


def _removed(each: Rebalance) -> tuple[list[str], list[Fact]] | None:
    """Members that the coordinator removed to complete the rebalance: at the rebalance timeout, or when their session
    was over in the middle of it."""
    assert each.stabilized is not None
    for departure in reversed(each.departures):
        lines = [fact for fact in departure.facts if fact.stream.role == "broker"]
        waited = departure.at - (each.begun if each.begun is not None else departure.at)
        if departure.how not in {"session", "not_rejoined"} or not lines or waited <= LAST_BY_S:
            continue
        if -_AT_ONCE_S <= each.stabilized - departure.at <= _AT_ONCE_S:
            same = [
                known for known in each.departures if known.how == departure.how and known.at >= departure.at - 0.01
            ]
            return sorted({known.member for known in same}), lines
    return None


def _last(each: Rebalance, waits: _Waits) -> tuple[list[str], list[Fact]]:
    """The one that joined last, if others had waited for it; where only one member's join is not in the logs, that one
    if the rebalance was not yet through with the others."""
    if not waits:
        return [], []
    gone = {departure.member for departure in each.departures}
    members = each.after if each.after is not None else each.listed
    silent = [name for name in members or [] if name not in waits and name not in gone]
    least = min(wait for wait, _ in waits.values())
    longest = max(wait for wait, _ in waits.values())
    if least <= _AT_ONCE_S or (members is not None and not silent):
        late = sorted(name for name, (wait, _) in waits.items() if wait == least)
        if longest - least <= LAST_BY_S:
            return [], []
        return late, [fact for name in late for fact in waits[name][1]]
    if members is None or len(silent) != 1 or longest <= LAST_BY_S:
        return [], []
    return silent, [fact for _, facts in waits.values() for fact in facts][:4]
