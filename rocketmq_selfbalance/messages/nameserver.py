"""What brokers, clients and administrators say to a name server, and what it answers (spec 1)."""

from typing import NamedTuple

from rocketmq_selfbalance.messages.topics import DataVersion, TopicConfig


class RegisterBroker(NamedTuple):
    """A broker tells all its topics, or those that have changed. Not answered in the model."""

    correlation: int
    cluster: str
    broker: str
    broker_id: int
    address: str
    topics: tuple[TopicConfig, ...]
    version: DataVersion


class UnregisterBroker(NamedTuple):
    correlation: int
    cluster: str
    broker: str
    broker_id: int
    address: str


class BrokerHeartbeat(NamedTuple):
    """One way: the broker is there (only where `enableSlaveActingMaster` or the controller is in use)."""

    correlation: int
    cluster: str
    address: str


class GetRouteInfo(NamedTuple):
    correlation: int
    topic: str


class QueueData(NamedTuple):
    """A topic's queues at the broker of this name."""

    broker: str
    read: int
    write: int
    perm: int


class BrokerData(NamedTuple):
    cluster: str
    broker: str
    addresses: tuple[tuple[int, str], ...]
    """Broker id and address (a node's name), by id; 0 is the master."""


class Route(NamedTuple):
    """Equal routes are equal values: both lists are sorted by broker name."""

    queues: tuple[QueueData, ...]
    brokers: tuple[BrokerData, ...]


class RouteInfoAnswer(NamedTuple):
    correlation: int
    code: int
    """`SUCCESS` or `TOPIC_NOT_EXIST`."""
    route: Route | None


class WipeWritePerm(NamedTuple):
    """An administrator takes the write bit from all topics of a broker, at the name server."""

    correlation: int
    broker: str


class AddWritePerm(NamedTuple):
    """An administrator makes all topics of a broker readable and writable, at the name server."""

    correlation: int
    broker: str


class DeleteTopicInNameServer(NamedTuple):
    correlation: int
    topic: str
