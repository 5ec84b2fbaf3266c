"""Whether a recording's summary says what its own events say: a figure that was changed is then told apart from one
that the model does not reach."""

from compare.conformance.cases import Difference
from compare.conformance.kafka_recordings.happened import Happened, ownership
from compare.conformance.kafka_recordings.reading import Recording
from protocols.java import Queue

ROUNDING_MS = 0.1
"""Times are rounded to so much; a sum of several may be off by as many times of it."""


def inconsistent(recording: Recording, real: Happened) -> list[Difference]:
    """The figures of the summary that the events contradict; ``got`` is what the events say."""
    case = recording.scenario
    owned = ownership(real.changes, real.end)
    told = _told_by_events(recording, real)
    terms = len(recording.events)
    found: list[Difference] = []
    for field, said in _summary(recording).items():
        counted = told.get(field)
        off = abs(said - counted) if said is not None and counted is not None else 0.0
        if (said is None) != (counted is None) or off > (ROUNDING_MS * terms if field.endswith("_ms") else 0):
            found.append(Difference(case, field, said, counted))
    partitions = [f"{queue.topic}:{queue.number}" for queue in sorted(owned)]
    for name in sorted(set(partitions) - recording.per_partition.keys()):
        found.append(Difference(case, f"per_partition.{name}", None, "owned"))
    found += _running_sets(recording)
    return found


def _summary(recording: Recording) -> dict[str, float | None]:
    figures = {
        f"per_partition.{name}.{figure}": getattr(each, figure)
        for name, each in recording.per_partition.items()
        for figure in ("first_owned_ms", "unowned_ms", "longest_unowned_ms", "double_owned_ms")
    }
    return figures | {f"totals.{name}": value for name, value in recording.totals.model_dump().items()}


def _told_by_events(recording: Recording, real: Happened) -> dict[str, float | None]:
    owned = ownership(real.changes, real.end)
    found: dict[str, float | None] = {}
    for name in recording.per_partition:
        topic, _, number = name.rpartition(":")
        about = owned.get(Queue(topic, "", int(number)))
        found[f"per_partition.{name}.first_owned_ms"] = None if about is None else about.first
        found[f"per_partition.{name}.unowned_ms"] = 0.0 if about is None else about.unowned
        found[f"per_partition.{name}.longest_unowned_ms"] = 0.0 if about is None else about.longest
        found[f"per_partition.{name}.double_owned_ms"] = 0.0 if about is None else about.doubly
    every = owned.values()
    again = sum(each.records_delivered_again for each in recording.per_partition.values())
    return found | {
        "totals.partitions": len(recording.per_partition),
        "totals.unowned_partition_ms": sum(about.unowned for about in every),
        "totals.double_owned_partition_ms": sum(about.doubly for about in every),
        "totals.longest_unowned_ms": max((about.longest for about in every), default=0.0),
        "totals.records_delivered_again": again,
        "totals.partitions_revoked": sum(len(call.queues) for call in real.callbacks if call.kind == "revoked"),
        "totals.partitions_lost": sum(len(call.queues) for call in real.callbacks if call.kind == "lost"),
        "totals.callbacks": len(real.callbacks),
    }


def _running_sets(recording: Recording) -> list[Difference]:
    """Where a client tells its whole assignment with a callback: it is what the callbacks so far add up to."""
    owned: dict[str, set[Queue]] = {}
    found: list[Difference] = []
    for number, event in enumerate(recording.events):
        mine = owned.setdefault(event.member, set())
        if event.ev == "assigned":
            mine.update(event.tp)
        elif event.ev in ("revoked", "lost"):
            mine.difference_update(event.tp)
        if event.ev == "assigned" and event.all is not None and set(event.all) != mine:
            names = [[f"{queue.topic}:{queue.number}" for queue in sorted(each)] for each in (event.all, mine)]
            found.append(Difference(recording.scenario, f"events.{number}.all", *names))
    return found
