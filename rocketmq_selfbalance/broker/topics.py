"""A broker's topics with their queue numbers and permissions: RocketMQ's ``TopicConfigManager`` (spec 1.1, 1.4). They
outlive its process.

A broker's subscription groups, RocketMQ's ``SubscriptionGroupManager``: switches of a group, whoever its members are
(spec 2.5). They outlive its process.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from protocols.engine.nodes import Time
from protocols.node_state import NodeState
from rocketmq_selfbalance.codes import PERM_READ, PERM_WRITE, RETRY_PREFIX
from rocketmq_selfbalance.messages.membership import SubscriptionGroup
from rocketmq_selfbalance.messages.nameserver import DataVersion, TopicConfig

SYSTEM_TOPICS = ("SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT")
"""Topics that every broker has: a name server refuses the first registration of a broker with a single topic."""


@dataclass(slots=True, init=False, eq=False)
class TopicConfigManager(NodeState):
    """Topic to its configuration at this broker."""

    configs: dict[str, TopicConfig]
    version: DataVersion

    def __init__(self, now: Time = 0.0, configs: Iterable[TopicConfig] = ()) -> None:
        self.configs = {topic: TopicConfig(topic, 1, 1) for topic in SYSTEM_TOPICS}
        self.configs.update((config.topic, config) for config in configs)
        self.version = DataVersion(timestamp=now)

    def put(self, now: Time, config: TopicConfig) -> bool:
        """The topic is like this from now on; whether that changed anything."""
        if self.configs.get(config.topic) == config:
            return False
        self.configs[config.topic] = config
        self._changed(now)
        return True

    def delete(self, now: Time, topic: str) -> bool:
        """The topic is no more; whether it was there."""
        if self.configs.pop(topic, None) is None:
            return False
        self._changed(now)
        return True

    def _changed(self, now: Time) -> None:
        self.version = DataVersion(self.version.state_version, now, self.version.counter + 1)

    def to_register(self, broker_perm: int = PERM_READ | PERM_WRITE) -> tuple[TopicConfig, ...]:
        """The topics of a full registration: a broker that may not read or write says so of each topic."""
        if broker_perm & PERM_READ and broker_perm & PERM_WRITE:
            return tuple(self.configs.values())
        return tuple(config._replace(perm=config.perm & broker_perm) for config in self.configs.values())


@dataclass(slots=True, eq=False)
class SubscriptionGroupManager(NodeState):
    """Group to its configuration. ``auto_create`` is ``autoCreateSubscriptionGroup``."""

    auto_create: bool = field(default=True, kw_only=True)
    configs: dict[str, SubscriptionGroup] = field(default_factory=dict)

    def find(self, group: str) -> SubscriptionGroup | None:
        """The group's configuration, made with the defaults where it may be; None where the group is unknown."""
        config = self.configs.get(group)
        if config is None and self.auto_create:
            config = self.configs[group] = SubscriptionGroup(group)
        return config

    def knows(self, group: str) -> bool:
        """Whether the group is known, or is made whenever somebody asks."""
        return self.auto_create or group in self.configs

    def put(self, config: SubscriptionGroup) -> None:
        """The group is like this from now on."""
        self.configs[config.group] = config

    def delete(self, group: str) -> None:
        """The group is no more; auto creation may bring it back."""
        self.configs.pop(group, None)


def retry_topic(config: SubscriptionGroup) -> TopicConfig:
    """The retry topic that a group has at each broker."""
    return TopicConfig(RETRY_PREFIX + config.group, config.retry_queue_nums, config.retry_queue_nums)
