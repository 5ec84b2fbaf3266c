"""What a 0.8 consumer and ZooKeeper say to each other: one request and one answer at a time, and watches.

Every request has a ``correlation`` number that its sender made up and the answer repeats. Paths are those of
spec 7.1. The data of a node is any hashable value. Commands come from the operator: the user or the scenario.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from kafka_coordinator.zookeeper.settings import ConsumerSettings
from protocols.load import Production
from protocols.queues import Queue

NO_NODE, NODE_EXISTS = "NoNode", "NodeExists"
"""ZooKeeper's errors that matter here; an empty text is success."""

CHILDREN, DATA = "children", "data"
"""What a watch watches."""


class OpenSession(NamedTuple):
    correlation: int
    timeout_ms: int
    session: int
    """The session to go on with; 0: a new one."""


class SessionOpened(NamedTuple):
    """``session`` differs from the one asked for where that one has expired: it is a new one then."""

    correlation: int
    session: int


class CloseSession(NamedTuple):
    correlation: int


class SessionClosed(NamedTuple):
    correlation: int


class Ping(NamedTuple):
    correlation: int


class Pong(NamedTuple):
    correlation: int


class Create(NamedTuple):
    """Create an ephemeral node. `NODE_EXISTS` where there is one."""

    correlation: int
    path: str
    data: Any


class SetData(NamedTuple):
    """Write a persistent node, which is created where it is missing."""

    correlation: int
    path: str
    data: Any


class Delete(NamedTuple):
    correlation: int
    path: str


class Done(NamedTuple):
    """Answers Create, SetData, Delete."""

    correlation: int
    error: str


class GetData(NamedTuple):
    correlation: int
    path: str
    watch: bool = False


class DataAnswer(NamedTuple):
    correlation: int
    error: str
    data: Any


class GetChildren(NamedTuple):
    correlation: int
    path: str
    watch: bool = False


class ChildrenAnswer(NamedTuple):
    correlation: int
    names: tuple[str, ...]
    """Sorted."""


class WatchEvent(NamedTuple):
    """What was watched has changed; the watch is gone with it."""

    kind: str
    path: str


Request: TypeAlias = CloseSession | Ping | Create | SetData | Delete | GetData | GetChildren


class Registration(NamedTuple):
    """Data of ``/consumers/G/ids/C``: streams (threads) per topic; with a pattern, streams for whatever matches."""

    topics: tuple[tuple[str, int], ...]
    pattern: str | None = None
    streams: int = 1


class Shutdown(NamedTuple):
    """Command: close the consumer properly."""


class Reopen(NamedTuple):
    """Command: close the consumer properly and begin anew with this (0.8 cannot change a running one)."""

    topics: tuple[str, ...]
    pattern: str | None
    settings: ConsumerSettings


class Freeze(NamedTuple):
    """Command: the user's loop stands still from now on."""


class Thaw(NamedTuple):
    """Command: the user's loop goes on."""


class CommitNow(NamedTuple):
    """Command: commit the positions, or these offsets."""

    offsets: tuple[tuple[str, int, int], ...] | None
    """Topic, number, offset."""


class NewLoad(NamedTuple):
    """Command: what producers write from now on."""

    production: Mapping[Queue, Production]
    """Never changed once it was sent."""


class TellDelivered(NamedTuple):
    """Command: tell what the user has handled so far."""


class SetPersistent(NamedTuple):
    """Command to ZooKeeper: write a persistent node."""

    path: str
    data: Any


class RemoveNode(NamedTuple):
    """Command to ZooKeeper: remove a node, if it is there."""

    path: str
