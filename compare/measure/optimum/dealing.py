"""From numbers of queues to the queues themselves, and from queues to their owners."""

from collections.abc import Iterable, Mapping

from protocols import Group, Queue


def deal(
    queues: Iterable[Queue], quotas: Mapping[int, int], owners: Mapping[Queue, tuple[int, ...]]
) -> dict[int, list[Queue]]:
    """Members (positions) to as many of these queues as their quota says; together as many as there are.

    Owners keep what their quota lets them, in the order of the queues; the rest is dealt round and round.
    """
    given: dict[int, list[Queue]] = {member: [] for member in quotas}
    left = dict(quotas)
    rest = []
    for queue in queues:
        for owner in owners.get(queue, ()):
            if left.get(owner):
                given[owner].append(queue)
                left[owner] -= 1
                break
        else:
            rest.append(queue)
    rest.reverse()
    while rest:
        for member, count in left.items():
            if count:
                given[member].append(rest.pop())
                left[member] = count - 1
    return given


def owners_today(group: Group, today: Mapping[str, Iterable[Queue]] | None) -> dict[Queue, tuple[int, ...]]:
    """Queue to the positions of the members that own it today and subscribe to its topic."""
    found: dict[Queue, tuple[int, ...]] = {}
    for position, member in enumerate(group.members):
        if today is None or member.id not in today:
            continue
        subscription = set(member.subscription)
        for queue in today[member.id]:
            if queue.topic in subscription:
                found[queue] = (*found.get(queue, ()), position)
    return found
