"""The life of a queue at one consumer, and of a consumer, as data (spec 5.6).

*Process queue*: a queue that the consumer computed as its own is locked first if consumption is ordered (LOCKING), its
starting offset is looked for (LOCATING), then it is in the process queue table: WAITING for its first pull, PULLING
while a pull is at the broker, in BACKOFF after an error or while something holds the next pull back. DROPPED it still
stands in the table until it can be removed: no further pull, no offset kept from it. The one thing that keeps it there
is a listener that still works on an ordered queue.

*Client*: the service state of a consumer. A start is possible once; START_FAILED is what it is called until it has
succeeded.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import networkx

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

ALWAYS = ""
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


class Edge(NamedTuple):
    """In state ``before``, the event leads to ``after`` where the guard holds (``ALWAYS``: there is none)."""

    before: str
    event: str
    guard: str
    after: str


class Machine(NamedTuple):
    """A state machine: its name, its states in the order of a life, its edges."""

    name: str
    states: tuple[str, ...]
    edges: tuple[Edge, ...]


PROCESS_QUEUE = Machine(
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
)
"""A queue at one consumer. The code runs from it, `equipoise states rocketmq` draws it."""

CLIENT = Machine(
    "client",
    (CREATE_JUST, START_FAILED, RUNNING, SHUTDOWN_ALREADY),
    (
        Edge(CREATE_JUST, START, ALWAYS, START_FAILED),
        Edge(START_FAILED, STARTED, ALWAYS, RUNNING),
        Edge(START_FAILED, REFUSED, ALWAYS, CREATE_JUST),
        Edge(RUNNING, SHUTDOWN, ALWAYS, SHUTDOWN_ALREADY),
    ),
)
"""The service state of a consumer."""

_NEXT: Mapping[tuple[str, str, str, str], str] = {
    (machine.name, *edge[:3]): edge.after for machine in (PROCESS_QUEUE, CLIENT) for edge in machine.edges
}


class IllegalTransition(AssertionError):  # noqa: N818 - what happened, in the system's own words
    """The model took a step that the table does not have: a mistake of ours."""


def next_state(machine: Machine, before: str, event: str, guard: str = ALWAYS) -> str:
    """Where the event leads; `IllegalTransition` where there is no such edge."""
    after = _NEXT.get((machine.name, before, event, guard))
    if after is None:
        told = f"a {machine.name} in {before} has no edge for {event!r}" + (f" ({guard})" if guard else "")
        raise IllegalTransition(told)
    return after


@cache
def process_queue_graph() -> "networkx.MultiDiGraph[str]":
    """The life of a queue at one consumer as a graph: states are nodes, every edge has ``event`` and ``guard``. Do not
    change it."""
    return _graph(PROCESS_QUEUE)


@cache
def client_graph() -> "networkx.MultiDiGraph[str]":
    """The life of a consumer, in the same form."""
    return _graph(CLIENT)


def _graph(machine: Machine) -> "networkx.MultiDiGraph[str]":
    import networkx  # so late, that a simulation does not wait for it

    made: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
    made.add_nodes_from(machine.states)
    for edge in machine.edges:
        made.add_edge(edge.before, edge.after, key=f"{edge.event}/{edge.guard}", event=edge.event, guard=edge.guard)
    return made
