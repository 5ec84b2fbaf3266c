"""Conditions that last: ownership of a queue, a queue without owner or with several, a member without any queue.

Times are milliseconds of virtual time; ``until`` is None where it still holds at the end of the run.
"""

from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.queues import Queue


class Interval(NamedTuple):
    """A member owned a queue (believed that it did, or was granted it) within one generation.

    A queue that is kept from one generation to the next has one interval for each, without time between them.
    """

    group: str
    member: str
    queue: Queue
    since: Time
    until: Time | None
    generation: int | None


class Gap(NamedTuple):
    """Nobody believed to own the queue: from ``before``, who lost it, to ``after``, who got it."""

    group: str
    queue: Queue
    since: Time
    until: Time | None
    before: str
    after: str | None


class Double(NamedTuple):
    """Several members believed at the same time that they owned the queue: ``members``, as they came."""

    group: str
    queue: Queue
    since: Time
    until: Time | None
    members: tuple[str, ...]


class Pause(NamedTuple):
    """A member that had queues had none, until it got some again."""

    group: str
    member: str
    since: Time
    until: Time


def length(since: Time, until: Time | None, end: Time) -> Time:
    """Milliseconds of an interval in a run that ends at ``end``."""
    return (end if until is None else until) - since
