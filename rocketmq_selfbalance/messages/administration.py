"""What administrators say to a broker, and the word of the world to it that producers write."""

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


class ResetOffset(NamedTuple):
    """Set the group's offsets of a topic at this broker back to a moment (below 0: to the end), or those of one queue
    to ``offset``; at the broker's own table, or (``through_clients``) by telling the running clients."""

    correlation: int
    group: str
    topic: str
    timestamp: Time
    force: bool = True
    """Through clients only: also where that moves an offset forward."""
    through_clients: bool = False
    queue_number: int = -1
    offset: int | None = None


class Produce(NamedTuple):
    """Producers write so many records per second to each queue of the topic from now on. (No request of RocketMQ: the
    world's word to the broker, as producers are no nodes.)"""

    correlation: int
    topic: str
    per_second: float


class Write(NamedTuple):
    """Producers write so many records at once to one queue. (No request of RocketMQ either.)"""

    correlation: int
    topic: str
    number: int
    records: int


class StopBroker(NamedTuple):
    """The process is asked to end: it flushes what it holds and takes leave of the name servers. Its world ends it
    right after."""

    correlation: int
