"""The calls that block a thread of the real client (``MQClientAPIImpl``), and how they can fail.

A thread that makes one stands still until it is answered; the player of traces answers at once, in a cluster the
node sends a request and goes on when the answer comes, or the connection ends, or the call's own time is over.

What one real thread (``Thread``, ``ServiceThread``) of the client has still to do, as data: steps that are left, and
the call it waits for.

The real client's threads block in the middle of their work. Here a thread is a stack of steps, each a bare record
with what it needs. The step on top is taken off and done: it may push further steps and may leave a value for the next
one (`Thread.value`), or return a call: then the thread waits. When the call is answered, its answer is the value that
the next step finds, and the thread runs on. So a thread that waits can be copied, compared, and looked at.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeAlias

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from protocols.node_state import NodeState, Shared


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


class AskAssignment(NamedTuple):
    """``queryAssignment``: a broker of the topic says which queues the consumer may ask, and whether by POP. Answered
    by `Assigned`, None where there is no valid answer, or `Failure.FAILED`."""

    group: str
    topic: str


class Assigned(NamedTuple):
    """The queues of a broker's answer, sorted: those to pull, and those to pop."""

    pulled: tuple[Queue, ...]
    popped: tuple[Queue, ...]


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
    | AskAssignment
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


class Step(Protocol):
    """A named tuple with what is needed to do it."""

    def do(self, world: Any, now: Time, thread: "Thread", out: Outbox, /) -> Call | None:
        """The call that the thread has to wait for, None if it can go on."""


@dataclass(slots=True, init=False, eq=False)
class Thread(NodeState):
    """The steps left (the next one is the last of the list), the value given by the step or call before, and the
    call that is waited for."""

    left: list[Shared[Step]]
    value: Shared[Any]
    waiting: Call | None

    def __init__(self, *steps: Step) -> None:
        self.left = list(reversed(steps))
        self.value = self.waiting = None

    def push(self, *steps: Step) -> None:
        """Do these next, in this order, before what is left."""
        self.left += steps[::-1]


def run(world: object, now: Time, thread: Thread, out: Outbox) -> Call | None:
    """Do the thread's steps until it has to wait (the call is returned) or nothing is left (None)."""
    left = thread.left
    thread.waiting = None
    while left:
        call = left.pop().do(world, now, thread, out)
        if call is not None:
            thread.waiting = call
            return call
    thread.value = None
    return None
