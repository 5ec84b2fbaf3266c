"""Who left a Kafka group, and how."""

from collections.abc import Iterable, Mapping, Sequence

from compare.logs.facts import Fact, Ordered, client_of
from compare.logs.processes import Processes
from compare.logs.rebalances import Departure, GroupLog

CLOSE_S = 5.0
"""The broker's and the client's lines of the same leave are at most so far apart."""


def find_departures(log: GroupLog, facts: Sequence[Fact], processes: Processes) -> list[Departure]:
    found: dict[tuple[str, int], Departure] = {}
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
            latest = found.get((member, number))
            if not fact.sure and latest is None and log.broker_seen:
                continue  # the broker did not know the member any more
            if latest is not None and (fact.at - latest.at < CLOSE_S + 10 or not fact.sure):
                latest.facts.append(fact)
                latest.how = how if latest.how == "unknown" else latest.how
                if fact.stream.role == "broker" and not any(e.stream.role == "broker" for e in latest.facts[:-1]):
                    latest.at = fact.at
                continue
            times[member] = number + 1
            found[(member, number + 1)] = Departure(member, fact.at, how, [fact], processes.of_member.get(member))
    for departure in found.values():
        if departure.how == "unknown":
            _ask_clients(departure, slow, processes, back)
    if not log.broker_seen:
        _silent_leaves(found, slow.facts, len(facts), processes)
    return sorted(found.values(), key=lambda each: each.at)


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
        left = [each.at for key, each in found.items() if key[0] == member]
        if member and not any(abs(at - fact.at) < 15 for at in left):
            found[(member, lines + fact.line)] = Departure(member, fact.at, "poll", [fact], process)
