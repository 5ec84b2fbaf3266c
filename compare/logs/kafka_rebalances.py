"""Lines of one Kafka group into its rebalances: generations of the classic protocol, epochs of the consumer's."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from compare.logs.departures import CLOSE_S, find_departures
from compare.logs.facts import Departure, Fact, GroupLog, Ordered, Processes, Rebalance, client_of

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


_MOVES = frozenset(
    {
        "asked",
        "gives_up_id",
        "given_id",
        "grown",
        "joining",
        "leaves",
        "loading",
        "resubscribed",
        "second_round",
        "session_over",
        "told",
        "too_slow",
        "unknown_member",
    }
)
"""Lines of clients that belong to a rebalance which is about to come."""

_OF_EPOCHS = frozenset({"joined", "k_moved", "k_epoch"})


def find_rebalances(log: GroupLog, processes: Processes, clients_given: bool) -> None:
    """Fill the log's rebalances, in order of time, with who came and went; causes are not looked for here."""
    facts = Ordered(log.facts)
    log.broker_seen = any(fact.stream.role == "broker" for fact in facts.facts)
    log.clients_seen = clients_given
    builder = Generations(log.group)
    with_epochs = any(fact.kind == "k_bumped" for fact in facts.facts)
    for fact in facts.facts:
        builder.take(fact, with_epochs)
    log.rebalances = sorted(
        (each for each in builder.found if any(fact.sure for fact in each.facts) or each.consumer_protocol),
        key=lambda each: (each.at, each.generation or 0),
    )
    departures = find_departures(log, facts.facts, processes)
    if not log.broker_seen:
        _unseen_generations(log, departures)
        _begin_epochs(log, facts)
    _Sharing(log, facts, departures).share_out()
    _members(log)


class _Sharing:
    """Gives every departure and every new member to the rebalance that it belongs to."""

    def __init__(self, log: GroupLog, facts: Ordered, departures: Sequence[Departure]) -> None:
        self.log = log
        self.moves = Ordered(fact for fact in facts.facts if fact.kind in _MOVES)
        self.begins = Ordered(
            fact
            for fact in facts.facts
            if fact.sure and (fact.kind in _MOVES or (fact.kind == "k_moved" and _begins_epoch(fact)))
        )
        self.new = facts.of("added", "announced", "given_id")
        self.departures = departures
        self.left_at = [departure.at for departure in departures]
        self.own: dict[str, list[Fact]] = defaultdict(list)
        for fact in facts.facts:
            if fact.member and fact.kind in _OF_EPOCHS:
                self.own[fact.member].append(fact)

    def share_out(self) -> None:
        """Starts that only clients saw, lines, departures and new members of every rebalance."""
        last = float("-inf")
        for rebalance in self.log.rebalances:
            end = rebalance.end if rebalance.end is not None else rebalance.at
            if not rebalance.consumer_protocol and (rebalance.begun is None or not rebalance.trigger):
                self._begin(rebalance, last, end)
            rebalance.notes += self.moves.between(max(last, rebalance.at - CLOSE_S), end + 0.5)
            first, past = bisect_right(self.left_at, last), bisect_right(self.left_at, end + 0.5)
            rebalance.departures = [known for known in self.departures[first:past] if _fits(known, rebalance)]
            rebalance.joined = self._new_members(rebalance, last, end)
            last = end

    def _begin(self, each: Rebalance, last: float, end: float) -> None:
        moves = self.begins.between(last + 0.001, end - 0.000_001)
        if moves:
            each.begun = min(each.at, moves[0].at or each.at)
            each.facts.insert(0, moves[0])

    def _new_members(self, each: Rebalance, last: float, end: float) -> list[str]:
        named = list(each.trigger_members) if each.trigger == "add" else []
        named += [fact.member for fact in each.notes if fact.kind in {"k_joined", "k_replaced"} and fact.member]
        for fact in self.new.between(last, end + 0.05):
            if fact.member and not (fact.kind == "announced" and fact.text):
                in_time = each.count is None or (fact.at or end) <= (each.stabilized or end) + 0.02
                if in_time or fact.member in each.seen:
                    named.append(fact.member)
        if not any(fact.stream.role == "broker" for fact in each.facts):
            named += self._first_seen(each)
        members = each.listed or list(each.seen)
        known = {*members, *each.trigger_members}
        return [name for name in dict.fromkeys(named) if not members or name in known]

    def _first_seen(self, each: Rebalance) -> list[str]:
        """Members whose first own line about a generation or epoch is about this one."""
        found = []
        for member in each.seen:
            own = self.own[member]
            if each.consumer_protocol:
                first = next((fact for fact in own if fact.kind == "k_epoch"), None)
                entered = [fact for fact in own if fact.text.startswith("JOINING to")]
                told = [fact.generation for fact in [*entered, *([first] if first and not entered else [])]]
                if each.generation in told:
                    found.append(member)
            elif own and own[0].kind == "joined" and own[0] in each.facts:
                found.append(member)
        return found


def _fits(departure: Departure, rebalance: Rebalance) -> bool:
    return rebalance.begun is None or departure.at <= rebalance.begun + 0.5 or departure.how != "unknown"


def _begins_epoch(fact: Fact) -> bool:
    return fact.kind in {"gives_up_id", "started"} or fact.text.endswith(("to JOINING", "PREPARE_LEAVING"))


def _unseen_generations(log: GroupLog, departures: Sequence[Departure]) -> None:
    """A number that nobody who writes logs was in: the one of a member that left before."""
    for before, after in zip(list(log.rebalances), log.rebalances[1:], strict=False):
        if before.generation is None or after.generation is None or after.consumer_protocol:
            continue
        start, end = before.end or before.at, after.end or after.at
        left = [departure for departure in departures if start < departure.at < end and departure.facts[0].sure]
        if 0 < len(left) <= after.generation - before.generation - 1:
            log.rebalances += [
                Rebalance(log.group, number, begun=each.at, first=each.at, facts=list(each.facts))
                for number, each in enumerate(left, before.generation + 1)
            ]
    log.rebalances.sort(key=lambda rebalance: (rebalance.at, rebalance.generation or 0))


def _begin_epochs(log: GroupLog, facts: Ordered) -> None:
    """Without the broker's log an epoch began when the member joined or left that it is due to."""
    begins = facts.of("k_moved", "gives_up_id", "started")
    last = float("-inf")
    for rebalance in log.rebalances:
        if rebalance.consumer_protocol and rebalance.begun is not None:
            causes = [
                fact.at or 0.0 for fact in begins.between(rebalance.begun - 3.0, rebalance.begun) if _begins_epoch(fact)
            ]
            rebalance.begun = max(last, min(causes, default=rebalance.begun))
            last = rebalance.begun


def _members(log: GroupLog) -> None:
    """Who is in the group before and after, where the logs give it completely."""
    known: list[str] | None = None
    for rebalance in log.rebalances:
        rebalance.before = known
        if rebalance.listed is not None:
            if known is not None and not log.broker_seen:
                rebalance.joined += [
                    name for name in rebalance.listed if name not in known and name not in rebalance.joined
                ]
            known = sorted(rebalance.listed)
        elif rebalance.emptied:
            known = []
        else:
            gone = {departure.member for departure in rebalance.departures}
            start = known if known is not None else ([] if rebalance.generation == 1 else None)
            if start is not None:
                known = sorted({*(name for name in start if name not in gone), *rebalance.joined, *rebalance.seen})
                if rebalance.count is not None and len(known) != rebalance.count:
                    known = None
        rebalance.after = known
        if rebalance.before is None and rebalance.generation == 1:
            rebalance.before = []
