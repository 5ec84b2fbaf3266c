"""What happened in a Kafka group without a rebalance (static members, refused joins, restarts of the coordinator), how
long its members were without partitions, and how long slow members took.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from compare.logs.departures import LastToJoin
from compare.logs.facts import Departure, Event, Fact, GroupLog, Ordered, Process, Processes, Rebalance, client_of

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
    events: list[Event] = []
    for fact in facts:
        if fact.kind == "refused":
            names = _named(fact.client or fact.member)
            if events and events[-1].members == names and (fact.at or 0.0) - events[-1].at < 2.0:
                events[-1].facts.append(fact)
            else:
                events.append(Event("inconsistent_protocol", fact.at or 0.0, names, [fact]))
    return events


def _unreleased(facts: Sequence[Fact]) -> list[Event]:
    events: list[Event] = []
    for fact in facts:
        if fact.kind in {"k_refused", "unreleased", "k_fatal"}:
            if events and _near(events[-1].facts[-1], fact):
                events[-1].facts.append(fact)
                events[-1].members = events[-1].members or _named(fact.member)
            elif fact.kind != "k_fatal":
                events.append(Event("unreleased_instance_id", fact.at or 0.0, _named(fact.member), [fact]))
    for event in events:
        own = next((fact.client for fact in event.facts if fact.client), None)
        event.members = _named(own) or event.members  # it never was a member
    return events


def _restarts(log: GroupLog, facts: Sequence[Fact], shared: Sequence[Fact]) -> list[Event]:
    """The coordinator went away and came back, and the members went on: no rebalance."""
    gone = [fact for fact in facts if fact.kind == "coordinator_gone" and "coordinator unavailable" in fact.text]
    loaded = [fact for fact in facts if fact.kind == "loaded" and (fact.generation or fact.text != "0")]
    events: list[Event] = []
    for fact in sorted([*gone, *loaded], key=lambda each: each.at or 0.0):
        if events and (fact.at or 0.0) - (events[-1].facts[-1].at or 0.0) < 60:
            events[-1].facts.append(fact)
        else:
            events.append(Event("coordinator_restart", fact.at or 0.0, [], [fact]))
    caused = [rebalance for rebalance in log.rebalances if rebalance.cause == "coordinator_restart"]
    hit = [
        event
        for event in events
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


MAX_POLL = "max.poll.interval.ms"


def find_waiting(log: GroupLog, processes: Processes) -> None:
    """Set pauses and waited_for of every rebalance of the log, and what was measured about slow members."""
    last_to_join = LastToJoin(log, processes)
    own: dict[Process, list[Fact]] = defaultdict(list)
    for fact in Ordered(each for each in log.facts if each.sure and each.stream.role != "broker").facts:
        own[processes.of(fact)].append(fact)
    given_up = {process: _Own(facts, processes.members_of.get(process), process) for process, facts in own.items()}
    last = float("-inf")
    for rebalance in log.rebalances:
        _pauses(rebalance, given_up.values(), last)
        last_to_join.find(rebalance, last)
        last = rebalance.end if rebalance.end is not None else rebalance.at
    _measure(log, own)


class _Own:
    """What one process printed about its partitions."""

    def __init__(self, facts: Sequence[Fact], members: Sequence[str] | None, process: Process) -> None:
        ordered = Ordered(facts)
        self.gave = Ordered(fact for fact in ordered.of("revoked", "lost").facts if _some(fact.text))
        self.got = ordered.of("given")
        self.named = Ordered(fact for fact in ordered.of("joined", "k_moved").facts if fact.member)
        self.name = members[-1] if members else process[1] or None

    def member(self, end: float) -> str | None:
        """The id that the process had in the generation that ends then."""
        known = self.named.latest(end + 1.0)
        return known.member if known else self.name


def _some(text: str) -> bool:
    """Whether a list of partitions is not empty; librdkafka prints none."""
    return text == "" or text.strip(" {}set()[]") != ""


def _pauses(each: Rebalance, processes: Iterable[_Own], last: float) -> None:
    end = each.end if each.end is not None else each.at
    for own in processes:
        gave = own.gave.between(last, end + 0.5)
        member = own.member(end) if gave else None
        if member is None:
            continue
        begun = gave[0].at or 0.0
        got = own.got.next(begun)
        if got is not None:
            each.pauses[member] = (begun, got.at or begun)


def _measure(log: GroupLog, own: dict[Process, list[Fact]]) -> None:
    """The longest batch, the longest pause of a fenced member: from leaving to the first line of joining again."""
    settings = _settings(log)
    for facts in own.values():
        for place, fact in enumerate(facts):
            if fact.kind == "too_slow" or (fact.kind == "leaves" and "poll timeout" in fact.text):
                back = next((each.at for each in facts[place + 1 :] if each.kind in {"joining", "k_moved"}), None)
                allowed = (fact.generation if fact.kind == "too_slow" else None) or settings.get(
                    (id(fact.stream), MAX_POLL)
                )
                if allowed:
                    _raise(log, MAX_POLL, float(allowed))
                if back is not None:
                    _raise(log, "beyond_s", back - (fact.at or 0.0))
    for rebalance in log.rebalances:
        for departure in rebalance.departures:
            if departure.process is None:
                continue
            back = next(
                (other.at for other in log.rebalances if other.at > departure.at and _back(other, departure)), None
            )
            if back is not None:
                _raise(log, f"away_{departure.how}_s", back - departure.at)


def _settings(log: GroupLog) -> dict[tuple[int, str], int]:
    """Settings that clients print when they start, by stream and name; the longest of the others are figures."""
    settings = {}
    for fact in log.facts:
        if fact.kind == "setting" and fact.generation:
            settings[(id(fact.stream), fact.text)] = fact.generation
            if fact.text != MAX_POLL:
                _raise(log, fact.text, float(fact.generation))
    return settings


def _back(other: Rebalance, departure: Departure) -> bool:
    name = client_of(departure.member)
    return any(departure.member == member or name == client_of(member) for member in other.joined)


def _raise(log: GroupLog, name: str, value: float) -> None:
    log.figures[name] = max(value, log.figures.get(name, 0.0))
