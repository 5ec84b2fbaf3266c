"""A broker's subscription groups, RocketMQ's ``SubscriptionGroupManager``: switches of a group, whoever its members are
(spec 2.5). They outlive its process."""

from dataclasses import dataclass, field

from protocols.node_state import NodeState
from rocketmq_selfbalance.codes import RETRY_PREFIX
from rocketmq_selfbalance.messages.administration import SubscriptionGroup
from rocketmq_selfbalance.messages.topics import TopicConfig


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
