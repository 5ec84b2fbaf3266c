"""A recording beside the runs of its scenario: what must be equal, and what must lie within the runs' range.

Equal must be, in one and the same run: who owns what in the end, and which queues never had an owner. Within the range
of all runs, widened by what a busy machine may do, must lie how often queues moved; how many times, how long at most
and in all queues had two owners or, after their first, none; how long they waited for the first; how many records were
delivered more than once. Each recorded move must be of a queue that comes to or goes from the same member in the same
phase of the script in some run (which of two that take it was first is chance), and each recorded interval must lie on
a queue that changes hands in that phase in some run. Requests: see `requests`.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

from compare.conformance.cases import Difference, Measure
from compare.conformance.ranges import NOISE_MS, within
from compare.conformance.rocketmq_recordings import requests
from compare.conformance.rocketmq_recordings.happened import Happened, Interval, Ownership, Request
from compare.conformance.rocketmq_recordings.requests import Order, Turn
from compare.conformance.rocketmq_recordings.scenario import Plan
from compare.conformance.rocketmq_recordings.script import RETRY_TOPIC, SHUTDOWN, START
from protocols.java import Queue
from rocketmq_selfbalance.cluster import REQUEST_CODES, QueryConsumerOffset


def compared(plan: Plan, real: Happened, runs: Sequence[Happened]) -> tuple[list[Difference], list[Measure]]:
    """The differences, none if the recording is as the runs are, and all that was compared."""
    measures = [
        *_equal(plan, real, runs),
        *_ranges(plan, real, runs),
        *_places(plan, real, runs),
        *_requests(plan, real, runs),
    ]
    differences = [
        Difference(measure.case, measure.quantity, measure.real, {"model": measure.model, "allowed": measure.allowed})
        for measure in measures
        if not measure.passed
    ]
    return differences, measures


def _equal(plan: Plan, real: Happened, runs: Sequence[Happened]) -> list[Measure]:
    """Field by field against the run that is equal in most of them."""
    recorded = exact(plan, real.ownership)
    told = [exact(plan, run.ownership) for run in runs]
    nearest = max(told, key=lambda each: sum(each[field] == value for field, value in recorded.items()))
    return [
        Measure(
            plan.recording.scenario,
            field,
            value,
            nearest[field],
            f"equal; so it is in {sum(each[field] == value for each in told)} of {len(told)} runs",
            nearest[field] == value,
        )
        for field, value in recorded.items()
    ]


def exact(plan: Plan, owned: Ownership) -> dict[str, list[str]]:
    """What must be equal: who owns what in the end, and which queues nobody ever owned."""
    fields = {f"final.{member.id}": _names(owned.final.get(member.id, ())) for member in plan.recording.members}
    had = {queue for queues in owned.final.values() for queue in queues}
    never = {each.queue for each in owned.waiting if each.until >= plan.recording.length_ms and each.queue not in had}
    return {**fields, "never_owned": _names(never)}


def _ranges(plan: Plan, real: Happened, runs: Sequence[Happened]) -> list[Measure]:
    case = plan.recording.scenario
    measures = [
        within(case, quantity, count(real.ownership), [count(run.ownership) for run in runs], 0.0, whole=True)
        for quantity, count in _COUNTS.items()
    ]
    measures += [
        within(case, quantity, lasts(plan, real.ownership), [lasts(plan, run.ownership) for run in runs])
        for quantity, lasts in _MILLISECONDS.items()
    ]
    again = [float(run.again) for run in runs]
    return [*measures, within(case, "records_delivered_again", real.again, again, _records_noise(plan, runs))]


def _longest(intervals: Iterable[Interval]) -> float:
    return max((interval.lasted for interval in intervals), default=0.0)


def _sum(intervals: Iterable[Interval]) -> float:
    return sum((interval.lasted for interval in intervals), 0.0)


def _first_owned(plan: Plan, owned: Ownership) -> list[float]:
    """When the queues that ever had an owner had their first."""
    return [each.until for each in owned.waiting if each.until < plan.recording.length_ms]


_ASK_OFFSET = REQUEST_CODES[QueryConsumerOffset]

_COUNTS: Mapping[str, Callable[[Ownership], int]] = {
    "moves": lambda owned: len(owned.moves),
    "double_owned_times": lambda owned: len(owned.double),
    "unowned_times": lambda owned: len(owned.unowned),
}

_MILLISECONDS: Mapping[str, Callable[[Plan, Ownership], float]] = {
    "double_owned_queue_ms": lambda _, owned: _sum(owned.double),
    "longest_double_owned_ms": lambda _, owned: _longest(owned.double),
    "unowned_queue_ms": lambda _, owned: _sum(owned.unowned),
    "longest_unowned_ms": lambda _, owned: _longest(owned.unowned),
    "last_first_owner_ms": lambda plan, owned: max(_first_owned(plan, owned), default=0.0),
}


def _records_noise(plan: Plan, runs: Sequence[Happened]) -> float:
    """What is produced in the noise's time to the queues that change hands."""
    moved = {move.queue for run in runs for move in run.ownership.moves}
    rates = {topic: each.per_second for each in plan.producing for topic in each.topics}
    return sum(rates.get(queue.topic, 0.0) for queue in moved) * NOISE_MS / 1000


