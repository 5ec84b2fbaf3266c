"""The plan's JSON document: what `plan --format json` writes, and what the text and the report are made of."""

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TypedDict

from compare.planning.by_library import (
    LibraryWay,
    is_alike,
    library_ways,
    other_ways,
    own_settings,
    settings_by_library,
)
from compare.planning.by_load import DRAIN_S, Gain, GroupLoad
from compare.planning.expectations import code_must_expect
from compare.planning.simulating import Cost, Timing
from compare.planning.subject import Route, Subject
from compare.planning.target import Target


class PauseRecord(TypedDict):
    """Seconds that a queue has no owner: the median and the 95th percentile over all queues and seeds."""

    p50: float
    p95: float


class CostRecord(TypedDict):
    """What a step costs: medians over the seeds, times in seconds. ``settle_p95_s``: the 95th percentile of
    ``settle_s``; ``unsettled_runs``: runs in which not every queue had exactly one owner at the end."""

    pause_s: PauseRecord
    moves: float
    redelivered: float
    double_owned_queue_s: float
    settle_s: float
    settle_p95_s: float
    unsettled_runs: int


class StateRecord(TypedDict):
    """``highest``: the largest utilisation of a member; where no capacity is known, the largest load over the mean of
    the members. ``drain_s``: seconds until nothing waits; null: never, or no capacity is known."""

    highest: float
    drain_s: float | None


class GainRecord(TypedDict):
    """What a step moves ([topic, broker, number, from, to]), and how the group stands before and after it.
    ``of_capacity``: whether capacities are known."""

    moves: list[list[str | int]]
    before: StateRecord
    after: StateRecord
    of_capacity: bool


class LoadRecord(TypedDict):
    """What the queues bring. ``basis``: "rate", or "lag" where no source shows rates; ``rates``: the table that members
    are given, by queue, records per second that come and those that wait over ``drain_s``; ``capacity``: records per
    second of a member, null where it is not known. Of the best allocation: ``cost`` in moves from today's, at least
    ``cost_at_least`` in any; ``leaving``: what each member must give up; ``highest`` and ``highest_at_least`` as in
    `StateRecord`; ``proven``: both are the best ones."""

    basis: str
    rates: dict[str, float]
    drain_s: float
    capacity: float | dict[str, float] | None
    cost: int
    cost_at_least: int
    leaving: dict[str, int]
    highest: float | None
    highest_at_least: float | None
    proven: bool


class StepRecord(TypedDict):
    """A step. ``settings``: member to setting to value, null: removed, as the member's library has them;
    ``settings_by_library``: the same by client library, null where it has no such step, for which ``why_not`` gives the
    reason; ``code_must_expect``: exceptions and callbacks that are new in this step; ``restart``: members by wave;
    ``start``: members that start for the first time; ``queues``: topic to its new number; ``check_command`` judges of
    ``check`` what SOURCE shows, beside BEFORE, what it showed before the step; ``cost``: null where the group notices
    nothing, or it is not simulated; ``gain``: what the step brings by load, where a plan is about that."""

    number: int
    text: str
    settings: dict[str, dict[str, object]]
    settings_by_library: dict[str, dict[str, object] | None]
    why_not: dict[str, str]
    code_must_expect: list[str]
    restart: list[list[str]]
    start: list[str]
    queues: dict[str, int]
    commands: list[str]
    check: str
    check_command: str
    back: str
    cost: CostRecord | None
    gain: GainRecord | None


class OtherWayRecord(TypedDict):
    """The way of a group whose members use another library than the steps are for. ``same_steps``: only settings
    differ, those of `StepRecord.settings_by_library`; ``steps``: otherwise the steps' texts, () where there is no way,
    and ``why`` says why not."""

    library: str
    same_steps: bool
    why: str
    steps: list[str]
    code_must_expect: list[str]


class WrongRecord(TypedDict):
    """An order that goes wrong, and what happens then."""

    text: str
    story: str


class UnsafeRecord(TypedDict):
    """An order that violates a property: its steps, what is wrong from its end on, and what shows it in the group."""

    property: str
    story: list[str]
    check: str


class ProofRecord(TypedDict):
    """What was explored of the step with this number: so many members of the group, each restarted once, one topic of
    so many partitions, the properties, how often timers fire in one order, and so many states (``complete``: all that
    there are within these limits). ``unsafe``: the shortest order for each property that does not hold."""

    step: int
    members: int
    partitions: int
    properties: list[str]
    client_firings: int
    broker_firings: int
    states: int
    complete: bool
    unsafe: list[UnsafeRecord]


