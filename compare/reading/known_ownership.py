"""What of a group is told well enough to be counted: members with what they own, or single topics only.

A topic is told where every queue of it is accounted for: it belongs to a member of whom everything is told, or it is
known to be nobody's. Whoever is not told to own a queue of it owns none of it then, even if nothing else is known of
him. A group is told if all its topics are; where its sources leave topics out (`Partial.topics`), figures are those
over the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.reading.observed import ObservedGroup, ObservedMember
from compare.reading.rocketmq.retry import is_retry
from protocols import Queue


@dataclass(frozen=True, slots=True)
class KnownOwnership:
    """``members``: how many there are, None where that is not told; the first ones are those of `owners`.

    ``owners``: to each queue of a topic that is told the positions of its owners among the members. ``whole``: these
    are all topics but those that `Partial.topics` names. ``every_queue``: all queues of these topics are known, so
    that those without owner are told.
    """

    members: int | None
    owners: Mapping[Queue, tuple[int, ...]]
    whole: bool
    every_queue: bool


def known_ownership(group: ObservedGroup) -> KnownOwnership | None:
    """None for a group whose queues are not shared, or of which no topic is told."""
    if group.mode != "shared":
        return None
    listed = group.members
    members = group.seen if listed is None else listed
    count = group.member_count if listed is None else len(listed)
    if not members and count != 0:
        return None
    untold = set() if group.partial is None else set(group.partial.topics)
    owners: dict[Queue, list[int]] = {queue: [] for queue in group.queues or () if queue.topic not in untold}
    for position, member in enumerate(members):
        for queue in member.owned or ():
            if queue.topic not in untold:
                owners.setdefault(queue, []).append(position)
    found = {queue: tuple(at) for queue, at in owners.items()}
    if listed is not None and all(member.owned is not None for member in listed):
        return KnownOwnership(count, found, True, group.queues is not None)
    open_topics = _open(group, members, found)
    told = {queue: at for queue, at in found.items() if queue.topic not in open_topics}
    if group.queues is None or group.members_disagree or not told:
        return None
    return KnownOwnership(count, told, not open_topics, True)


def unowned_queues(observed: ObservedGroup) -> tuple[Queue, ...]:
    """Queues that are known to have no owner; () where it is not told what every member owns, or nothing is shared.

    A young group leaves its retry topic to nobody for a moment: such queues are there only where a source says so.
    """
    if observed.unowned is not None:
        return observed.unowned
    members = observed.members
    if observed.mode != "shared" or members is None or any(member.owned is None for member in members):
        return ()
    owned = {queue for member in members for queue in member.owned or ()}
    return tuple(queue for queue in observed.queues or () if queue not in owned and not is_retry(queue.topic))


def missing_share(observed: ObservedGroup) -> float:
    """The part of the topics that members subscribe to which does not exist, 0 to 1."""
    missing = set(observed.missing_topics)
    topics = missing.union(queue.topic for queue in observed.queues or () if not is_retry(queue.topic))
    return len(missing) / len(topics) if missing else 0.0


def _open(group: ObservedGroup, members: Sequence[ObservedMember], owners: Mapping[Queue, tuple[int, ...]]) -> set[str]:
    """Topics of which a queue may have an owner, or another one, that is not told."""
    silent = set() if group.partial is None else set(group.partial.members)
    nobodys = set(group.unowned or ())
    if group.owners_seen:
        return set()
    return {
        queue.topic
        for queue, at in owners.items()
        if (not at and queue not in nobodys) or any(members[each].id in silent for each in at)
    }
