"""Who is in a group: what clients tell brokers of themselves, ask, and are told (spec 2.1 to 2.6)."""

from typing import NamedTuple

from protocols.engine.nodes import Time


class Subscription(NamedTuple):
    """One topic that a consumer subscribes to. ``version`` is a time in milliseconds: the newest one wins."""

    topic: str
    expression: str
    version: Time


class ConsumerData(NamedTuple):
    """One consumer of a client, as a heartbeat tells it."""

    group: str
    consume_type: str
    message_model: str
    consume_from_where: str
    subscriptions: tuple[Subscription, ...]
    """Sorted by topic. Send the same object again while nothing changes: brokers then need not compare it."""


class HeartBeat(NamedTuple):
    """Answered by `Answer`."""

    correlation: int
    client_id: str
    consumers: tuple[ConsumerData, ...]


class UnregisterClient(NamedTuple):
    """A consumer of the client shuts down. Answered by `Answer`."""

    correlation: int
    client_id: str
    group: str


class GetConsumerListByGroup(NamedTuple):
    correlation: int
    group: str


class ConsumerList(NamedTuple):
    correlation: int
    code: int
    """`SYSTEM_ERROR` where the broker knows nobody of the group."""
    client_ids: tuple[str, ...]
    """In no order that means anything; an id with two connections is there twice."""


class NotifyConsumerIdsChanged(NamedTuple):
    """One way, from a broker to every connection of the group: its members are not the same any more."""

    correlation: int
    group: str
