"""A recording beside the runs of its scenario: what must be equal, and what must lie within the runs' range.

Equal must be, in one and the same run: which generations were completed with how many members, every member's callbacks
in order with their partitions and generations, who owned each partition one after another, what everybody owned in the
end, the group's last description. Within the range of all runs, widened by what a busy machine may do, must lie when
each partition had its first owner, how long it had none and two, how many of its records came again, how long none
came; and, of the runs that went through the same generations, how long it took from something that the script did
until a rebalance began and was over.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from compare.conformance.cases import Difference, Measure
from compare.conformance.kafka_recordings.clients import JAVA, Client
from compare.conformance.kafka_recordings.happened import (
    Called,
    Happened,
    Ownership,
    finally_owned,
    ownership,
)
from compare.conformance.kafka_recordings.runs import Run
from compare.conformance.kafka_recordings.scenario import Plan
from compare.conformance.ranges import NOISE_MS, within
from protocols.java import Queue

Exact: TypeAlias = Mapping[str, object]
"""Field to a value that must be equal, as JSON has it."""


def compared(
    plan: Plan, real: Happened, runs: Sequence[tuple[Run, Happened]]
) -> tuple[list[Difference], list[Measure]]:
    """The differences, none if the recording is as one of the runs, and all that was compared."""
    case = plan.recording.scenario
    differences, measures = _equal(case, plan, real, [happened for _, happened in runs])
    for quantity, (recorded, found) in _ranges(plan, real, runs).items():
        records = plan.recording.rate / 1000 if quantity.startswith(AGAIN) else 0.0
        measure = within(case, quantity, recorded, found, NOISE_MS * (records or 1.0))
        measures.append(measure)
        if not measure.passed:
            differences.append(
                Difference(case, quantity, recorded, {"model": measure.model, "allowed": measure.allowed})
            )
    return differences, measures


def _equal(case: str, plan: Plan, real: Happened, runs: Sequence[Happened]) -> tuple[list[Difference], list[Measure]]:
    recorded = exact(plan, real, real)
    told = [exact(plan, happened, real) for happened in runs]
    off = [_differing(recorded, each) for each in told]
    nearest = min(range(len(told)), key=lambda number: (len(off[number]), number))
    measures = [
        Measure(
            case,
            field,
            recorded.get(field),
            told[nearest].get(field),
            f"equal: {sum(field not in each for each in off)} of {len(told)} runs",
            field not in off[nearest],
        )
        for field in dict.fromkeys([*recorded, *told[nearest]])
    ]
    differences = [Difference(case, each, recorded.get(each), told[nearest].get(each)) for each in off[nearest]]
    return differences, measures


def _differing(one: Exact, other: Exact) -> dict[str, None]:
    fields = dict.fromkeys([*one, *other])
    return {field: None for field in fields if one.get(field) != other.get(field)}


def exact(plan: Plan, happened: Happened, real: Happened) -> Exact:
    """What must be equal, of the recording (``happened`` is ``real``) or of a run, as far as the recording tells."""
    tells = {call.member for call in real.callbacks if call.generation is not None}
    fields: dict[str, object] = {
        "generations and their members": [list(item) for item in sorted(happened.sizes.items())]
    }
    calls: dict[str, list[list[object]]] = {member: [] for member in plan.clients}
    for call in happened.callbacks:
        client = plan.clients[call.member]
        if call.queues or (client.kind == JAVA and call.kind == "assigned"):
            calls[call.member].append(_call(call, client, call.member in tells))
    fields.update({f"callbacks.{member}": each for member, each in calls.items()})
    for queue, about in sorted(ownership(happened.changes, happened.end).items()):
        fields[f"owners.{_name(queue)}"] = about.owners
    owned = finally_owned(happened.changes)
    fields.update({f"final.{member}": _names(owned.get(member, ())) for member in plan.clients})
    if real.state:
        fields["described.state"] = happened.state
        if real.state == "Stable":
            fields.update({f"described.{client}": _names(queues) for client, queues in happened.described.items()})
    return fields


def _call(call: Called, client: Client, tells: bool) -> list[object]:
    """Other clients than Java's have forgotten their generation when they are told that all is lost."""
    told: list[object] = [call.kind, _names(call.queues)]
    return [*told, call.generation] if tells and (client.kind == JAVA or call.kind != "lost") else told


def _ranges(
    plan: Plan, real: Happened, runs: Sequence[tuple[Run, Happened]]
) -> dict[str, tuple[float | None, list[float]]]:
    """Quantity to its recorded value (None: not there) and the runs' values, of those runs that have one."""
    found = _beside(
        _quantities(real, lambda at: at), [_quantities(happened, run.recorded_time) for run, happened in runs]
    )
    # A generation is the recorded one only where there were as many members in all of them.
    alike = [(run, happened) for run, happened in runs if happened.sizes == real.sizes] or runs
    return found | _beside(
        _reactions(plan, real, real, lambda at: at),
        [_reactions(plan, real, happened, run.model_time) for run, happened in alike],
    )


def _beside(
    recorded: Mapping[str, float], modelled: Sequence[Mapping[str, float]]
) -> dict[str, tuple[float | None, list[float]]]:
    names = dict.fromkeys([*recorded, *(name for each in modelled for name in each if name.startswith(FIRST))])
    return {name: (recorded.get(name), [each[name] for each in modelled if name in each]) for name in names}


def _quantities(happened: Happened, recorded: Callable[[float], float]) -> dict[str, float]:
    """Milliseconds and records per partition. ``recorded``: a time of ``happened`` in the recording's time."""
    found: dict[str, float] = {}
    owned = ownership(happened.changes, happened.end)
    found["longest_unowned_ms"] = max((about.longest for about in owned.values()), default=0.0)
    for queue, about in sorted(owned.items()):
        name = _name(queue)
        if about.first is not None:
            found[f"{FIRST} {name}"] = recorded(about.first)
        found.update({f"{figure} {name}": value(about) for figure, value in _FIGURES.items()})
        found[f"{AGAIN} {name}"] = float(happened.again.get(queue, 0))
        found[f"{SILENCE} {name}"] = happened.silence.get(queue, 0.0)
    return found


def _reactions(plan: Plan, real: Happened, happened: Happened, at: Callable[[float], float]) -> dict[str, float]:
    """Milliseconds from the last thing that the script had done until a rebalance began, and until it was over.

    ``at``: a time of the recording in the time of ``happened``."""
    found: dict[str, float] = {}
    for what, those, times in (
        ("rebalance after generation {} begins", real.beginnings, happened.beginnings),
        ("generation {} is complete", real.generations, happened.generations),
    ):
        for number, recorded in those.items():
            before = [moment for moment in plan.moments if moment.at <= recorded]
            if before and number in times:
                since = before[-1]
                found[f"{what.format(number)} after {since.name}, ms"] = times[number] - at(since.at)
    return found


FIRST, AGAIN, SILENCE = "first_owned_ms", "records_delivered_again", "longest_silence_ms"

_FIGURES: Mapping[str, Callable[[Ownership], float]] = {
    "unowned_ms": lambda about: about.unowned,
    "longest_unowned_ms": lambda about: about.longest,
    "double_owned_ms": lambda about: about.doubly,
}


def _name(queue: Queue) -> str:
    return f"{queue.topic}:{queue.number}"


def _names(queues: Iterable[Queue]) -> list[str]:
    return [_name(queue) for queue in sorted(queues)]
