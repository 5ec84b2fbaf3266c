"""Queues without weight go to members that have no queue: no load changes, and fewer members are idle."""

from collections.abc import Mapping

from protocols import Allocation, Queue


def with_idle_employed(allocation: Allocation, weights: Mapping[Queue, int | float]) -> Allocation:
    """As few idle members as queues without weight can leave; the allocation itself where none can be employed.

    Members that own no other queue each keep one of them; an idle member gets a spare one of a topic that it reads, or
    that of a member who gets another one instead (augmenting paths over topics).
    """
    owned = {id: list(queues) for id, queues in allocation.items()}
    if all(owned.values()):
        return allocation
    keeps: dict[str, Queue] = {}
    spare: dict[str, list[tuple[str, Queue]]] = {}
    keepers: dict[str, list[str]] = {}
    for id, queues in owned.items():
        weightless = [queue for queue in queues if not weights[queue]]
        if weightless and len(weightless) == len(queues):
            keeps[id] = weightless.pop()
            keepers.setdefault(keeps[id].topic, []).append(id)
        for queue in weightless:
            spare.setdefault(queue.topic, []).append((id, queue))
    reads = {member.id: member.subscription for member in allocation.group.members}
    moved = False
    for idle in [id for id, queues in owned.items() if not queues]:
        path = _path(idle, reads, spare, keepers)
        if not path:
            continue
        moved = True
        owner, queue = spare[path[-1][1]].pop()
        for member, topic in reversed(path):
            # The last one takes the spare queue, each one before it what its follower had.
            owned[owner].remove(queue)
            owned[member].append(queue)
            keepers.setdefault(topic, []).append(member)
            former = keeps.get(member)
            keeps[member] = queue
            if former is None:
                break
            keepers[former.topic].remove(member)
            owner, queue = member, former
    return Allocation(allocation.group, owned) if moved else allocation


def _path(
    idle: str,
    reads: Mapping[str, tuple[str, ...]],
    spare: Mapping[str, list[tuple[str, Queue]]],
    keepers: Mapping[str, list[str]],
) -> list[tuple[str, str]]:
    """(member, topic of the queue that it takes) from the idle member to one who takes a spare queue; [] if none."""
    came: dict[str, tuple[str, str] | None] = {idle: None}
    seen: set[str] = set()
    waiting = [idle]
    for member in waiting:
        for topic in reads[member]:
            if topic in seen:
                continue
            seen.add(topic)
            if spare.get(topic):
                path = [(member, topic)]
                while (before := came[path[-1][0]]) is not None:
                    path.append(before)
                return path[::-1]
            for keeper in keepers.get(topic, ()):
                if keeper not in came:
                    came[keeper] = (member, topic)
                    waiting.append(keeper)
    return []