def _places(plan: Plan, real: Happened, runs: Sequence[Happened]) -> list[Measure]:
    """Moves and intervals: on queues and in phases as in some run."""
    moved: set[tuple[int, Queue, str]] = set()
    changed: set[tuple[int, Queue]] = set()
    for run in runs:
        for each in run.ownership.moves:
            moved.update((_phase(plan, each.at), each.queue, member) for member in (each.before, each.after))
        for interval in (*run.ownership.double, *run.ownership.unowned):
            changed.update((_phase(plan, at), interval.queue) for at in (interval.since, interval.until))
    changed.update((number, queue) for number, queue, _ in moved)
    found: list[Measure] = []
    for move in real.ownership.moves:
        phases = _phases(plan, move.at)
        seen = [number for number in phases if (number, move.queue, move.after) in moved]
        what = f"move of {_name(move.queue)} to {move.after}"
        found.append(_placed(plan, what, move.at, phases, seen))
    for kind, intervals in (("double", real.ownership.double), ("no", real.ownership.unowned)):
        for interval in intervals:
            phases = _phases(plan, interval.since)
            seen = [number for number in phases if (number, interval.queue) in changed]
            found.append(_placed(plan, f"{kind} owner of {_name(interval.queue)}", interval.since, phases, seen))
    return found


def _placed(plan: Plan, what: str, at: float, phases: list[int], seen: list[int]) -> Measure:
    """That it happens in one of these phases."""
    return Measure(
        plan.recording.scenario,
        what,
        at,
        f"in phase {', '.join(map(str, seen))}" if seen else "in no run",
        f"phase {' or '.join(map(str, phases))}",
        bool(seen),
    )


def _phase(plan: Plan, at: float) -> int:
    return max(bisect_right(plan.phases, at) - 1, 0)


def _phases(plan: Plan, at: float) -> list[int]:
    """The phase of a recorded time; where it is close to another one that as well."""
    return sorted({_phase(plan, at + by) for by in (-NOISE_MS, 0.0, NOISE_MS)})


