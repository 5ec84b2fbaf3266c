"""What brokers, clients and administrators say to a name server, and what it answers (spec 1): topics as a broker has
them (spec 1.1), and the queues that a topic's route lets clients read and write (spec 1.4)."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.java import Queue
from rocketmq_selfbalance.codes import MASTER_ID, PERM_READ, PERM_WRITE


class TopicConfig(NamedTuple):
    """A topic at one broker."""

    topic: str
    read: int
    """Queues that consumers see: 0 to ``read - 1``."""
    write: int
    """Queues that producers write to: 0 to ``write - 1``."""
    perm: int = PERM_READ | PERM_WRITE
    kind: str = "NORMAL"
    """``message.type``: what producers of the 5.x line may send, or MIXED."""


class DataVersion(NamedTuple):
    """Of a broker's topics or offsets: ``counter`` rises with each change, ``timestamp`` is when, in milliseconds."""

    state_version: int = 0
    timestamp: Time = 0
    counter: int = 0


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


@lru_cache(maxsize=4096)  # the same objects for all clients of a topic: few lists have to be looked into
def subscribe_queues(topic: str, route: Route) -> tuple[Queue, ...]:
    """What consumers share, sorted: the read queues of readable brokers, whether they have an address or not."""
    return tuple(
        Queue(topic, data.broker, number)
        for data in route.queues
        if data.perm & PERM_READ
        for number in range(data.read)
    )


def publish_queues(topic: str, route: Route) -> tuple[Queue, ...]:
    """What producers write to, in their order: the write queues of writable brokers that have a master."""
    masters = {data.broker for data in route.brokers if any(id == MASTER_ID for id, _ in data.addresses)}
    return tuple(
        Queue(topic, data.broker, number)
        for data in route.queues
        if data.perm & PERM_WRITE and data.broker in masters
        for number in range(data.write)
    )


def addresses_of(route: Route) -> dict[str, dict[int, str]]:
    return {data.broker: dict(data.addresses) for data in route.brokers}


@lru_cache(maxsize=1024)  # the same objects for all topics and clients: thousands of these tables would be equal
def askable(brokers: tuple[BrokerData, ...]) -> tuple[Mapping[int, str], ...]:
    """Of each broker that has any: broker id to address. One of these is asked for the members of a group."""
    return tuple([dict(data.addresses) for data in brokers if data.addresses])
