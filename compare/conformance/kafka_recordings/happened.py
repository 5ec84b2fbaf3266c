"""What happened in a recording, and what happens in a run of it, in the same words.

kafka-python's leader may join once more although nothing has changed, because it had not known the topic's partitions
yet when it computed the assignment. Such a generation gives everybody what it had; it is left out, and those after it
are numbered as if it had not been. Who had not been told of the generation before, because it came too soon, has what
it is told then from that one.

`inconsistent` tells whether a recording's summary says what its own events say: a figure that was changed is then told
apart from one that the model does not reach.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from compare.conformance.cases import Difference
from compare.conformance.kafka_recordings.coordinator_log import (
    PREPARING,
    beginnings,
    epoch_beginnings,
    epoch_sizes,
    generations,
    lines,
    reached,
    sizes,
)
from compare.conformance.kafka_recordings.reading import KAFKA_PYTHON, Client, Recording, queue_named, queue_names
from compare.conformance.recordings import Change, Ownership, longest, ownership, summed
from protocols.java import Queue, sort_queues


class Called(NamedTuple):
    """A rebalance callback. ``generation``: as the client tells it, None where it does not."""

    at: float
    member: str
    kind: str
    queues: tuple[Queue, ...]
    generation: int | None


class Delivery(NamedTuple):
    """Records ``first`` to before ``end`` of a partition, handed out evenly from ``since`` to ``until``."""

    since: float
    until: float
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Happened:
    """Times are milliseconds in the time of the recording, or of the run."""

    end: float
    callbacks: tuple[Called, ...]
    changes: tuple[Change, ...]
    generations: Mapping[int, float]
    """Each completed generation to when it was."""
    sizes: Mapping[int, int]
    """Each completed generation to how many members it had."""
    beginnings: Mapping[int, float]
    """Each generation to when the rebalance began that ended it."""
    state: str
    """Of the group in its last description; empty: it was not found."""
    described: Mapping[str, tuple[Queue, ...]]
    """Client id to the partitions of its members in the last description, where there are any."""
    again: Mapping[Queue, int]
    """Records delivered again."""
    silence: Mapping[Queue, float] = field(default_factory=dict)
    """The longest time between two records; queues without any are left out."""
    delivered: Mapping[Queue, tuple[Delivery, ...]] = field(default_factory=dict)
    """Of a run: what ``again`` and ``silence`` are made of, by time."""


def delivered_again(deliveries: Sequence[Delivery]) -> list[tuple[float, int]]:
    """When how many records of a partition were delivered once more; ``deliveries`` by time."""
    found: list[tuple[float, int]] = []
    reached = 0
    for since, _, first, end in deliveries:
        found.append((since, max(0, min(reached, end) - first)))
        reached = max(reached, end)
    return found


def silences(deliveries: Sequence[Delivery]) -> list[tuple[float, float]]:
    """When a silence of a partition ended and how long it was; the first delivery ends one of no length."""
    found: list[tuple[float, float]] = []
    reached: float | None = None
    for since, until, _, _ in deliveries:
        found.append((since, 0.0 if reached is None else max(0.0, since - reached)))
        reached = until if reached is None else max(reached, until)
    return found


T = TypeVar("T")

CALLBACKS = ("assigned", "revoked", "lost")


def happened(recording: Recording) -> Happened:
    """The whole recording."""
    group = next((event.g for event in reversed(recording.of("group")) if event.g is not None), None)
    described: dict[str, set[Queue]] = {}
    for member in group.members if group is not None else ():
        described.setdefault(member.client, set()).update(member.tp)
    return Happened(
        end=recording.end,
        callbacks=tuple(
            Called(event.ms, event.member, event.ev, sort_queues(event.tp), event.gen)
            for event in recording.of(*CALLBACKS)
        ),
        changes=tuple(_changes(recording)),
        generations={**generations(recording), **reached(recording)},
        sizes={**sizes(recording), **epoch_sizes(recording)},
        beginnings={**beginnings(recording), **epoch_beginnings(recording)},
        state="" if group is None else group.state,
        described={client: sort_queues(queues) for client, queues in described.items() if queues},
        again={queue_named(name): figures.records_delivered_again for name, figures in recording.per_partition.items()},
        silence={
            queue_named(name): figures.longest_silence_ms
            for name, figures in recording.per_partition.items()
            if figures.longest_silence_ms is not None
        },
    )


def without_restless(all: Happened, recording: Recording, clients: Mapping[str, Client]) -> Happened:
    """Without the generations that a leader of kafka-python began for nothing."""
    told = {event.member_id: event.member for event in recording.events if event.member_id}
    for line in lines(recording):
        words = line.about.partition(" re-joining")[0]
        member = told.get(words.removeprefix("Leader ")) if line.kind == PREPARING else None
        if member is not None and clients[member].kind == KAFKA_PYTHON and words.startswith("Leader "):
            skipped = _number(all, line.ms)
            if skipped is not None and _is_for_nothing(all, skipped):
                all = _without(all, skipped)
    return all


def _number(all: Happened, began: float) -> int | None:
    """The generation that was completed by the rebalance that began at this time, as numbered by now."""
    return next((number for number, at in all.generations.items() if at >= began), None)


def _told_in(all: Happened, number: int) -> dict[str, tuple[Queue, ...]]:
    """What each member was told in a generation."""
    return {call.member: call.queues for call in all.callbacks if call.kind == "assigned" and call.generation == number}


def _is_for_nothing(whole: Happened, number: int) -> bool:
    """Whether the generation gave everybody, and only those, what it had in the one before, as far as they were told
    of that."""
    before, after = _told_in(whole, number - 1), _told_in(whole, number)
    alike = all(before.get(member, queues) == queues for member, queues in after.items())
    return alike and whole.sizes.get(number - 1) == whole.sizes.get(number)


def _without(all: Happened, number: int) -> Happened:
    """Without generation ``number``: what was assigned in it once more, and what a member had revoked just before."""
    told = _told_in(all, number - 1)
    left_out: set[int] = set()
    for at, call in enumerate(all.callbacks):
        if call.kind == "assigned" and call.generation == number and call.member in told:
            before = [index for index in range(at) if all.callbacks[index].member == call.member]
            left_out.add(at)
            left_out.update(each for each in before[-1:] if all.callbacks[each].kind == "revoked")
    times = {(all.callbacks[at].at, all.callbacks[at].member) for at in left_out}
    return replace(
        all,
        callbacks=tuple(
            call._replace(generation=_earlier(call.generation, number))
            for at, call in enumerate(all.callbacks)
            if at not in left_out
        ),
        changes=tuple(change for change in all.changes if (change.at, change.member) not in times),
        generations=_renumbered(all.generations, number),
        sizes=_renumbered(all.sizes, number),
        beginnings=_renumbered(all.beginnings, number - 1),
    )


def _renumbered(values: Mapping[int, T], left_out: int) -> dict[int, T]:
    return {key - (key > left_out): value for key, value in values.items() if key != left_out}


def _earlier(generation: int | None, left_out: int) -> int | None:
    return generation if generation is None else generation - (generation >= left_out)


def _changes(recording: Recording) -> list[Change]:
    """What callbacks, closes and kills mean for ownership."""
    owned: dict[str, set[Queue]] = {}
    changes: list[Change] = []
    for event in recording.events:
        mine = owned.setdefault(event.member, set())
        gone = event.ev == "closed" or (event.ev == "step" and event.what == "kill -9")
        if event.ev == "assigned":
            gained = sort_queues(set(event.tp) - mine)
            changes.append(Change(event.ms, event.member, gained, ()))
            mine.update(gained)
        elif event.ev in CALLBACKS or gone:
            lost = sort_queues(mine if gone else mine & set(event.tp))
            changes.append(Change(event.ms, event.member, (), lost))
            mine.difference_update(lost)
    return changes


ROUNDING_MS = 0.1
"""Times are rounded to so much; a sum of several may be off by as many times of it."""


def inconsistent(recording: Recording, real: Happened) -> list[Difference]:
    """The figures of the summary that the events contradict; ``got`` is what the events say."""
    case = recording.scenario
    told = _told_by_events(recording, real)
    differences: list[Difference] = []
    for figure, said in _summary(recording).items():
        counted = told.get(figure)
        off = abs(said - counted) if said is not None and counted is not None else 0.0
        rounding = ROUNDING_MS * len(recording.events) if figure.endswith("_ms") else 0
        if (said is None) != (counted is None) or off > rounding:
            differences.append(Difference(case, figure, said, counted))
    partitions = queue_names(ownership(real.changes, real.end).owners)
    for name in sorted(set(partitions) - recording.per_partition.keys()):
        differences.append(Difference(case, f"per_partition.{name}", None, "owned"))
    return differences + _running_sets(recording)


def _summary(recording: Recording) -> dict[str, float | None]:
    figures = {
        f"per_partition.{name}.{figure}": getattr(each, figure)
        for name, each in recording.per_partition.items()
        for figure in ("first_owned_ms", *FIGURES)
    }
    return figures | {f"totals.{name}": value for name, value in recording.totals.model_dump().items()}


def _told_by_events(recording: Recording, real: Happened) -> dict[str, float | None]:
    owned = ownership(real.changes, real.end)
    found: dict[str, float | None] = {}
    for name in recording.per_partition:
        found[f"per_partition.{name}.first_owned_ms"] = owned.first.get(queue_named(name))
        figures = figures_of(owned, queue_named(name))
        found.update({f"per_partition.{name}.{figure}": value for figure, value in figures.items()})
    again = sum(each.records_delivered_again for each in recording.per_partition.values())
    return found | {
        "totals.partitions": len(recording.per_partition),
        "totals.unowned_partition_ms": summed(owned.unowned),
        "totals.double_owned_partition_ms": summed(owned.double),
        "totals.longest_unowned_ms": longest(owned.unowned),
        "totals.records_delivered_again": again,
        "totals.partitions_revoked": sum(len(call.queues) for call in real.callbacks if call.kind == "revoked"),
        "totals.partitions_lost": sum(len(call.queues) for call in real.callbacks if call.kind == "lost"),
        "totals.callbacks": len(real.callbacks),
    }


FIGURES = ("unowned_ms", "longest_unowned_ms", "double_owned_ms")


def figures_of(owned: Ownership, queue: Queue) -> dict[str, float]:
    """Milliseconds: how long it had no owner after the first, the longest stretch of this, how long more than one."""
    unowned = [interval for interval in owned.unowned if interval.queue == queue]
    values = summed(unowned), longest(unowned), summed(each for each in owned.double if each.queue == queue)
    return dict(zip(FIGURES, values, strict=True))


def _running_sets(recording: Recording) -> list[Difference]:
    """Where a client tells its whole assignment with a callback: it is what the callbacks so far add up to."""
    owned: dict[str, set[Queue]] = {}
    differences: list[Difference] = []
    for number, event in enumerate(recording.events):
        mine = owned.setdefault(event.member, set())
        if event.ev == "assigned":
            mine.update(event.tp)
        elif event.ev in ("revoked", "lost"):
            mine.difference_update(event.tp)
        if event.ev == "assigned" and event.all is not None and set(event.all) != mine:
            names = queue_names(event.all), queue_names(mine)
            differences.append(Difference(recording.scenario, f"events.{number}.all", *names))
    return differences
