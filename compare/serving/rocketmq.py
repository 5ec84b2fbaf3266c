"""A served RocketMQ cluster, as `compare.serving.service.Service` asks for it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from compare.serving.service import Seen
from protocols.engine.nodes import Time
from protocols.java import Queue
from protocols.timeline import PER_BROKER
from rocketmq_selfbalance.cluster import RETRY_PREFIX, ConsumerGroup
from rocketmq_selfbalance.wire import RocketMQCluster, SendMessage, properties_text

_PRODUCER: Final = "producer"
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
        self._told: tuple[object, ...] = ()
        """The versions of the brokers' topics when they were looked at last."""
        self._known: Mapping[str, Mapping[str, int]] = {}

    @property
    def proxy(self) -> str:
        """Where clients of the 5.x line begin."""
        return self.cluster.proxy

    @property
    def brokers(self) -> Sequence[str]:
        """Names of all brokers, those that are away among them."""
        return self.cluster.brokers

    def topics(self) -> Mapping[str, Mapping[str, int]]:
        """Topic to its readable queues per broker."""
        topics: dict[str, dict[str, int]] = {}
        for broker, disk in self.cluster.disks.items():
            for topic, config in disk.topics.configs.items():
                if not topic.startswith(_INTERNAL) and topic not in self.cluster.disks:
                    topics.setdefault(topic, {})[broker] = config.read
        return topics

    def changed_topics(self) -> Mapping[str, Mapping[str, int] | None]:
        """Those of them that are others than at the last call; None: the topic is gone."""
        versions = tuple([disk.topics.version for disk in self.cluster.disks.values()])
        if versions == self._told:
            return {}
        before, self._known, self._told = self._known, self.topics(), versions
        gone = dict.fromkeys(topic for topic in before if topic not in self._known)
        return {**gone, **{topic: queues for topic, queues in self._known.items() if before.get(topic) != queues}}

    def groups(self) -> Sequence[str]:
        """The groups that a broker knows members of."""
        return sorted({group for groups in self._groups() for group in groups})

    def members(self, group: str) -> Mapping[str, Seen]:
        """Client id to member, of those that some broker counts in."""
        heard: dict[str, Seen] = {}
        for groups in self._groups():
            known = groups.get(group)
            if known is None:
                continue
            topics = tuple(sorted(topic for topic in known.topics if not topic.startswith(RETRY_PREFIX)))
            for channel in known.channels.values():
                heard.setdefault(channel.client_id, Seen(topics))
        return heard

    def strategy(self, group: str) -> str:
        """Nobody tells a broker the strategy."""
        return ""

    def create_topic(self, topic: str, queues: Mapping[str, int]) -> None:
        """There is a topic more."""
        self.cluster.create_topic(topic, queues)

    def set_queues(self, topic: str, queues: Mapping[str, int]) -> None:
        """The topic has other queues from now on."""
        self.cluster.create_topic(topic, queues)

    def delete_topic(self, topic: str) -> None:
        """The topic is gone."""
        self.cluster.delete_topic(topic)

    async def bring_back(self, broker: str) -> None:
        """A broker that does not run starts."""
        await self.cluster.start_broker(broker)

    def stop(self, broker: str) -> None:
        """A broker that runs ends properly."""
        self.cluster.stop_broker(broker)

    def kill(self, broker: str) -> None:
        """A broker that runs is gone at once."""
        self.cluster.kill_broker(broker)

    def write(self, queue: Queue, body: bytes, properties: Mapping[str, str] = {}, count: int = 1) -> None:
        """A record more, or ``count`` equal ones, in a queue of a broker that runs; pulls that wait are answered."""
        born, text = int(time.time() * 1000), properties_text(properties)
        send = partial(SendMessage, 0, _PRODUCER, queue.topic, "", 0, queue.number, 0, born, 0, text, 0, None, body)
        for _ in range(count):
            self.cluster.world.deliver(queue.broker, _PRODUCER, send(batch=False, oneway=True))

    def end(self, queue: Queue, at: Time) -> int:
        """The offset of the next record that was written after this time."""
        return self.cluster.disks[queue.broker].store.max_offset(queue.topic, queue.number, at)

    def _groups(self) -> Iterator[Mapping[str, ConsumerGroup]]:
        for name in self.cluster.brokers:
            served = self.cluster.broker(name)
            if served is not None:
                yield served.broker.consumers.groups
