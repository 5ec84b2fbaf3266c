"""The one owner of a queue."""

from protocols import Allocation
from protocols.errors import UserError
from protocols.timeline.fact_descriptions import queue_name


def single_owner(allocation: Allocation, topic: str, number: int, broker: str | None) -> str | None:
    """Who owns the queue; None where nobody does. `UserError` where there is no such queue, or several at different
    brokers, `AssertionError` where several members own it."""
    found = [
        (queue, owners)
        for queue, owners in allocation.owners.items()
        if (queue.topic, queue.number) == (topic, number) and broker in (None, queue.broker)
    ]
    if not found:
        there = ", ".join(map(queue_name, sorted(allocation.owners)))
        raise UserError(f"no queue {topic}-{number}, expected one of {there}")
    if len(found) != 1:
        raise UserError(f"{len(found)} queues {topic}-{number}, expected one; say which broker")
    if len(found[0][1]) > 1:
        raise AssertionError(f"{topic}-{number} has several owners: {', '.join(found[0][1])}")
    return found[0][1][0] if found[0][1] else None
