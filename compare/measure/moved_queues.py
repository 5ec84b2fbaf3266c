"""Between two JSON documents: which queues went from one owner to another."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Owners: TypeAlias = Mapping[str, Sequence[Sequence[str | int]] | None]
"""Member to [[topic, broker, number], ...], null where that is not known."""


def moved_queues(before: Owners, after: Owners) -> list[list[str | int]]:
    """[topic, broker, number, from, to], sorted, of each queue with one owner in both."""
    was, now = single_owners(before), single_owners(after)
    return [[*queue, was[queue], now[queue]] for queue in sorted(was.keys() & now.keys()) if was[queue] != now[queue]]


def single_owners(owners: Owners) -> dict[tuple[str | int, ...], str]:
    """Queue to its owner, for queues with just one."""
    found: dict[tuple[str | int, ...], str | None] = {}
    for member, queues in owners.items():
        for queue in queues or ():
            found[tuple(queue)] = None if tuple(queue) in found else member
    return {queue: owner for queue, owner in found.items() if owner is not None}
