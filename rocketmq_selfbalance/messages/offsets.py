"""How far a group has come and what a queue holds: commits, questions, orders to go on elsewhere (spec 2.7, 2.8)."""

from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.java import Queue


class UpdateConsumerOffset(NamedTuple):
    """Commit. Answered by `Answer` unless ``oneway`` (what clients do)."""

    correlation: int
    group: str
    queue: Queue
    offset: int
    oneway: bool = True


class QueryConsumerOffset(NamedTuple):
    """Answered by `OffsetAnswer`, `QUERY_NOT_FOUND` where there is none."""

    correlation: int
    group: str
    queue: Queue
    set_zero_if_not_found: bool = True


class GetMaxOffset(NamedTuple):
    """Answered by `OffsetAnswer`: offset of the next record to be written."""

    correlation: int
    queue: Queue


class GetMinOffset(NamedTuple):
    """Answered by `OffsetAnswer`: offset of the oldest record that is still there."""

    correlation: int
    queue: Queue


class SearchOffsetByTimestamp(NamedTuple):
    """Answered by `OffsetAnswer`: the first record stored at or after ``timestamp`` (virtual time)."""

    correlation: int
    queue: Queue
    timestamp: Time


class OffsetAnswer(NamedTuple):
    correlation: int
    code: int
    offset: int
    """-1 where ``code`` is not `SUCCESS`."""


class ResetConsumerClientOffset(NamedTuple):
    """One way, from a broker to every connection of the group: consumers go on from these offsets."""

    correlation: int
    group: str
    topic: str
    offsets: tuple[tuple[Queue, int], ...]
