"""A recording beside the runs of its scenario: what must be equal, and what must lie within the runs' range.

Equal must be, in one and the same run: who owns what in the end, and which queues never had an owner. Within the range
of all runs, widened by what a busy machine may do, must lie how often queues moved; how many times, how long at most
and in all queues had two owners or, after their first, none; how long they waited for the first; how many records were
delivered more than once. Each recorded move must be one that some run makes in the same phase of the script, and each
recorded interval must lie on a queue that changes hands in that phase in some run. Requests: see `requests`.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from compare.conformance.cases import Difference, Measure
from compare.conformance.ranges import NOISE_MS, within
from compare.conformance.rocketmq_recordings import requests
from compare.conformance.rocketmq_recordings.happened import Happened, Interval, Ownership
from compare.conformance.rocketmq_recordings.requests import Order
from compare.conformance.rocketmq_recordings.scenario import Plan
from protocols.queues import Queue


def compared(plan: Plan, real: Happened, runs: Sequence[Happened]) -> tuple[list[Difference], list[Measure]]:
    """The differences, none if the recording is as the runs are, and all that was compared."""
    measures = [
        *_equal(plan, real, runs),
        *_ranges(plan, real, runs),
        *_places(plan, real, runs),
        *_requests(plan, real, runs),
    ]
    differences = [
        Difference(each.case, each.quantity, each.real, {"model": each.model, "allowed": each.allowed})
        for each in measures
        if not each.passed
    ]
    return differences, measures


def _equal(plan: Plan, real: Happened, runs: Sequence[Happened]) -> list[Measure]:
    """Field by field against the run that is equal in most of them."""
    recorded = _exact(plan, real.ownership)
    told = [_exact(plan, each.ownership) for each in runs]
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


def _exact(plan: Plan, owned: Ownership) -> dict[str, list[str]]:
    fields = {
        f"final.{member.id}": _names(owned.final.get(member.id, ())) for member in plan.recording.members
    }
    had = {queue for queues in owned.final.values() for queue in queues}
    never = {each.queue for each in owned.waiting if each.until >= plan.recording.length_ms and each.queue not in had}
    return {**fields, "never_owned": _names(never)}


def _ranges(plan: Plan, real: Happened, runs: Sequence[Happened]) -> list[Measure]:
    case = plan.recording.scenario
    measures = [
        within(case, quantity, figure(plan, real.ownership), [figure(plan, each.ownership) for each in runs], noise)
        for quantity, (figure, noise) in _FIGURES.items()
    ]
    again = [float(each.again) for each in runs]
    return [*measures, within(case, "records_delivered_again", real.again, again, _records_noise(plan, runs))]


def _longest(intervals: Iterable[Interval]) -> float:
    return max((each.lasted for each in intervals), default=0.0)


def _sum(intervals: Iterable[Interval]) -> float:
    return sum(each.lasted for each in intervals)


def _first_owners(plan: Plan, owned: Ownership) -> list[Interval]:
    """Waits that ended, each from when somebody who might take the queue began to run, at the earliest."""
    return [each for each in owned.waiting if each.until < plan.recording.length_ms]


_FIGURES: Mapping[str, tuple[Callable[[Plan, Ownership], float], float]] = {
    "moves": (lambda _, owned: len(owned.moves), 0.0),
    "double_owned_times": (lambda _, owned: len(owned.double), 0.0),
    "double_owned_queue_ms": (lambda _, owned: _sum(owned.double), NOISE_MS),
    "longest_double_owned_ms": (lambda _, owned: _longest(owned.double), NOISE_MS),
    "unowned_times": (lambda _, owned: len(owned.unowned), 0.0),
    "unowned_queue_ms": (lambda _, owned: _sum(owned.unowned), NOISE_MS),
    "longest_unowned_ms": (lambda _, owned: _longest(owned.unowned), NOISE_MS),
    "last_first_owner_ms": (
        lambda plan, owned: max((each.until for each in _first_owners(plan, owned)), default=0.0),
        NOISE_MS,
    ),
}
"""Quantity to how it is counted, and how much a busy machine adds: milliseconds, nothing to counts."""


def _records_noise(plan: Plan, runs: Sequence[Happened]) -> float:
    """What is produced in the noise's time to the queues that change hands."""
    moved = {each.queue for run in runs for each in run.ownership.moves}
    rates = {topic: each.per_second for each in plan.producing for topic in each.topics}
    return sum(rates.get(queue.topic, 0.0) for queue in moved) * NOISE_MS / 1000


def _places(plan: Plan, real: Happened, runs: Sequence[Happened]) -> list[Measure]:
    """Moves and intervals: on queues and in phases as in some run."""
    moved: set[tuple[int, Queue, str]] = set()
    changed: set[tuple[int, Queue]] = set()
    for run in runs:
        moved.update((_phase(plan, each.at), each.queue, each.after) for each in run.ownership.moves)
        for each in (*run.ownership.double, *run.ownership.unowned):
            changed.update((_phase(plan, at), each.queue) for at in (each.since, each.until))
    changed.update((number, queue) for number, queue, _ in moved)
    found: list[Measure] = []
    for move in real.ownership.moves:
        phases = _phases(plan, move.at)
        seen = [number for number in phases if (number, move.queue, move.after) in moved]
        what = f"move of {_name(move.queue)} to {move.after}"
        found.append(_placed(plan, what, move.at, phases, seen))
    for kind, intervals in (("double", real.ownership.double), ("no", real.ownership.unowned)):
        for each in intervals:
            phases = _phases(plan, each.since)
            seen = [number for number in phases if (number, each.queue) in changed]
            found.append(_placed(plan, f"{kind} owner of {_name(each.queue)}", each.since, phases, seen))
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
    """The phase of a recorded time; close to its beginning the one before as well."""
    return sorted({_phase(plan, at - NOISE_MS), _phase(plan, at)})


def _requests(plan: Plan, real: Happened, runs: Sequence[Happened]) -> list[Measure]:
    listened = [each.requests for each in runs if each.requests is not None]
    if real.requests is None or not listened:
        return []
    case, found = plan.recording.scenario, []
    lives = [requests.lives(each) for each in listened]
    for member, order in requests.lives(real.requests).items():
        orders = [each.get(member, ()) for each in lives]
        found.append(_one_of(case, f"requests.{member}", order, orders))
    by_phase = [requests.by_phase(each, plan.phases) for each in listened]
    for (number, member), order in requests.by_phase(real.requests, plan.phases).items():
        orders = [each.get((number, member), ()) for each in by_phase]
        off = requests.out_of_order(order, orders)
        said = [f"{one} before {other}" for one, other in off]
        quantity = f"requests.{member} in phase {number}"
        found.append(Measure(case, quantity, list(order), said or "the same order", "the same order", not off))
    follows = dict.fromkeys(each for run in listened for each in requests.follows(run))
    for each in requests.follows(real.requests):
        quantity = f"requests.{each.sort}: {each.after} after {each.before}"
        found.append(Measure(case, quantity, "is there", "is there" if each in follows else "never", "is there", each in follows))
    return found


def _one_of(case: str, quantity: str, real: Order, orders: Sequence[Order]) -> Measure:
    same = sum(order == real for order in orders)
    nearest = real if same else max(set(orders), key=lambda order: (orders.count(order), order))
    allowed = f"equal; so it is in {same} of {len(orders)} runs"
    return Measure(case, quantity, list(real), list(nearest), allowed, bool(same))


def _name(queue: Queue) -> str:
    return "|".join(map(str, queue))


def _names(queues: Any) -> list[str]:
    return [_name(queue) for queue in sorted(queues)]
