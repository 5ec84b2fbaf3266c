"""A recording beside the runs of its scenario: what must be equal, and what must lie within the runs' range.

Equal must be, in one and the same run: which generations were completed with how many members, every member's callbacks
in order with their partitions and generations, who owned each partition one after another, what everybody owned in the
end, the group's last description. Within the range of all runs, widened by what a busy machine may do, must lie when
each partition had its first owner, how long it had none and two, how many of its records came again, how long none
came; and, of the runs that went through the same generations, how long it took from something that the script did
until a rebalance began and was over.
"""

from collections.abc import Callable, Mapping, Sequence

from compare.conformance.cases import Difference, Measure
from compare.conformance.kafka_recordings.happened import Called, Happened, figures_of, without_restless
from compare.conformance.kafka_recordings.playing import exchanged, may_exchange
from compare.conformance.kafka_recordings.reading import JAVA, Client, queue_names
from compare.conformance.kafka_recordings.scenario import Plan, Run
from compare.conformance.recordings import NOISE_MS, Exact, equal, longest, outside, ownership, within
from protocols.java import Queue


def compared(
    plan: Plan, whole: Happened, runs: Sequence[tuple[Run, Happened]]
) -> tuple[list[Difference], list[Measure]]:
    """The differences, none if the recording is as one of the runs, and all that was compared."""
    case, rate = plan.recording.scenario, plan.recording.rate
    real = without_restless(whole, plan.recording, plan.clients)
    if may_exchange(plan):
        runs = [(run, exchanged(happened, real)) for run, happened in runs]
    recorded = exact(plan, real, real)
    same = equal(case, recorded, [exact(plan, happened, real) for _, happened in runs], "equal: {} of {} runs")
    differences = [Difference(case, each.quantity, each.real, each.model) for each in same if not each.passed]
    ranges = []
    for quantity, (figure, found) in _ranges(plan, real, runs).items():
        records = rate / 1000 if quantity.startswith(AGAIN) else 0.0
        ranges.append(within(case, quantity, figure, found, NOISE_MS * (records or 1.0)))
    return [*differences, *outside(ranges)], [*same, *ranges]


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
    owned = ownership(happened.changes, happened.end)
    fields.update({f"owners.{_name(queue)}": owners for queue, owners in sorted(owned.owners.items())})
    fields.update({f"final.{member}": queue_names(owned.final.get(member, ())) for member in plan.clients})
    if real.state:
        fields["described.state"] = happened.state
        if real.state == "Stable":
            fields.update({f"described.{client}": queue_names(queues) for client, queues in happened.described.items()})
    return fields


def _call(call: Called, client: Client, tells: bool) -> list[object]:
    """Other clients than Java's have forgotten their generation when they are told that all is lost."""
    told: list[object] = [call.kind, queue_names(call.queues)]
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
    quantities: dict[str, float] = {}
    owned = ownership(happened.changes, happened.end)
    quantities["longest_unowned_ms"] = longest(owned.unowned)
    for queue, first in sorted(owned.first.items()):
        name = _name(queue)
        quantities[f"{FIRST} {name}"] = recorded(first)
        quantities.update({f"{figure} {name}": value for figure, value in figures_of(owned, queue).items()})
        quantities[f"{AGAIN} {name}"] = float(happened.again.get(queue, 0))
        quantities[f"{SILENCE} {name}"] = happened.silence.get(queue, 0.0)
    return quantities


def _reactions(plan: Plan, real: Happened, happened: Happened, at: Callable[[float], float]) -> dict[str, float]:
    """Milliseconds from the last thing that the script had done until a rebalance began, and until it was over.

    ``at``: a time of the recording in the time of ``happened``."""
    reactions: dict[str, float] = {}
    for what, those, times in (
        ("rebalance after generation {} begins", real.beginnings, happened.beginnings),
        ("generation {} is complete", real.generations, happened.generations),
    ):
        for number, recorded in those.items():
            before = [moment for moment in plan.moments if moment.at <= recorded]
            if before and number in times:
                since = before[-1]
                reactions[f"{what.format(number)} after {since.name}, ms"] = times[number] - at(since.at)
    return reactions


FIRST, AGAIN, SILENCE = "first_owned_ms", "records_delivered_again", "longest_silence_ms"


def _name(queue: Queue) -> str:
    return queue_names([queue])[0]
