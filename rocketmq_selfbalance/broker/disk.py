"""What a broker has on its disk: it outlives the process and is given to the next one. (RocketMQ's
``topics.json``, ``subscriptionGroup.json`` and ``consumerOffset.json``, each written by its ``ConfigManager``, and its
``CommitLog``.)"""

from typing import Self

from protocols.engine.nodes import Time
from rocketmq_selfbalance.broker.offsets import PersistedOffsets, plain
from rocketmq_selfbalance.broker.store import MessageStore
from rocketmq_selfbalance.broker.subscription_groups import SubscriptionGroupManager
from rocketmq_selfbalance.broker.topics import TopicConfigManager
from rocketmq_selfbalance.messages.topics import DataVersion


class Disk:
    """Topics and groups are written when they change, messages when they come, offsets every few seconds."""

    __slots__ = ("groups", "offsets", "store", "topics")

    def __init__(self, topics: TopicConfigManager, groups: SubscriptionGroupManager, store: MessageStore) -> None:
        self.topics, self.groups, self.store = topics, groups, store
        self.offsets = PersistedOffsets(DataVersion(), {})
        """As last flushed."""

    def copy(self) -> Self:
        """An independent copy."""
        twin = type(self)(self.topics.copy(), self.groups.copy(), self.store.copy())
        twin.offsets = self.offsets
        return twin

    def key(self, now: Time) -> tuple[object, ...]:
        """The state as plain tuples, times relative to now."""
        return self.topics.key(), self.groups.key(), self.store.key(now), plain(self.offsets.offsets)
