"""The sticky assignors of librdkafka and kafka-python are their own programs, not Java's.

They give every member as many partitions as Java's, but where several partitions of a topic would do as well they may
take another one. So where such a client may be the leader, a run is compared up to an exchange of partitions of one
topic: a partition of the run stands for the recorded one that went through the same callbacks of the same members.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from compare.conformance.kafka_recordings.clients import JAVA
from compare.conformance.kafka_recordings.happened import Called, Happened
from compare.conformance.kafka_recordings.scenario import Plan
from protocols.queues import Queue, sort_queues

STICKY = ("sticky", "cooperative-sticky")

History: TypeAlias = tuple[str, tuple[tuple[str, int], ...]]
"""Topic, then member and number of each of its callbacks that named the partition."""


def may_exchange(plan: Plan) -> bool:
    """Whether another sticky assignor than Java's may have been at work."""
    others = any(client.kind != JAVA for client in plan.clients.values())
    return others and any(name in STICKY for each in plan.clients.values() for name in each.strategy.split(","))


def exchanged(happened: Happened, real: Happened) -> Happened:
    """The run with its partitions named as those of the recording that have the same history, as far as possible."""
    ours, theirs = _histories(happened.callbacks), _histories(real.callbacks)
    names: dict[Queue, Queue] = {}
    for history, queues in ours.items():
        wanted = theirs.get(history, [])
        same = [queue for queue in queues if queue in wanted]
        names.update(zip(same, same, strict=True))
        free = [queue for queue in wanted if queue not in same]
        names.update(zip((queue for queue in queues if queue not in same), free, strict=False))
    left = [queue for queues in ours.values() for queue in queues if queue not in names]
    taken = set(names.values())
    free = [queue for queues in theirs.values() for queue in queues if queue not in taken]
    for queue in left:
        # No history fits: any name of the topic that is left, so that the difference shows.
        found = next((each for each in free if each.topic == queue.topic), queue)
        names[queue] = found
        free = [each for each in free if each != found]

    def named(queues: Iterable[Queue]) -> tuple[Queue, ...]:
        return sort_queues(names.get(queue, queue) for queue in queues)

    return replace(
        happened,
        callbacks=tuple(call._replace(queues=named(call.queues)) for call in happened.callbacks),
        changes=tuple(
            change._replace(gained=named(change.gained), lost=named(change.lost)) for change in happened.changes
        ),
        described={client: named(queues) for client, queues in happened.described.items()},
        again={names.get(queue, queue): count for queue, count in happened.again.items()},
        silence={names.get(queue, queue): longest for queue, longest in happened.silence.items()},
    )


def _histories(callbacks: Iterable[Called]) -> dict[History, list[Queue]]:
    counts: dict[str, int] = {}
    passed: dict[Queue, list[tuple[str, int]]] = {}
    for call in callbacks:
        if call.queues:
            counts[call.member] = counts.get(call.member, 0) + 1
            for queue in call.queues:
                passed.setdefault(queue, []).append((call.member, counts[call.member]))
    found: dict[History, list[Queue]] = {}
    for queue in sorted(passed):
        found.setdefault((queue.topic, tuple(sorted(passed[queue]))), []).append(queue)
    return found
