"""The plan's JSON document: what `plan --format json` writes, and what the text and the report are made of."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from compare.planning.simulating import Cost, Timing
from compare.planning.subject import Route, Subject, Target


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


class StepRecord(TypedDict):
    """A step. ``settings``: member to setting to value, null: removed; ``restart``: members by wave; ``start``: members
    that start for the first time; ``queues``: topic to its new number; ``cost``: null where the group notices
    nothing."""

    number: int
    text: str
    settings: dict[str, dict[str, object]]
    restart: list[list[str]]
    start: list[str]
    queues: dict[str, int]
    commands: list[str]
    check: str
    back: str
    cost: CostRecord | None


class WrongRecord(TypedDict):
    """An order that goes wrong, and what happens then."""

    text: str
    story: str


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
        "wrong_orders": list[WrongRecord],
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
) -> PlanDocument:
    """The document. ``costs``: by number of the step, from 0 on; ``stories``: of the wrong orders."""
    return {
        "group": subject.group,
        "system": subject.system,
        "from": subject.strategy,
        "to": target.strategy or target.text,
        "seeds": seeds,
        "gap_s": timing.gap / 1000,
        "downtime_s": timing.downtime / 1000,
        "steps": [
            {
                "number": number + 1,
                "text": step.text,
                "settings": {member: dict(changes) for member, changes in step.settings.items()},
                "restart": [list(wave) for wave in step.restart],
                "start": list(step.start),
                "queues": dict(step.queues),
                "commands": list(step.commands),
                "check": step.check,
                "back": step.back,
                "cost": _cost(costs[number]) if number in costs else None,
            }
            for number, step in enumerate(route.steps)
        ],
        "wrong_orders": [
            {"text": wrong.text, "story": story} for wrong, story in zip(route.wrong, stories, strict=True)
        ],
        "notes": list(route.notes),
        "assumptions": list(subject.assumptions),
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
