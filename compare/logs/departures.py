"""Who left a Kafka group and how, who may be back under another id, and whom everybody waited for in a rebalance of
the classic protocol: the member that joined last.

The coordinator completes a rebalance when the last member has joined, or when it removes those that have not. The
broker's log names new members and those it removes; a client's log says when it joined and when the join was through,
both by its own clock. Where neither shows who came last, it is said to be unknown.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from compare.logs.facts import Departure, Fact, GroupLog, Ordered, Process, Processes, Rebalance, client_of

CLOSE_S = 5.0
"""The broker's and the client's lines of the same leave are at most so far apart."""


def find_departures(log: GroupLog, facts: Sequence[Fact], processes: Processes) -> list[Departure]:
    departures: dict[tuple[str, int], Departure] = {}
    slow = Ordered(fact for fact in facts if fact.kind == "too_slow")
    back = {fact.member: fact.at for fact in facts if fact.kind == "k_joined"}
    times: dict[str, int] = {}
    for fact in sorted(facts, key=lambda each: not each.sure):
        how = _how(fact)
        if how is None:
            continue
        assert fact.at is not None
        for member in fact.names or ([fact.member] if fact.member else []):
            number = times.get(member, 0)
            latest = departures.get((member, number))
            if not fact.sure and latest is None and log.broker_seen:
                continue  # the broker did not know the member any more
            if latest is not None and (fact.at - latest.at < CLOSE_S + 10 or not fact.sure):
                latest.facts.append(fact)
                latest.how = how if latest.how == "unknown" else latest.how
                if fact.stream.role == "broker" and not any(e.stream.role == "broker" for e in latest.facts[:-1]):
                    latest.at = fact.at
                continue
            times[member] = number + 1
            departures[(member, number + 1)] = Departure(member, fact.at, how, [fact], processes.of_member.get(member))
    for departure in departures.values():
        if departure.how == "unknown":
            _ask_clients(departure, slow, processes, back)
    if not log.broker_seen:
        _silent_leaves(departures, slow.facts, len(facts), processes)
    return sorted(departures.values(), key=lambda each: each.at)


def _how(fact: Fact) -> str | None:
    if fact.kind in {"left", "leaves"}:
        if "poll timeout" in fact.text:
            return "poll"
        if "clos" in fact.text or "unsubscribe" in fact.text or "shut" in fact.text:
            return "clean"
        return "unknown"
    if fact.kind == "k_moved" and fact.text.endswith("PREPARE_LEAVING"):
        return None if fact.instance else "unknown"  # a static member's place is kept
    kinds = {"k_left": "unknown", "gives_up_id": "unknown", "failed": "session", "k_fenced": "session"}
    if fact.kind == "k_fenced" and "session" not in fact.text:
        return "not_rejoined"
    return kinds.get(fact.kind) or ("not_rejoined" if fact.kind == "not_rejoined" else None)


def _ask_clients(
    departure: Departure, slow: Ordered, processes: Processes, back: Mapping[str | None, float | None]
) -> None:
    """A leave without a reason: its client's own lines tell, or that the same process joins again."""
    name = client_of(departure.member)
    for fact in slow.between(departure.at - CLOSE_S, departure.at + CLOSE_S):
        same = fact.client == name if departure.process is None else processes.of(fact) == departure.process
        if same:
            departure.how = "poll"
            departure.facts.append(fact)
            return
    if (back.get(departure.member) or 0.0) > departure.at and any(fact.kind == "k_left" for fact in departure.facts):
        departure.how = "poll"  # a new process would have drawn a new id
    elif departure.process is not None and any(fact.kind in {"leaves", "k_moved"} for fact in departure.facts):
        departure.how = "clean"


def _silent_leaves(
    found: dict[tuple[str, int], Departure], slow: Iterable[Fact], lines: int, processes: Processes
) -> None:
    """Without the broker's log: a client that warns of its poll timeout leaves, though it does not print that."""
    told = {id(fact) for each in found.values() for fact in each.facts}
    for fact in slow:
        assert fact.at is not None
        if id(fact) in told:
            continue
        process = processes.of(fact)
        members = processes.members_of.get(process)
        member = members[-1] if members else fact.client
        left = [departure.at for key, departure in found.items() if key[0] == member]
        if member and not any(abs(at - fact.at) < 15 for at in left):
            found[(member, lines + fact.line)] = Departure(member, fact.at, "poll", [fact], process)


