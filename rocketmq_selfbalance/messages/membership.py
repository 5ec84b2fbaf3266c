"""Who is in a group: what clients tell brokers of themselves, ask, and are told (spec 2.1 to 2.6); and what
administrators say to a broker."""

from typing import NamedTuple

from protocols.engine.nodes import Time
from rocketmq_selfbalance.messages.nameserver import TopicConfig


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


class UpdateTopic(NamedTuple):
    """Create a topic at this broker or change it."""

    correlation: int
    config: TopicConfig


class DeleteTopicInBroker(NamedTuple):
    correlation: int
    topic: str


class SubscriptionGroup(NamedTuple):
    """What a broker knows of a group before anybody joins it, under the real names of the fields (spec 2.5)."""

    group: str
    consume_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    notify_consumer_ids_changed_enable: bool = True
    consume_message_orderly: bool = False


class UpdateSubscriptionGroup(NamedTuple):
    """Create a group at this broker or change it."""

    correlation: int
    config: SubscriptionGroup


class DeleteSubscriptionGroup(NamedTuple):
    correlation: int
    group: str
    clean_offset: bool = False


class UpdateBrokerConfig(NamedTuple):
    """Change a setting of the running broker."""

    correlation: int
    use_server_side_reset_offset: bool


class ResetOffset(NamedTuple):
    """Set the group's offsets of a topic at this broker back to a moment (below 0: to the end), or those of one queue
    to ``offset``; at the broker's own table, or by telling the running clients (`UpdateBrokerConfig`)."""

    correlation: int
    group: str
    topic: str
    timestamp: Time
    force: bool = True
    """Through clients only: also where that moves an offset forward."""
    queue_number: int = -1
    offset: int | None = None
