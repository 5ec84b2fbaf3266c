"""A recording beside the runs of its scenario: what must be equal, and what must lie within the runs' range.

Equal must be, in one and the same run: who owns what in the end, and which queues never had an owner. Within the range
of all runs, widened by what a busy machine may do, must lie how often queues moved; how many times, how long at most
and in all queues had two owners or, after their first, none; how long they waited for the first; how many records were
delivered more than once. Each recorded move must be of a queue that comes to or goes from the same member in the same
phase of the script in some run (which of two that take it was first is chance), and each recorded interval must lie on
a queue that changes hands in that phase in some run.

The order of requests: which of a recording's requests come in an order that can be compared, and how.

A client's threads run side by side: the one that starts it or shuts it down, the one with the periodic tasks, the one
that rebalances, the one that renews locks; brokers' notices come in between. Which thread is a millisecond earlier is
chance, and how periodic requests interleave depends on phases. What is no chance:

* which kinds of requests a member sends or is sent at all in each phase of the script, and to or from whom any member;
* in its whole life, which kind occurs first, second, ...;
* in its start (as many questions for routes as the starting thread asks, the first heartbeats, up to the first question
  for the group's members), what comes before what, each request on its own (the second question for a route is another
  than the first);
* its leave-taking: whatever is in all runs is there, and what comes before what;
* how heartbeats, and the requests by which it unregisters, are sent from broker to broker.

"Before" is compared wherever all runs that have both agree. Unlocks are left out of lives: most are not answered, the
real client hands them to another thread, and what was sent after them may be earlier.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple, TypeAlias

from compare.conformance.cases import Difference, Measure
from compare.conformance.recordings import NOISE_MS, Ownership, equal, longest, outside, summed, within
from compare.conformance.rocketmq_recordings.happened import Happened, Request
from compare.conformance.rocketmq_recordings.reading import queue_name, queue_names
from compare.conformance.rocketmq_recordings.scenario import Plan
from compare.conformance.rocketmq_recordings.script import RETRY_TOPIC, SHUTDOWN, START
from protocols.java import Queue
from rocketmq_selfbalance.cluster import (
    REQUEST_CODES,
    GetConsumerListByGroup,
    GetRouteInfo,
    HeartBeat,
    QueryConsumerOffset,
    UnlockBatchMq,
    UnregisterClient,
)

Order: TypeAlias = tuple[str, ...]
"""Names of kinds of requests, or of requests, in the order of their (first) occurrence."""

_HEARTBEAT, _LEAVE = REQUEST_CODES[HeartBeat], REQUEST_CODES[UnregisterClient]
_ASK, _UNLOCK = REQUEST_CODES[GetConsumerListByGroup], REQUEST_CODES[UnlockBatchMq]

_ROUTE = REQUEST_CODES[GetRouteInfo]
_OF_START = (_ROUTE, _HEARTBEAT, _ASK)
_OF_LEAVE = (_LEAVE, _UNLOCK)


class Turn(NamedTuple):
    """A member starts, or unregisters, at this time of the recording."""

    member: str
    since: float
    leaves: bool
    routes: int
    """How many questions for routes belong to a start. The first poll asks as many in a thread of its own."""


def life(requests: Iterable[Request]) -> Order:
    """The codes in the order of their first occurrence."""
    return tuple(dict.fromkeys(str(request.code) for request in requests if request.code != _UNLOCK))


def in_turn(requests: Iterable[Request], turn: Turn, until: float) -> Order:
    """The requests of a turn, each with its broker and, from the second on, its number. A start ends with the first
    question for the group's members; at the latest a turn ends at ``until``."""
    times: dict[str, int] = {}
    found: list[str] = []
    wanted = _OF_LEAVE if turn.leaves else _OF_START
    for request in requests:
        if not turn.since <= request.at < until or request.code not in wanted:
            continue
        name = str(request.code) if request.code == _ASK else f"{request.code} {request.peer}"
        times[name] = times.get(name, 0) + 1
        if not turn.leaves and times[name] > (turn.routes if request.code == _ROUTE else 1):
            continue
        found.append(name if times[name] == 1 else f"{name} #{times[name]}")
        if request.code == _ASK:
            break
    return tuple(found)


def follows(requests: Iterable[Request]) -> frozenset[str]:
    """Which broker follows which in a member's heartbeats and leave-takings."""
    of: dict[int, list[str]] = {}
    for request in requests:
        if request.code in (_HEARTBEAT, _LEAVE):
            of.setdefault(request.code, ["the first"]).append(request.peer)
    return frozenset(
        f"{code} {after} after {before}" for code, peers in of.items() for before, after in pairwise(peers)
    )


