"""How far a group has come and what a queue holds: commits, questions, orders to go on elsewhere (spec 2.7, 2.8); and
records, which a client pulls and gives back where they failed (spec 6.2, 6.3, 6.7)."""

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


class PullMessage(NamedTuple):
    """Held by the broker for up to ``suspend_ms`` while there is nothing to return."""

    correlation: int
    group: str
    queue: Queue
    offset: int
    max_messages: int = 32
    suspend_ms: Time = 0.0
    commit_offset: int | None = None
    """Committed when the request comes in, whatever the pull finds."""
    subscription_version: Time = 0.0


class Retried(NamedTuple):
    """A record of a retry topic: a copy of one that a consumer sent back."""

    origin: Queue
    """The queue where the record was first."""
    origin_offset: int
    times: int
    """How often it was sent back so far, at least 1."""


class PullAnswer(NamedTuple):
    """``code`` is `SUCCESS`: records ``offset`` of the request to ``next_offset - 1``. `PULL_NOT_FOUND`,
    `PULL_RETRY_IMMEDIATELY`: nothing, go on at ``next_offset``. `PULL_OFFSET_MOVED`: the offset is outside of what
    the queue holds, or was reset: go on at ``next_offset``. All others: an error."""

    correlation: int
    code: int
    next_offset: int
    min_offset: int
    max_offset: int
    retried: tuple[Retried, ...] = ()
    """Of a retry topic: the records, in order."""


class ConsumerSendMsgBack(NamedTuple):
    """A record failed: the broker shall give it to the group again, through the retry topic. Answered by `Answer`.

    ``delay_level``: 0 lets the broker choose (3 + earlier retries), below 0 sends to the dead letters.
    """

    correlation: int
    group: str
    queue: Queue
    """The queue it was pulled from: of the topic, or of the retry topic."""
    offset: int
    delay_level: int = 0
    max_reconsume_times: int = -1
    """-1: the group's ``retryMaxTimes`` at the broker."""
    tries: int = 0
    """Ordered: how often the client tried it again itself."""
