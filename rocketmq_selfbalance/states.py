"""The life of a queue at one consumer, and of a consumer, as data (spec 5.6).

*Process queue*: a queue that the consumer computed as its own is locked first if consumption is ordered (LOCKING), its
starting offset is looked for (LOCATING), then it is in the process queue table: WAITING for its first pull, PULLING
while a pull is at the broker, in BACKOFF after an error or while something holds the next pull back. DROPPED it still
stands in the table until it can be removed: no further pull, no offset kept from it. The one thing that keeps it there
is a listener that still works on an ordered queue.

*Client*: the service state of a consumer. A start is possible once; START_FAILED is what it is called until it has
succeeded.
"""

from protocols.state_machine import ALWAYS, Edge, StateMachine

ABSENT = "ABSENT"
LOCKING = "LOCKING"
LOCATING = "LOCATING"
WAITING = "WAITING"
PULLING = "PULLING"
BACKOFF = "BACKOFF"
DROPPED = "DROPPED"

IN_TARGET = "in the target"
LOCK_GRANTED = "lock granted"
LOCK_REFUSED = "lock refused"
OFFSET_FOUND = "offset found"
OFFSET_UNKNOWN = "offset unknown"
PULL_DUE = "pull due"
PULL_FAILED = "pull failed"
DROP = "dropped"
REMOVED = "removed"
NOT_REMOVABLE = "not removable"
ABANDONED = "abandoned"

ORDERED = "ordered"
CONCURRENT = "concurrent"
SENT = "sent"
HELD_BACK = "held back"

CREATE_JUST = "CREATE_JUST"
START_FAILED = "START_FAILED"
RUNNING = "RUNNING"
SHUTDOWN_ALREADY = "SHUTDOWN_ALREADY"

START = "start"
STARTED = "started"
REFUSED = "refused"
SHUTDOWN = "shutdown"


PROCESS_QUEUE = StateMachine(
    "process queue",
    (ABSENT, LOCKING, LOCATING, WAITING, PULLING, BACKOFF, DROPPED),
    (
        Edge(ABSENT, IN_TARGET, ORDERED, LOCKING),
        Edge(ABSENT, IN_TARGET, CONCURRENT, LOCATING),
        Edge(LOCKING, LOCK_GRANTED, ALWAYS, LOCATING),
        Edge(LOCKING, LOCK_REFUSED, ALWAYS, ABSENT),
        Edge(LOCKING, ABANDONED, ALWAYS, ABSENT),
        Edge(LOCATING, OFFSET_FOUND, ALWAYS, WAITING),
        Edge(LOCATING, OFFSET_UNKNOWN, ALWAYS, ABSENT),
        Edge(LOCATING, ABANDONED, ALWAYS, ABSENT),
        Edge(WAITING, PULL_DUE, SENT, PULLING),
        Edge(WAITING, PULL_DUE, HELD_BACK, BACKOFF),
        Edge(WAITING, DROP, ALWAYS, DROPPED),
        Edge(PULLING, PULL_DUE, SENT, PULLING),
        Edge(PULLING, PULL_DUE, HELD_BACK, BACKOFF),
        Edge(PULLING, PULL_FAILED, ALWAYS, BACKOFF),
        Edge(PULLING, DROP, ALWAYS, DROPPED),
        Edge(BACKOFF, PULL_DUE, SENT, PULLING),
        Edge(BACKOFF, PULL_DUE, HELD_BACK, BACKOFF),
        Edge(BACKOFF, DROP, ALWAYS, DROPPED),
        Edge(DROPPED, REMOVED, ALWAYS, ABSENT),
        Edge(DROPPED, NOT_REMOVABLE, ALWAYS, DROPPED),
    ),
    meanings={
        ABSENT: "the queue is not this consumer's",
        LOCKING: "the consumer asks the broker for the queue's lock",
        LOCATING: "the consumer asks the broker for the committed offset",
        WAITING: "the queue is in the process queue table and has not been pulled yet",
        PULLING: "a pull is at the broker",
        BACKOFF: "the next pull is held back, after an error or because too much waits to be consumed",
        DROPPED: "the consumer pulls no more, but a listener is still busy with the queue",
    },
)
"""A queue at one consumer. The code runs from it, `equipoise states rocketmq` draws it."""

CLIENT = StateMachine(
    "client",
    (CREATE_JUST, START_FAILED, RUNNING, SHUTDOWN_ALREADY),
    (
        Edge(CREATE_JUST, START, ALWAYS, START_FAILED),
        Edge(START_FAILED, STARTED, ALWAYS, RUNNING),
        Edge(START_FAILED, REFUSED, ALWAYS, CREATE_JUST),
        Edge(RUNNING, SHUTDOWN, ALWAYS, SHUTDOWN_ALREADY),
    ),
    meanings={
        CREATE_JUST: "the consumer has been made and not started",
        START_FAILED: "the consumer is starting; so it is called until that has succeeded",
        RUNNING: "the consumer sends heartbeats and shares its queues",
        SHUTDOWN_ALREADY: "the consumer has been shut down and cannot start again",
    },
)
"""The service state of a consumer."""