_BACK = {
    "poll": "member_rejoined_after_poll_timeout",
    "session": "member_rejoined_after_fencing",
    "not_rejoined": "member_rejoined_after_fencing",
}

_MOST = 2000
"""So many members that never came back are remembered."""

_NOTICED_S = 120.0
"""A client that was fenced says so at most so long before it joins again."""


class Away:
    """Who left and is not back; ``lines``: those of clients."""

    def __init__(self, processes: Processes, lines: Ordered) -> None:
        self._processes = processes
        self._fenced = lines.of("unknown_member", "session_over")
        self._away: list[Departure] = []

    def add(self, departure: Departure) -> None:
        """A member left."""
        self._away = [*self._away[-_MOST:], departure]

    def is_back(self, member: str) -> None:
        """A member is there: whoever it was before is not away any more."""
        known = self._predecessor(member)
        if known is not None:
            self._away.remove(known)

    def why_joined(self, member: str, at: float) -> tuple[str, ...]:
        """The causes that the logs allow for a member that is new at a time, likeliest first."""
        known = self._predecessor(member)
        process = self._processes.of_member.get(member)
        if known is None:
            return ("member_rejoined_after_fencing",) if self._was_fenced(member) else ("member_joined",)
        if process is not None and known.process is not None:
            return (_BACK.get(known.how, "member_joined"),) if process == known.process else ("member_joined",)
        if known.how == "poll":
            return (_BACK["poll"],)
        if known.how == "clean":
            return ("member_joined",)
        if known.how != "unknown" and self._noticed(client_of(member), at):
            return (_BACK[known.how],)
        return ("member_joined", _BACK.get(known.how, _BACK["poll"]))

    def _noticed(self, client: str, at: float) -> bool:
        return any(fact.client == client for fact in self._fenced.between(at - _NOTICED_S, at + 0.5))

    def _was_fenced(self, member: str) -> bool:
        """Whether the same process had another id before and said that the coordinator did not know that one."""
        process = self._processes.of_member.get(member)
        earlier = self._processes.members_of.get(process, []) if process else []
        return member in earlier[1:] and any(
            fact.kind == "unknown_member" and self._processes.of(fact) == process for fact in self._fenced.facts
        )

    def _predecessor(self, member: str) -> Departure | None:
        """Who left and may be back as this member: the same process, the same id, or the same client id."""
        process = self._processes.of_member.get(member)
        waiting = self._away
        for known in reversed(waiting):
            if known.member == member or (process is not None and known.process == process):
                return known
        if process is not None and process[1] and any(known.process is not None for known in waiting):
            waiting = [known for known in waiting if known.process is None or known.process[:2] == process[:2]]
        for known in reversed(waiting):
            if client_of(known.member) == client_of(member) != member:
                return known
        return None


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
        at_brokers: _Waits = {}
        for fact in self._new.between(max(last, (each.begun or last) - _AT_ONCE_S), each.stabilized):
            if fact.sure and fact.stream.role == "broker" and fact.member:
                at_brokers[fact.member] = (each.stabilized - (fact.at or 0.0), [fact])
        prepares = [fact for fact in each.facts if fact.kind == "prepare" and fact.sure]
        if each.begun is not None and prepares and each.trigger in {"add", "rejoin"}:
            for member in each.trigger_members:
                at_brokers.setdefault(member, (each.stabilized - each.begun, prepares[:1]))
        return at_brokers

    def _at_clients(self, each: Rebalance, last: float) -> _Waits:
        at_clients: _Waits = {}
        for fact in each.facts:
            if fact.kind != "joined" or not fact.sure or fact.at is None or fact.stream.role == "broker":
                continue
            member = fact.member or next((name for name, at in each.seen.items() if at == fact.at), None)
            process = self._processes.of(fact)
            if member is None or process not in self._sent:
                continue
            sent = self._sent[process].latest(fact.at) or self._gave_up[process].latest(fact.at)
            if sent is not None and (sent.at or 0.0) > last:
                at_clients[member] = (fact.at - (sent.at or 0.0), [sent, fact])
        return at_clients


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
