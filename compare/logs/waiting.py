"""How long the members of a Kafka group were without partitions, and how long slow members took."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from compare.logs.facts import Fact, Ordered, client_of
from compare.logs.joining import LastToJoin
from compare.logs.processes import Process, Processes
from compare.logs.rebalances import Departure, GroupLog, Rebalance

MAX_POLL = "max.poll.interval.ms"

_SOON = 20
"""Within so many rebalances a member that left is looked for again."""


def find_waiting(log: GroupLog, processes: Processes) -> None:
    """Set pauses and waited_for of every rebalance of the log, and what was measured about slow members."""
    last_to_join = LastToJoin(log, processes)
    own: dict[Process, list[Fact]] = defaultdict(list)
    for fact in Ordered(each for each in log.facts if each.sure and each.stream.role != "broker").facts:
        own[processes.of(fact)].append(fact)
    given_up = {process: _Own(facts, processes.members_of.get(process), process) for process, facts in own.items()}
    last = float("-inf")
    for each in log.rebalances:
        _pauses(each, given_up.values(), last)
        last_to_join.find(each, last)
        last = each.end if each.end is not None else each.at
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
    for each in log.rebalances:
        for departure in each.departures:
            if departure.process is None:
                continue
            back = next(
                (other.at for other in log.rebalances if other.at > departure.at and _back(other, departure)), None
            )
            if back is not None:
                _raise(log, f"away_{departure.how}_s", back - departure.at)


def _settings(log: GroupLog) -> dict[tuple[int, str], int]:
    """Settings that clients print when they start, by stream and name; the longest of the others are figures."""
    found = {}
    for fact in log.facts:
        if fact.kind == "setting" and fact.generation:
            found[(id(fact.stream), fact.text)] = fact.generation
            if fact.text != MAX_POLL:
                _raise(log, fact.text, float(fact.generation))
    return found


def _back(other: Rebalance, departure: Departure) -> bool:
    name = client_of(departure.member)
    return any(departure.member == member or name == client_of(member) for member in other.joined)


def _raise(log: GroupLog, name: str, value: float) -> None:
    log.figures[name] = max(value, log.figures.get(name, 0.0))
