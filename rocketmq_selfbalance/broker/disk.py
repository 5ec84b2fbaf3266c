"""What a broker has on its disk: it outlives the process and is given to the next one. (RocketMQ's
``topics.json``, ``subscriptionGroup.json`` and ``consumerOffset.json``, each written by its ``ConfigManager``, and its
``CommitLog``.)"""

from dataclasses import dataclass, field

from protocols.node_state import NodeState
from rocketmq_selfbalance.broker.offsets import PersistedOffsets
from rocketmq_selfbalance.broker.store import MessageStore
from rocketmq_selfbalance.broker.subscription_groups import SubscriptionGroupManager
from rocketmq_selfbalance.broker.topics import TopicConfigManager
from rocketmq_selfbalance.messages.topics import DataVersion


@dataclass(slots=True, eq=False)
class Disk(NodeState):
    """Topics and groups are written when they change, messages when they come, offsets every few seconds."""

    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    store: MessageStore
    offsets: PersistedOffsets = field(default_factory=lambda: PersistedOffsets(DataVersion(), {}))
    """As last flushed."""