def _requests(plan: Plan, real: Happened, runs: Sequence[Happened]) -> list[Measure]:
    listened = [_by_member(plan, run.requests) for run in runs if run.requests is not None]
    if real.requests is None or not listened:
        return []
    case, found = plan.recording.scenario, []
    turns = _turns(plan)
    peers = frozenset((each.code, each.peer) for run in listened for told in run.values() for each in told)
    for member, sent in _by_member(plan, real.requests).items():
        others = [each[member] for each in listened]
        round_brokers = [requests.follows(other) for other in others]
        found.append(
            _subset(case, f"requests.{member}.round", requests.follows(sent), frozenset().union(*round_brokers))
        )
        found += _kinds(plan, member, sent, others, peers)
        orders = [requests.life(other) for other in others]
        found.append(_ordered(case, f"requests.{member}.order", requests.life(sent), orders))
        for number, (turn, until) in enumerate(turns.get(member, ())):
            orders = [requests.turn(other, turn, until) for other in others]
            what = f"requests.{member}.{number}.{'leave' if turn.leaves else 'start'}"
            found.append(_ordered(case, what, requests.turn(sent, turn, until), orders, whole=turn.leaves))
    return found


def _kinds(
    plan: Plan,
    member: str,
    sent: Sequence[Request],
    runs: Sequence[Sequence[Request]],
    peers: frozenset[tuple[int, str]],
) -> list[Measure]:
    """Codes, phase by phase (close to its beginning the one before as well). Offsets may be asked for in any phase: of
    retry queues, which are left out. Whom requests go to or come from is compared with what is so of any member in any
    run (``peers``): which broker is asked or asks by or of just this one in just this phase can be chance."""
    known = {(_phase(plan, each.at), each.code, each.peer) for run in runs for each in run}
    codes = {(phase, code) for phase, code, _ in known}
    everywhere = {code for _, code, _ in known if code == _ASK_OFFSET}
    found: list[Measure] = []
    for number in range(len(plan.phases)):
        mine = [request for request in sent if _phase(plan, request.at) == number]
        told = {f"{each.code} {each.peer}" for each in mine}
        strange = {
            f"{each.code} {each.peer}"
            for each in mine
            if (each.code, each.peer) not in peers
            or (
                each.code not in everywhere and not any((phase, each.code) in codes for phase in _phases(plan, each.at))
            )
        }
        seen = sorted({f"{code} {peer}" for phase, code, peer in known if phase == number})
        quantity = f"requests.{member}.kinds in phase {number}"
        allowed = "not more than in the runs"
        found.append(Measure(plan.recording.scenario, quantity, sorted(told), seen, allowed, not strange))
    return found


def _by_member(plan: Plan, sent: Iterable[Request]) -> dict[str, list[Request]]:
    found: dict[str, list[Request]] = {member.id: [] for member in plan.recording.members}
    for request in sent:
        found[request.member].append(request)
    return found


def _turns(plan: Plan) -> dict[str, list[tuple[Turn, float]]]:
    """Member to its starts and leave-takings, each with when the next one begins."""
    found: dict[str, list[Turn]] = {}
    for action in plan.recording.actions:
        if action.action in (START, SHUTDOWN):
            topics = next(len(member.subs) for member in plan.recording.members if member.id == action.member)
            turn = Turn(action.member, action.t_ms, action.action == SHUTDOWN, topics + RETRY_TOPIC)
            found.setdefault(action.member, []).append(turn)
    return {
        member: list(zip(turns, [*(each.since for each in turns[1:]), inf], strict=True))
        for member, turns in found.items()
    }


def _subset(case: str, quantity: str, real: frozenset[str], known: frozenset[str]) -> Measure:
    return Measure(case, quantity, sorted(real), sorted(known), "not more than in the runs", real <= known)


def _ordered(case: str, quantity: str, real: Order, orders: Sequence[Order], *, whole: bool = False) -> Measure:
    off = requests.out_of_order(real, orders)
    if whole:
        off += [f"{each} missing" for each in requests.missing(real, orders)]
    nearest = max(orders, key=lambda order: (order == real, len(set(order) & set(real))))
    return Measure(case, quantity, list(real), list(nearest), off or "in the order of the runs", not off)


def _name(queue: Queue) -> str:
    return "|".join(map(str, queue))


def _names(queues: Iterable[Queue]) -> list[str]:
    return [_name(queue) for queue in sorted(queues)]
