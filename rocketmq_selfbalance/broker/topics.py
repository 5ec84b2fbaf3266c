"""A broker's topics with their queue numbers and permissions: RocketMQ's ``TopicConfigManager`` (spec 1.1, 1.4). They
outlive its process."""

from collections.abc import Iterable
from dataclasses import dataclass

from protocols.engine.nodes import Time
from protocols.node_state import NodeState
from rocketmq_selfbalance.codes import PERM_READ, PERM_WRITE
from rocketmq_selfbalance.messages.topics import DataVersion, TopicConfig

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
