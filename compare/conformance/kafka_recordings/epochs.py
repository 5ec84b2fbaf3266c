"""Group epochs of the consumer protocol, as the coordinator's log lines and the descriptions of the group tell them.

An epoch stands where the classic protocol has a generation: it begins when the group's epoch is raised, and is complete
when every member has reached it. The log tells the first; for the second there are only the descriptions, which were
taken about every 100 ms.
"""

from compare.conformance.kafka_recordings.broker_log import (
    ADDED,
    BUMPED,
    FAILED,
    JOINED,
    LEFT,
    REPLACED_BY,
    STATIC,
    lines,
)
from compare.conformance.kafka_recordings.reading import Recording


def sizes(recording: Recording) -> dict[int, int]:
    """Each epoch to how many members the group had when it began."""
    found: dict[int, int] = {}
    members: set[str] = set()
    for line in lines(recording):
        if line.kind in (ADDED, STATIC, JOINED, REPLACED_BY):
            members.add(line.about)
            members.discard(line.replaced)
        elif line.kind in (LEFT, FAILED):
            members.discard(line.about)
        elif line.kind == BUMPED:
            found[line.generation] = len(members)
    return found


def beginnings(recording: Recording) -> dict[int, float]:
    """Each epoch (or generation, before an upgrade) to the time when the next one began."""
    return {line.generation - 1: line.ms for line in lines(recording) if line.kind == BUMPED}


def reached(recording: Recording) -> dict[int, float]:
    """Each epoch to the time when all members were seen to have reached it; it may have been a little earlier. A
    description that took long is stamped with its beginning, which may be before the epoch's."""
    found: dict[int, float] = {}
    began = {line.generation: line.ms for line in lines(recording) if line.kind == BUMPED}
    for event in recording.of("group"):
        if event.g is not None and event.g.group_epoch is not None and event.g.state in ("Stable", "Empty"):
            found.setdefault(event.g.group_epoch, max(event.ms, began.get(event.g.group_epoch, event.ms)))
    return found
