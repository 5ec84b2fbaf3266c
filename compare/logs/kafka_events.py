"""What happened in a Kafka group without a rebalance: static members, refused joins, restarts of the coordinator."""

from collections.abc import Sequence

from compare.logs.facts import Fact, Ordered
from compare.logs.processes import Processes
from compare.logs.rebalances import Event, GroupLog

_SAME_S = 30.0
"""Lines about the same event are at most so far apart."""


def find_events(log: GroupLog, processes: Processes, shared: Sequence[Fact]) -> None:
    """Fill the log's events, in order of time."""
    facts = sorted((fact for fact in log.facts if fact.at is not None), key=lambda fact: fact.at or 0.0)
    found = [*_static(facts, log), *_refused(facts), *_unreleased(facts), *_restarts(log, facts, shared)]
    log.events = sorted(found, key=lambda event: event.at)


def _static(facts: Sequence[Fact], log: GroupLog) -> list[Event]:
    """A static member's place was taken: by its own next process, or by a twin that fences the first one."""
    found = []
    fenced = [fact for fact in facts if fact.kind in {"fenced", "twin"}]
    for fact in facts:
        if fact.kind not in {"static_replaced", "k_replaced"}:
            continue
        old = fact.text if fact.kind == "k_replaced" else fact.member
        new = fact.member if fact.kind == "k_replaced" else (fact.text or _new_id(fact, facts))
        twins = [
            other
            for other in fenced
            if other.member == old or (other.kind == "twin" and _near(other, fact) and _one_instance(other, fact))
        ]
        if twins:
            found.append(Event("fenced_instance", twins[0].at or 0.0, _named(old), [fact, *twins[:2]]))
        else:
            found.append(Event("static_member_restarted", fact.at or 0.0, _named(new or old), [fact]))
    if not found:
        found = _static_from_clients(facts, fenced)
    return found


def _static_from_clients(facts: Sequence[Fact], fenced: Sequence[Fact]) -> list[Event]:
    found = [
        Event("fenced_instance", fact.at or 0.0, _named(_latest(fact, facts) or fact.client), [fact])
        for fact in fenced
        if fact.kind == "twin"
    ]
    held: dict[tuple[str, int], Fact] = {}
    for fact in facts:
        if fact.kind != "joined" or not fact.instance or fact.generation is None:
            continue
        before = held.get((fact.instance, fact.generation))
        taken = before is not None and before.member != fact.member
        if before is not None and taken and not any(_one(fact, other) for other in found):
            found.append(Event("static_member_restarted", fact.at or 0.0, _named(fact.member), [before, fact]))
        held[(fact.instance, fact.generation)] = fact
    return found


def _one(fact: Fact, event: Event) -> bool:
    known = event.facts[-1]
    return _near(fact, known) and _one_instance(fact, known) and event.cause == "fenced_instance"


def _latest(twin: Fact, facts: Sequence[Fact]) -> str | None:
    own = [fact for fact in facts if fact.stream is twin.stream and fact.client == twin.client and fact.member]
    return next((fact.member for fact in reversed(own) if (fact.at or 0.0) <= (twin.at or 0.0)), None)


def _new_id(replaced: Fact, facts: Sequence[Fact]) -> str | None:
    """3.9 and 4.x do not name the new member id: the client that joins as this instance next does."""
    for fact in Ordered(facts).between((replaced.at or 0.0) - 0.5, (replaced.at or 0.0) + _SAME_S):
        taken = fact.kind == "joined" and fact.instance == replaced.instance and fact.member != replaced.member
        if taken:
            return fact.member
    return None


def _refused(facts: Sequence[Fact]) -> list[Event]:
    """One event per refused client within half a minute."""
    found: list[Event] = []
    for fact in facts:
        if fact.kind == "refused":
            names = _named(fact.client or fact.member)
            if found and found[-1].members == names and (fact.at or 0.0) - found[-1].at < 2.0:
                found[-1].facts.append(fact)
            else:
                found.append(Event("inconsistent_protocol", fact.at or 0.0, names, [fact]))
    return found


def _unreleased(facts: Sequence[Fact]) -> list[Event]:
    found: list[Event] = []
    for fact in facts:
        if fact.kind in {"k_refused", "unreleased", "k_fatal"}:
            if found and _near(found[-1].facts[-1], fact):
                found[-1].facts.append(fact)
                found[-1].members = found[-1].members or _named(fact.member)
            elif fact.kind != "k_fatal":
                found.append(Event("unreleased_instance_id", fact.at or 0.0, _named(fact.member), [fact]))
    for event in found:
        own = next((fact.client for fact in event.facts if fact.client), None)
        event.members = _named(own) or event.members  # it never was a member
    return found


def _restarts(log: GroupLog, facts: Sequence[Fact], shared: Sequence[Fact]) -> list[Event]:
    """The coordinator went away and came back, and the members went on: no rebalance."""
    gone = [fact for fact in facts if fact.kind == "coordinator_gone" and "coordinator unavailable" in fact.text]
    loaded = [fact for fact in facts if fact.kind == "loaded" and (fact.generation or fact.text != "0")]
    found: list[Event] = []
    for fact in sorted([*gone, *loaded], key=lambda each: each.at or 0.0):
        if found and (fact.at or 0.0) - (found[-1].facts[-1].at or 0.0) < 60:
            found[-1].facts.append(fact)
        else:
            found.append(Event("coordinator_restart", fact.at or 0.0, [], [fact]))
    caused = [each for each in log.rebalances if each.cause == "coordinator_restart"]
    hit = [
        event
        for event in found
        if not any(abs(each.at - (event.facts[-1].at or 0.0)) < 60 for each in caused)
        and (len({id(fact.stream) for fact in event.facts}) > 1 or any(fact.kind == "loaded" for fact in event.facts))
    ]
    return [event for event in hit if not _frozen(event)]


def _frozen(event: Event) -> bool:
    """One client that lost the coordinator alone was itself the one that stood still."""
    return len({id(fact.stream) for fact in event.facts}) == 1 and event.facts[0].kind == "coordinator_gone"


def _near(one: Fact, other: Fact) -> bool:
    return abs((one.at or 0.0) - (other.at or 0.0)) < _SAME_S


def _one_instance(one: Fact, other: Fact) -> bool:
    return one.instance is None or other.instance is None or one.instance == other.instance


def _named(member: str | None) -> list[str]:
    return [member] if member else []
