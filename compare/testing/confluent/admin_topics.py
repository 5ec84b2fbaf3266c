"""What brokers answer an administrator about topics, offsets and themselves: as confluent-kafka's classes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from compare.testing.confluent import errors as errors
from compare.testing.confluent.installing import real_package
from compare.testing.confluent.messages import EPOCH
from compare.testing.handling import HandlingGroup
from compare.testing.kafka.written import written_at
from kafka_coordinator.cluster import KafkaCluster
from protocols.engine.nodes import TICK, Time
from protocols.queues import Queue

_EARLIEST, _LATEST, _MAX_TIMESTAMP = -2, -1, -3
_READ_COMMITTED: Final = 1
_NO_TIME: Final = -1
_UNKNOWN: Final = "UNKNOWN_TOPIC_OR_PART"
_TOPIC_DEFAULTS: Final[Mapping[str, str]] = {
    "cleanup.policy": "delete",
    "max.message.bytes": "1048588",
    "min.insync.replicas": "1",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
}
"""Kafka's own defaults."""


class TopicAnswers:
    """Of one group's cluster."""

    def __init__(self, group: HandlingGroup) -> None:
        self._group = group
        self._settings: dict[str, dict[str, str]] = {}
        """What topics were created with."""

    @property
    def cluster(self) -> KafkaCluster:
        """Where they live."""
        cluster = self._group.world.cluster
        assert isinstance(cluster, KafkaCluster)
        return cluster

    def create(self, topics: Sequence[Any], *, validate_only: bool = False, **_: Any) -> dict[str, object]:
        """``NewTopic`` each."""
        found: dict[str, object] = {}
        for each in topics:
            count = each.num_partitions if each.num_partitions > 0 else 1
            if each.topic in self._group.topics:
                found[each.topic] = errors.error("TOPIC_ALREADY_EXISTS", f"Topic '{each.topic}' already exists.")
                continue
            found[each.topic] = None
            if not validate_only:
                self._group.happen(add_topic={each.topic: {"queues": count}})
                self._settings[each.topic] = dict(each.config or {})
        return found

    def delete(self, topics: Sequence[str]) -> dict[str, object]:
        """By name."""
        found: dict[str, object] = {}
        for topic in topics:
            found[topic] = None if topic in self._group.topics else errors.error(_UNKNOWN, errors.said(_UNKNOWN))
            if topic in self._group.topics:
                self._group.happen(delete_topic=topic)
        return found

    def grow(self, partitions: Sequence[Any], *, validate_only: bool = False, **_: Any) -> dict[str, object]:
        """``NewPartitions`` each."""
        found: dict[str, object] = {}
        for each in partitions:
            now = len(self._group.topics.get(each.topic, ()))
            if not now:
                found[each.topic] = errors.error(_UNKNOWN, errors.said(_UNKNOWN))
            elif each.new_total_count <= now:
                reason = f"The topic {each.topic} currently has {now} partition(s); {each.new_total_count} are not more"
                found[each.topic] = errors.error("INVALID_PARTITIONS", reason)
            else:
                found[each.topic] = None
                if not validate_only:
                    self._group.happen(queues={each.topic: each.new_total_count})
        return found

    def configurations(self, resources: Sequence[Any]) -> dict[Any, object]:
        """Settings of topics; brokers have none here."""
        admin = real_package("admin")
        found: dict[Any, object] = {}
        for each in resources:
            settings: dict[str, str] = {}
            known = each.name in self._group.topics
            if each.restype == admin.RESOURCE_TOPIC or each.restype == admin.ConfigResource.Type.TOPIC:
                if not known:
                    each = admin.ConfigResource(each.restype, each.name)
                    each.error = errors.error(_UNKNOWN, errors.said(_UNKNOWN))
                settings = {**_TOPIC_DEFAULTS, **self._settings.get(each.name, {})}
            given = self._settings.get(each.name, {})
            entries = {
                name: admin.ConfigEntry(name, value, is_default=name not in given) for name, value in settings.items()
            }
            found[each] = entries
        return found

    def describe(self, names: Sequence[str]) -> list[object]:
        """A ``TopicDescription`` or an error of each."""
        model, admin = real_package(), real_package("admin")
        found: list[object] = []
        for number, name in enumerate(names, start=1):
            leaders = self.cluster.controller.state.topics.get(name)
            if leaders is None:
                found.append(errors.error(_UNKNOWN, errors.said(_UNKNOWN)))
                continue
            nodes = self._nodes()
            partitions = [
                model.TopicPartitionInfo(partition, nodes.get(leader), list(nodes.values()), list(nodes.values()))
                for partition, leader in enumerate(leaders)
            ]
            found.append(admin.TopicDescription(name, model.Uuid(0, number), False, partitions))
        return found

    def describe_cluster(self) -> object:
        """A ``DescribeClusterResult``."""
        nodes = list(self._nodes().values())
        return real_package("admin").DescribeClusterResult(nodes[0] if nodes else None, nodes, "simulated")

    def _nodes(self) -> dict[str, Any]:
        """Name of a live broker to its ``Node``."""
        alive = self.cluster.controller.state.brokers
        node = real_package().Node
        brokers = enumerate(self.cluster.scenario.brokers, start=1)
        return {name: node(number, name, 9092) for number, name in brokers if name in alive}

    def offsets(self, partitions: Sequence[Any], *, isolation_level_value: int = 0, **_: Any) -> dict[Any, object]:
        """Partition to a ``ListOffsetsResultInfo`` or an error; what is asked for is in its offset."""
        info = real_package("admin").ListOffsetsResultInfo
        found: dict[Any, object] = {}
        for each in partitions:
            queue = Queue(each.topic, "", each.partition)
            if not self._group.records.exists(queue):
                found[each] = errors.error(_UNKNOWN, errors.said(_UNKNOWN))
                continue
            end = self._group.records.end_offset(queue)
            if isolation_level_value == _READ_COMMITTED:
                end = self._group.transactions.stable_end(queue, end)
            if each.offset == _EARLIEST:
                found[each] = info(0, _NO_TIME, EPOCH)
            elif each.offset == _LATEST:
                found[each] = info(end, _NO_TIME, EPOCH)
            else:
                offset = self._last_written(queue, end) if each.offset == _MAX_TIMESTAMP else self._since(each)
                known = 0 <= offset < end
                found[each] = info(offset if known else -1, self._time(queue, offset) if known else _NO_TIME, EPOCH)
        return found

    def _production(self, queue: Queue) -> Any:
        return self.cluster.topics.load.production((queue.topic, queue.number))

    def _since(self, asked: Any) -> int:
        """The first record written at the time or later."""
        production = self._production(Queue(asked.topic, "", asked.partition))
        return int(production.end_offset(asked.offset - TICK)) if asked.offset > 0 else 0

    def _time(self, queue: Queue, offset: int) -> int:
        written = self._group.records.content(queue, offset).timestamp
        at: Time | None = written_at(self._production(queue), offset) if written is None else written
        return _NO_TIME if at is None else int(at)

    def _last_written(self, queue: Queue, end: int) -> int:
        """The record with the latest timestamp, the first of these."""
        times = [(self._time(queue, offset), -offset) for offset in range(end)]
        return -max(times)[1] if times else -1
