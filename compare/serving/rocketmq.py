"""A served RocketMQ cluster, as `compare.serving.service.Service` asks for it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from compare.serving.service import Seen
from protocols.scenario.events import AddTopic, BrokerEvent, DeleteTopic, Event, Queues
from protocols.timeline import PER_BROKER
from rocketmq_selfbalance.broker.consumer_group import ConsumerGroup
from rocketmq_selfbalance.codes import RETRY_PREFIX
from rocketmq_selfbalance.wire.cluster import RocketMQCluster

_INTERNAL: Final = (
    "%",
    "rmq_sys_",
    "TBW102",
    "SCHEDULE_TOPIC",
    "OFFSET_MOVED",
    "RMQ_SYS_",
    "SELF_TEST",
    "BenchmarkTest",
)
"""Topics whose names begin so are the system's own."""


class RocketMQService:
    """``cluster`` runs in a world on sockets."""

    system = "rocketmq"
    numbering = PER_BROKER

    def __init__(self, cluster: RocketMQCluster) -> None:
        self.cluster = cluster

    @property
    def brokers(self) -> Sequence[str]:
        """Names of all brokers, those that are away among them."""
        return self.cluster.brokers

    def topics(self) -> Mapping[str, Mapping[str, int]]:
        """Topic to its readable queues per broker."""
        found: dict[str, dict[str, int]] = {}
        for broker, disk in self.cluster.disks.items():
            for topic, config in disk.topics.configs.items():
                if not topic.startswith(_INTERNAL) and topic not in self.cluster.disks:
                    found.setdefault(topic, {})[broker] = config.read
        return found

    def groups(self) -> Sequence[str]:
        """The groups that a broker knows members of."""
        return sorted({group for groups in self._groups() for group in groups})

    def members(self, group: str) -> Mapping[str, Seen]:
        """Client id to member, of those that some broker counts in."""
        found: dict[str, Seen] = {}
        for groups in self._groups():
            known = groups.get(group)
            if known is None:
                continue
            topics = tuple(sorted(topic for topic in known.topics if not topic.startswith(RETRY_PREFIX)))
            for channel in known.channels.values():
                found.setdefault(channel.client_id, Seen(topics))
        return found

    def strategy(self, group: str) -> str:
        """Nobody tells a broker the strategy."""
        return ""

    async def apply(self, event: Event) -> bool:
        """The event happens now; whether it is one of servers and topics."""
        cluster = self.cluster
        if isinstance(event, BrokerEvent):
            running = cluster.world.is_running(event.broker)
            if event.does == "return" and not running:
                await cluster.start_broker(event.broker)
            elif event.does == "stop" and running:
                cluster.stop_broker(event.broker)
            elif event.does == "kill" and running:
                cluster.kill_broker(event.broker)
        elif isinstance(event, Queues):
            for topic, queues in event.queues.items():
                cluster.create_topic(topic, queues)
        elif isinstance(event, AddTopic):
            for topic, part in event.add_topic.items():
                cluster.create_topic(topic, part.queues)
        elif isinstance(event, DeleteTopic):
            cluster.delete_topic(event.delete_topic)
        else:
            return False
        return True

    def _groups(self) -> Iterator[Mapping[str, ConsumerGroup]]:
        for name in self.cluster.brokers:
            served = self.cluster.broker(name)
            if served is not None:
                yield served.broker.consumers.groups
