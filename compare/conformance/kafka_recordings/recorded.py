"""What happened in a recording.

kafka-python's leader may join once more although nothing has changed, because it had not known the topic's partitions
yet when it computed the assignment. Such a generation gives everybody what it had; it is left out, and those after it
are numbered as if it had not been. Who had not been told of the generation before, because it came too soon, has what
it is told then from that one.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from compare.conformance.kafka_recordings import epochs
from compare.conformance.kafka_recordings.broker_log import PREPARING, beginnings, generations, lines, sizes
from compare.conformance.kafka_recordings.clients import KAFKA_PYTHON, Client
from compare.conformance.kafka_recordings.happened import Called, Change, Happened
from compare.conformance.kafka_recordings.reading import Recording
from protocols.java import Queue, sort_queues

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
        generations={**generations(recording), **epochs.reached(recording)},
        sizes={**sizes(recording), **epochs.sizes(recording)},
        beginnings={**beginnings(recording), **epochs.beginnings(recording)},
        state="" if group is None else group.state,
        described={client: sort_queues(queues) for client, queues in described.items() if queues},
        again={_queue(name): figures.records_delivered_again for name, figures in recording.per_partition.items()},
        silence={
            _queue(name): figures.longest_silence_ms
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
    found: list[Change] = []
    for event in recording.events:
        mine = owned.setdefault(event.member, set())
        gone = event.ev == "closed" or (event.ev == "step" and event.what == "kill -9")
        if event.ev == "assigned":
            gained = sort_queues(set(event.tp) - mine)
            found.append(Change(event.ms, event.member, gained, ()))
            mine.update(gained)
        elif event.ev in CALLBACKS or gone:
            lost = sort_queues(mine if gone else mine & set(event.tp))
            found.append(Change(event.ms, event.member, (), lost))
            mine.difference_update(lost)
    return found


def _queue(name: str) -> Queue:
    topic, _, number = name.rpartition(":")
    return Queue(topic, "", int(number))
