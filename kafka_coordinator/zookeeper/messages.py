"""The paths in ZooKeeper that consumers and brokers use (spec 7.1).

In Kafka 0.8 `ZkUtils` and `ZKGroupDirs`.

Which topics a pattern subscription means: those whose whole name matches the regular expression.

In Kafka 0.8 `kafka.consumer.Whitelist`.

What a 0.8 consumer and ZooKeeper say to each other: one request and one answer at a time, and watches.

Every request has a ``correlation`` number that its sender made up and the answer repeats: ZooKeeper's ``xid``. Paths
are those of spec 7.1. These are ZooKeeper's own operations: connect, closeSession, ping, create (ephemeral), setData,
delete, getData, getChildren; `Done` is the reply to those that bring nothing but an error code. One thing is shorter
than it is: `SetData` of a node that is missing creates it, where the real client gets an error and creates it with a
second request.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

BROKERS = "/brokers/ids"
TOPICS = "/brokers/topics"


def broker(name: str) -> str:
    return f"{BROKERS}/{name}"


def topic(name: str) -> str:
    """A topic; its data is the number of partitions."""
    return f"{TOPICS}/{name}"


def members(group: str) -> str:
    return f"/consumers/{group}/ids"


def member(group: str, consumer_id: str) -> str:
    return f"/consumers/{group}/ids/{consumer_id}"


def owner(group: str, topic: str, number: int) -> str:
    return f"/consumers/{group}/owners/{topic}/{number}"


def offset(group: str, topic: str, number: int) -> str:
    return f"/consumers/{group}/offsets/{topic}/{number}"


def matching(pattern: str, topics: Iterable[str]) -> tuple[str, ...]:
    """The topics that match, in their order."""
    expression = re.compile(pattern)
    return tuple(topic for topic in topics if expression.fullmatch(topic))


NodeData: TypeAlias = Any
"""The data of a node, which is never changed: any hashable value."""

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
    data: NodeData


class SetData(NamedTuple):
    """Write a persistent node, which is created where it is missing."""

    correlation: int
    path: str
    data: NodeData


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
    data: NodeData


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
