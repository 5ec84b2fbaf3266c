"""A served Kafka cluster, as `compare.serving.service.Service` asks for it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from kio.index import load_request_schema

from compare.serving.service import Seen
from kafka_coordinator.cluster import ConsumerGroup, ConsumerMetadata, Core, Group
from kafka_coordinator.wire import NewRecord, Operations, Produce, ServedCluster, batch
from kafka_coordinator.wire import wire_entities as entities
from protocols.errors import UserError
from protocols.timeline import THROUGHOUT

_PRODUCER, _PRODUCE_VERSION = "producer", 9
_OF_SERVER = {"range": "server-range"}
"""Names that assignors at the server have with clients, to those in this project."""
_SHARE = "share"
"""What scenarios call share groups."""


class KafkaService:
    """``cluster`` runs in a world on sockets."""

    system = "kafka"
    numbering = THROUGHOUT

    def __init__(self, cluster: ServedCluster) -> None:
        self.cluster, self.operations = cluster, Operations(cluster)

    @property
    def version(self) -> str:
        """Kafka's version that the brokers are of."""
        return self.cluster.settings.version.name

    @property
    def brokers(self) -> Sequence[str]:
        """Names of all brokers, those that are away among them."""
        return self.cluster.brokers

    def topics(self) -> Mapping[str, Mapping[str, int]]:
        """Topic to the number of its partitions, as if all were on the first broker: leaders come and go."""
        first = self.cluster.brokers[0]
        return {topic: {first: len(leaders)} for topic, leaders in self.cluster.record.topics().items()}

    def changed_topics(self) -> Mapping[str, Mapping[str, int] | None]:
        """Those of them that were created, changed or deleted since the last call; None: the topic is gone."""
        record, first = self.cluster.record, self.cluster.brokers[0]
        changed, record.changed = record.changed, {}
        there = record.topics()
        return {topic: {first: len(there[topic])} if topic in there else None for topic in changed}

    def groups(self) -> Sequence[str]:
        """The groups that a coordinator knows."""
        found = {
            name: None
            for core in self._cores()
            for names in (core.groups, core.consumer_groups, core.share_groups)
            for name in names
        }
        return sorted(found)

    def members(self, group: str) -> Mapping[str, Seen]:
        """Name (`kafka_coordinator.wire.names`) to member, of those that the coordinator counts in."""
        for core in self._cores():
            if group in core.groups:
                return _classic(core.groups[group])
            if group in core.consumer_groups:
                return _of_consumer_protocol(core.consumer_groups[group])
            if group in core.share_groups:
                members = core.share_groups[group].members.values()
                return {str(member.client_id): Seen(member.topics, None, None) for member in members}
        return {}

    def strategy(self, group: str) -> str:
        """The assignor that the group has agreed upon."""
        for core in self._cores():
            if group in core.groups:
                return core.groups[group].protocol or ""
            if group in core.consumer_groups:
                name = core.consumer_groups[group].preferred_assignor() or core.settings.assignors[0]
                return _OF_SERVER.get(name, name)
            if group in core.share_groups:
                return _SHARE
        return ""

    def create_topic(self, topic: str, queues: Mapping[str, int]) -> None:
        """There is a topic more; partitions are dealt over the brokers in turn."""
        self.operations.create_topic(topic, sum(queues.values()))

    def set_queues(self, topic: str, queues: Mapping[str, int]) -> None:
        """The topic has more partitions from now on."""
        self.operations.add_partitions(topic, sum(queues.values()))

    def delete_topic(self, topic: str) -> None:
        """The topic is gone."""
        self.operations.delete_topic(topic)

    async def bring_back(self, broker: str) -> None:
        """A broker that does not run starts."""
        await self.operations.bring_back(broker)

    def stop(self, broker: str) -> None:
        """A broker that runs ends properly."""
        self.operations.stop(broker)

    def kill(self, broker: str) -> None:
        """A broker that runs is gone at once."""
        self.operations.kill(broker)

    def write(self, topic: str, partition: int, content: bytes) -> None:
        """One more record, without a key. `UserError` where there is no such partition."""
        self.append(topic, partition, batch([NewRecord(content, timestamp=int(time.time() * 1000))]))

    def append(self, topic: str, partition: int, content: bytes) -> None:
        """A record batch is produced; fetches that wait for it are answered."""
        leaders = self.cluster.controller.state.topics.get(topic, ())
        if not 0 <= partition < len(leaders) or not leaders[partition]:
            raise UserError(f"produce: no partition {topic}-{partition}, expected one of a topic that exists")
        self.cluster.world.deliver(leaders[partition], _PRODUCER, _produce(topic, partition, content))

    def end(self, topic: str, partition: int) -> int:
        """The offset of the next record that would be written."""
        return self.cluster.storage.log(topic, partition).end

    def _cores(self) -> Iterator[Core]:
        for name, state in self.cluster.states.items():
            if self.cluster.world.is_running(name):
                yield state.broker.coordinator.core


def _produce(topic: str, partition: int, content: bytes) -> Produce:
    kind: Any = load_request_schema(0, _PRODUCE_VERSION)
    of_topic = entities.part(kind, "topic_data")
    data = entities.part(of_topic, "partition_data")(index=partition, records=content)
    topics = (of_topic(name=topic, partition_data=(data,)),)
    body = kind(transactional_id=None, acks=-1, timeout=timedelta(seconds=5), topic_data=topics)
    return Produce(0, _PRODUCE_VERSION, _PRODUCER, body)


def _classic(group: Group) -> Mapping[str, Seen]:
    found = {}
    for member in group.members.values():
        metadata = member.protocols[0][1] if member.protocols else None
        topics = metadata.topics if isinstance(metadata, ConsumerMetadata) else ()
        found[str(member.client_id)] = Seen(tuple(sorted(topics)), None, member.instance_id)
    return found


def _of_consumer_protocol(group: ConsumerGroup) -> Mapping[str, Seen]:
    return {
        str(member.profile.client_id): Seen(
            tuple(sorted(member.profile.topics)), member.profile.regex or None, member.profile.instance_id
        )
        for member in group.members.values()
    }
