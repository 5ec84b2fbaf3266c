"""What administrators say to a broker."""

from typing import NamedTuple

from protocols.engine.nodes import Time
from rocketmq_selfbalance.messages.topics import TopicConfig


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
