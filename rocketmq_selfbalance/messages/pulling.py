"""Records: a client pulls them from a broker, and gives back those that failed (spec 6.2, 6.3, 6.7)."""

from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.load import Production
from protocols.queues import Queue


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
    member: str | None = None
    watch: bool = False
    """No part of the real protocol: a pull that finds nothing is answered at once, and it is the client who lets the
    ``suspend_ms`` pass before it pulls again. It computes from ``production`` which records come in the meantime.
    What it cannot compute it is told by a `WatchedPullAnswer`: a record of a retry topic has come, the topic or its
    production is not what it was, a record has come after a reset. So nobody keeps a clock for a queue at rest."""


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
    the queue holds, or was reset: go on at ``next_offset``. Any other: an error."""

    correlation: int
    code: int
    next_offset: int
    min_offset: int
    max_offset: int
    production: Production | None = None
    """What the queue takes in from now on, for a client that computes what its later pulls will bring; None where it
    cannot be told in advance (retry topics)."""
    retried: tuple[Retried, ...] = ()
    """Of a retry topic: the records, in order."""


class WatchedPullAnswer(NamedTuple):
    """No part of the real protocol: the answer that a held pull would get now, to a pull with ``watch`` that was
    answered with nothing before. Counts as the client's pull being answered early: it pulls again at once."""

    correlation: int
    group: str
    queue: Queue
    answer: PullAnswer


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
