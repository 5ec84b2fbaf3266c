"""Which queues a group reads, as far as its views tell.

Subscriptions are in no view, so a topic counts as read if a member owns one of its partitions or is to own one
(target assignment). All partitions of such a topic count that any view shows, whether somebody owns them or not.
A topic of which the group has committed offsets and nobody owns a partition is read

- in a group without members: its committed offsets are all it has;
- while the group rebalances, because its topics may be between two owners;
- where no member owns anything.

Otherwise nobody reads it any more: its offsets are left over from an earlier subscription and a note says so.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.reading.kafka.facts import OffsetsTable
from compare.reading.observed import ObservedMember
from protocols import Queue, sort_queues

_SETTLED = (None, "Stable", "Empty", "Dead", "Unknown")


@dataclass(frozen=True, slots=True)
class ReadQueues:
    """The queues, sorted, None where not told; their lags, None where nothing is committed."""

    queues: tuple[Queue, ...] | None
    lag: Mapping[Queue, int | None]
    notes: tuple[str, ...]


def find_queues(
    members: Sequence[ObservedMember],
    targets: Sequence[Queue] | None,
    offsets: OffsetsTable | None,
    state: str | None,
    topics: Mapping[str, tuple[int, ...]],
) -> ReadQueues:
    """``targets`` is None where no target assignment is told; ``topics`` are the partition numbers told."""
    found = {queue for member in members for queue in member.owned or ()}
    found.update(targets or ())
    if offsets is not None:
        found.update(queue for queues in offsets.owned.values() for queue in queues)
    read: dict[str, int] = {}
    for queue in found:
        read[queue.topic] = max(read.get(queue.topic, 0), queue.number)
    notes: list[str] = []
    for topic, highest in sorted(read.items()):
        numbers = topics.get(topic, ())
        if numbers and highest > numbers[-1]:
            notes.append(
                f"kafka-topics shows fewer partitions of {topic} than are owned: the output is of another cluster"
            )
        else:
            found.update(Queue(topic, "", number) for number in numbers)
    if offsets is not None:
        between = not members or not read or (targets is None and state not in _SETTLED)
        left_over: dict[str, int] = {}
        for queue in offsets.unowned:
            if between or queue.topic in read:
                found.add(queue)
            else:
                left_over[queue.topic] = left_over.get(queue.topic, 0) + 1
        notes += (_note(topic, count) for topic, count in sorted(left_over.items()))
    if members:
        notes += _holes(found, topics)
    if offsets is not None and not offsets.complete:
        notes.append("rows of the offsets view are missing or unreadable: partitions and lag cover only the other rows")
    if not found:
        return ReadQueues(None, {}, tuple(notes))
    queues = sort_queues(found)
    lag = {} if offsets is None else {queue: offsets.lag.get(queue) for queue in queues}
    return ReadQueues(queues, lag, tuple(notes))


def _holes(found: Iterable[Queue], topics: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
    """What is told of partitions without a row. Such a row is no error by itself: the offsets view leaves out
    partitions that nobody owns and that have no committed offset."""
    numbers: dict[str, set[int]] = {}
    for queue in found:
        if queue.topic not in topics:
            numbers.setdefault(queue.topic, set()).add(queue.number)
    for topic, shown in sorted(numbers.items()):
        count = max(shown) + 1 - len(shown)
        if count:
            first = next(number for number in range(max(shown)) if number not in shown)
            which = f"partition {first} of {topic} is" if count == 1 else f"{count} partitions of {topic} are"
            yield (
                f"{which} in no view, although partition {max(shown)} is: rows are missing, or no owner and no"
                " committed offset exist there; add kafka-topics --describe"
            )


def _note(topic: str, count: int) -> str:
    partitions = "1 partition has" if count == 1 else f"{count} partitions have"
    return f"topic {topic} has no owner, although {partitions} a committed offset: the topic does not count as read"
