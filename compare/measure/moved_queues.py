"""Between two JSON documents: which queues went from one owner to another."""

from collections.abc import Mapping
from typing import Any


def moved_queues(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[list[Any]]:
    """[topic, broker, number, from, to], sorted, of each queue with one owner in both. ``before`` and ``after``: member
    to [[topic, broker, number], ...], null where that is not known."""
    was, now = _owner(before), _owner(after)
    return [[*queue, was[queue], now[queue]] for queue in sorted(was.keys() & now.keys()) if was[queue] != now[queue]]


def _owner(owners: Mapping[str, Any]) -> dict[tuple[Any, ...], str]:
    """Queue to its owner, for queues with just one."""
    found: dict[tuple[Any, ...], str | None] = {}
    for member, queues in owners.items():
        for queue in queues or ():
            found[tuple(queue)] = None if tuple(queue) in found else member
    return {queue: owner for queue, owner in found.items() if owner is not None}
