"""What clients make of a topic's route: the queues they may consume, the queues they may write to (spec 1.4)."""

from collections.abc import Mapping
from functools import lru_cache

from protocols.java import Queue
from rocketmq_selfbalance.codes import MASTER_ID, PERM_READ, PERM_WRITE
from rocketmq_selfbalance.messages.nameserver import BrokerData, Route


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
    """Broker name to broker id to address."""
    return {data.broker: dict(data.addresses) for data in route.brokers}


@lru_cache(maxsize=1024)  # the same objects for all topics and clients: thousands of these tables would be equal
def askable(brokers: tuple[BrokerData, ...]) -> tuple[Mapping[int, str], ...]:
    """Of each broker that has any: broker id to address. One of these is asked for the members of a group."""
    return tuple([dict(data.addresses) for data in brokers if data.addresses])