PlanDocument = TypedDict(
    "PlanDocument",
    {
        "group": str,
        "system": str,
        "from": str,
        "to": str,
        "seeds": int,
        "gap_s": float,
        "downtime_s": float,
        "steps": list[StepRecord],
        "other_libraries": list[OtherWayRecord],
        "wrong_orders": list[WrongRecord],
        "proof": ProofRecord | None,
        "load": LoadRecord | None,
        "notes": list[str],
        "assumptions": list[str],
    },
)


def document(
    subject: Subject,
    target: Target,
    route: Route,
    costs: Mapping[int, Cost],
    stories: Sequence[str],
    timing: Timing,
    seeds: int,
    proof: ProofRecord | None = None,
) -> PlanDocument:
    """The document. ``costs``: by number of the step, from 0 on; ``stories``: of the wrong orders; ``proof``: null
    where nothing was explored."""
    ways = library_ways(subject, target)
    return {
        "group": subject.group,
        "system": subject.system,
        "from": subject.strategy,
        "to": target.strategy or target.text,
        "seeds": seeds,
        "gap_s": timing.gap / 1000,
        "downtime_s": timing.downtime / 1000,
        "steps": [_step(subject, target, route, number, ways, costs) for number in range(len(route.steps))],
        "other_libraries": [_other(route, each) for each in other_ways(subject, route, ways)],
        "wrong_orders": [
            {"text": wrong.text, "story": story} for wrong, story in zip(route.wrong, stories, strict=True)
        ],
        "proof": proof,
        "load": None if subject.by_load is None else _load(subject.by_load),
        "notes": list(route.notes),
        "assumptions": list(subject.assumptions),
    }


def _step(
    subject: Subject,
    target: Target,
    route: Route,
    number: int,
    ways: Mapping[str, LibraryWay],
    costs: Mapping[int, Cost],
) -> StepRecord:
    step = route.steps[number]
    found, why = settings_by_library(route, number, ways)
    before = " --before BEFORE" if step.unseen or step.reads_on else ""
    command = (
        f"equipoise plan --check {number + 1} --group {quote(subject.group)} --from {subject.strategy}"
        f" --to {quote(target.text)} --members {len(subject.members)}{before}"
        + (f" --library {subject.spoken[0]}" if subject.libraries_given else "")
        + (f" --capacity {target.capacity:g}" if target.capacity else "")
        + " SOURCE"
    )
    return {
        "number": number + 1,
        "text": step.text,
        "settings": own_settings(subject, step),
        "settings_by_library": found,
        "why_not": why,
        "code_must_expect": code_must_expect(step.changes, subject.spoken),
        "restart": [list(wave) for wave in step.restart],
        "start": list(step.start),
        "queues": dict(step.queues),
        "commands": list(step.commands),
        "check": step.check,
        "check_command": command,
        "back": step.back,
        "cost": _cost(costs[number]) if number in costs else None,
        "gain": None if step.gain is None else _gain(step.gain),
    }


def _gain(gain: Gain) -> GainRecord:
    return {
        "moves": [[*move.queue, move.before, move.after] for move in gain.moves],
        "before": {"highest": gain.before.highest, "drain_s": gain.before.drain_s},
        "after": {"highest": gain.after.highest, "drain_s": gain.after.drain_s},
        "of_capacity": gain.of_capacity,
    }


def _load(load: GroupLoad) -> LoadRecord:
    found = load.best
    return {
        "basis": load.basis,
        "rates": load.table,
        "drain_s": DRAIN_S,
        "capacity": dict(load.capacity) if isinstance(load.capacity, Mapping) else load.capacity,
        "cost": found.cost,
        "cost_at_least": found.cost_at_least,
        "leaving": dict(found.leaving),
        "highest": found.highest,
        "highest_at_least": found.highest_at_least,
        "proven": found.proven,
    }


def _other(route: Route, way: LibraryWay) -> OtherWayRecord:
    steps = () if way.route is None else way.route.steps
    same = way.route is not None and is_alike(way.route, route)
    return {
        "library": way.library.key,
        "same_steps": same,
        "why": way.why,
        "steps": [] if same else [step.text for step in steps],
        "code_must_expect": code_must_expect([each for step in steps for each in step.changes], [way.library.key]),
    }


def _cost(cost: Cost) -> CostRecord:
    return {
        "pause_s": {"p50": cost.pause_p50, "p95": cost.pause_p95},
        "moves": cost.moves,
        "redelivered": cost.redelivered,
        "double_owned_queue_s": cost.double_owned_queue_s,
        "settle_s": cost.settle_s,
        "settle_p95_s": cost.settle_p95,
        "unsettled_runs": cost.unsettled,
    }