def out_of_order(real: Order, runs: Sequence[Order]) -> list[str]:
    """What the runs always have before something else and the recording after it."""
    at: Mapping[str, int] = {name: index for index, name in enumerate(real)}
    return [
        f"{one} before {other}"
        for one, other in sorted(_always_before(runs))
        if one in at and other in at and at[one] > at[other]
    ]


def missing(real: Order, runs: Sequence[Order]) -> list[str]:
    """What is in every run and not in the recording."""
    always = frozenset.intersection(*map(frozenset, runs)) if runs else frozenset()
    return sorted(always - set(real))


def _always_before(orders: Sequence[Order]) -> set[tuple[str, str]]:
    together = {(one, other) for order in orders for index, one in enumerate(order) for other in order[index + 1 :]}
    return {(one, other) for one, other in together if (other, one) not in together}


EQUAL_IN = "equal; so it is in {} of {} runs"


def compared(plan: Plan, real: Happened, runs: Sequence[Happened]) -> tuple[list[Difference], list[Measure]]:
    """The differences, none if the recording is as the runs are, and all that was compared."""
    case = plan.recording.scenario
    measures = [
        *equal(case, exact(plan, real.ownership), [exact(plan, run.ownership) for run in runs], EQUAL_IN),
        *_ranges(plan, real, runs),
        *_places(plan, real, runs),
        *_requests(plan, real, runs),
    ]
    return outside(measures), measures


def exact(plan: Plan, owned: Ownership) -> dict[str, list[str]]:
    """What must be equal: who owns what in the end, and which queues nobody ever owned."""
    fields = {f"final.{member.id}": queue_names(owned.final.get(member.id, ())) for member in plan.recording.members}
    had = {queue for queues in owned.final.values() for queue in queues}
    never = {each.queue for each in owned.waiting if each.until >= plan.recording.length_ms and each.queue not in had}
    return {**fields, "never_owned": queue_names(never)}


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
    "double_owned_queue_ms": lambda _, owned: summed(owned.double),
    "longest_double_owned_ms": lambda _, owned: longest(owned.double),
    "unowned_queue_ms": lambda _, owned: summed(owned.unowned),
    "longest_unowned_ms": lambda _, owned: longest(owned.unowned),
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
    measures: list[Measure] = []
    for move in real.ownership.moves:
        phases = _phases(plan, move.at)
        seen = [number for number in phases if (number, move.queue, move.after) in moved]
        what = f"move of {queue_name(move.queue)} to {move.after}"
        measures.append(_placed(plan, what, move.at, phases, seen))
    for kind, intervals in (("double", real.ownership.double), ("no", real.ownership.unowned)):
        for interval in intervals:
            phases = _phases(plan, interval.since)
            seen = [number for number in phases if (number, interval.queue) in changed]
            measures.append(
                _placed(plan, f"{kind} owner of {queue_name(interval.queue)}", interval.since, phases, seen)
            )
    return measures


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
    case, requests = plan.recording.scenario, []
    turns = _turns(plan)
    peers = frozenset((each.code, each.peer) for run in listened for told in run.values() for each in told)
    for member, sent in _by_member(plan, real.requests).items():
        others = [each[member] for each in listened]
        round_brokers = [follows(other) for other in others]
        requests.append(_subset(case, f"requests.{member}.round", follows(sent), frozenset().union(*round_brokers)))
        requests += _kinds(plan, member, sent, others, peers)
        orders = [life(other) for other in others]
        requests.append(_ordered(case, f"requests.{member}.order", life(sent), orders))
        for number, (turn, until) in enumerate(turns.get(member, ())):
            orders = [in_turn(other, turn, until) for other in others]
            what = f"requests.{member}.{number}.{'leave' if turn.leaves else 'start'}"
            requests.append(_ordered(case, what, in_turn(sent, turn, until), orders, whole=turn.leaves))
    return requests


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
    measures: list[Measure] = []
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
        measures.append(Measure(plan.recording.scenario, quantity, sorted(told), seen, allowed, not strange))
    return measures


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
    off = out_of_order(real, orders)
    if whole:
        off += [f"{each} missing" for each in missing(real, orders)]
    nearest = max(orders, key=lambda order: (order == real, len(set(order) & set(real))))
    return Measure(case, quantity, list(real), list(nearest), off or "in the order of the runs", not off)
