"""The calls that block a thread of the real client (``MQClientAPIImpl``), and how they can fail.

A thread that makes one stands still until it is answered; the player of traces answers at once, in a cluster the
node sends a request and goes on when the answer comes, or the connection ends, or the call's own time is over.
"""

from enum import Enum
from typing import NamedTuple, TypeAlias

from protocols.engine.nodes import Time
from protocols.java import Queue


class Failure(Enum):
    """Why a call has no value."""

    NOT_FOUND = "not found"
    """The broker answered that there is none."""
    FAILED = "failed"
    """No broker is known, no answer came, or it was an error."""


BROKER_ASKED = "broker asked"
"""Of the choice which one it is that is asked for the members."""


class AskMembers(NamedTuple):
    """``findConsumerIdList``: answered by the client ids of the group as one broker of the topic lists them, or
    `Failure.FAILED`."""

    group: str
    topic: str


class RefreshRoute(NamedTuple):
    """``updateTopicRouteInfoFromNameServer``: the name server is asked for the topic's route, which is taken over.
    Answered by None."""

    topic: str


class QueryOffset(NamedTuple):
    """The committed offset at this address of the queue's broker. Answered by the offset or a `Failure`."""

    group: str
    queue: Queue
    address: str


class AskMaxOffset(NamedTuple):
    """The offset of the next record to be written. Answered by the offset, or `Failure.FAILED`."""

    queue: Queue
    address: str


class AskOffsetAt(NamedTuple):
    """The offset of the first record stored at or after a time. Answered by the offset, or `Failure.FAILED`."""

    queue: Queue
    address: str
    timestamp: Time


class LockQueues(NamedTuple):
    """Ask the queues' broker (all are of one) to lock them. Answered by those that are held now, or
    `Failure.FAILED`."""

    group: str
    queues: tuple[Queue, ...]
    address: str


class UnlockQueues(NamedTuple):
    """Give locks back and wait for the answer: None, or `Failure.FAILED`."""

    group: str
    queues: tuple[Queue, ...]
    address: str


class AwaitConsumeLock(NamedTuple):
    """Wait until no listener works on the queue, at most so many milliseconds. Answered by whether that is so."""

    group: str
    queue: Queue
    at_most: Time


class HeartbeatToAll(NamedTuple):
    """Tell all known brokers who is here. Answered by None."""


class Sleep(NamedTuple):
    """Stand still so many milliseconds. Answered by None."""

    duration: Time


class TellBroker(NamedTuple):
    """A heartbeat to one address. Answered by whether the broker took it."""

    address: str


class Unregister(NamedTuple):
    """Take leave of one address. Answered by None."""

    group: str
    address: str


Call: TypeAlias = (
    AskMembers
    | RefreshRoute
    | QueryOffset
    | AskMaxOffset
    | AskOffsetAt
    | LockQueues
    | UnlockQueues
    | AwaitConsumeLock
    | HeartbeatToAll
    | Sleep
    | TellBroker
    | Unregister
)
