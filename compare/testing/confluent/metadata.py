"""What ``list_topics`` answers: confluent-kafka's cluster metadata, of the simulated cluster.

The objects are confluent-kafka's own where it is installed, else doubles of them.
"""

from typing import Any

from compare.testing.confluent import errors as errors
from kafka_coordinator.cluster import KafkaCluster

CLUSTER_ID = "simulated"
_PORT = 9092


class BrokerMetadataDouble:
    """A broker; ids count from 1."""

    def __init__(self) -> None:
        self.id, self.port = -1, -1
        self.host: str | None = None

    def __repr__(self) -> str:
        return f"BrokerMetadata({self.id}, {self.host}:{self.port})"

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.id}"


class PartitionMetadataDouble:
    """A partition and the id of the broker that has it; -1 where none has now."""

    def __init__(self) -> None:
        self.id, self.leader = -1, -1
        self.replicas: list[int] = []
        self.isrs: list[int] = []
        self.error: errors.KafkaErrorDouble | None = None

    def __repr__(self) -> str:
        return f"PartitionMetadata({self.id}{'' if self.error is None else f', {self.error}'})"

    def __str__(self) -> str:
        return str(self.id)


class TopicMetadataDouble:
    """A topic; without partitions and with an error, where there is none of this name."""

    def __init__(self) -> None:
        self.topic: str | None = None
        self.partitions: dict[int, PartitionMetadataDouble] = {}
        self.error: errors.KafkaErrorDouble | None = None

    def __repr__(self) -> str:
        error = "" if self.error is None else f", {self.error}"
        return f"TopicMetadata({self.topic}, {len(self.partitions)} partitions{error})"

    def __str__(self) -> str:
        return str(self.topic)


class ClusterMetadataDouble:
    """Brokers and topics."""

    def __init__(self) -> None:
        self.cluster_id: str | None = None
        self.controller_id = -1
        self.brokers: dict[int, BrokerMetadataDouble] = {}
        self.topics: dict[str, TopicMetadataDouble] = {}
        self.orig_broker_id = -1
        self.orig_broker_name: str | None = None

    def __repr__(self) -> str:
        return f"ClusterMetadata({self.cluster_id})"

    def __str__(self) -> str:
        return str(self.cluster_id)


try:
    from confluent_kafka import admin as _real
except ImportError:
    _real = None
BrokerMetadata: type[BrokerMetadataDouble] = BrokerMetadataDouble if _real is None else _real.BrokerMetadata
PartitionMetadata: type[PartitionMetadataDouble] = PartitionMetadataDouble if _real is None else _real.PartitionMetadata
TopicMetadata: type[TopicMetadataDouble] = TopicMetadataDouble if _real is None else _real.TopicMetadata
ClusterMetadata: type[ClusterMetadataDouble] = ClusterMetadataDouble if _real is None else _real.ClusterMetadata


def metadata_of(cluster: KafkaCluster, topic: str | None) -> ClusterMetadataDouble:
    """All topics, or this one alone. Raises `KafkaException` where no broker runs, `TypeError` for no name."""
    if topic is not None and not isinstance(topic, str):
        raise TypeError(f"argument 1 must be str or None, not {type(topic).__name__}")
    ids = {broker: number for number, broker in enumerate(cluster.scenario.brokers, start=1)}
    state = cluster.controller.state
    alive = [broker for broker in ids if broker in state.brokers]
    if not alive:
        raise errors.exception("_TRANSPORT", f"Failed to get metadata: {errors.said('_TRANSPORT')}")
    found = ClusterMetadata()
    found.cluster_id = CLUSTER_ID
    found.controller_id = found.orig_broker_id = ids[alive[0]]
    found.orig_broker_name = f"{alive[0]}:{_PORT}/{ids[alive[0]]}"
    found.brokers = {ids[broker]: _broker(ids[broker], broker) for broker in alive}
    for name in state.topics if topic is None else (topic,):
        found.topics[name] = _topic(name, state.topics.get(name), ids, [ids[broker] for broker in alive])
    return found


def _made(kind: type, **fields: object) -> Any:
    made = kind()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _broker(id: int, host: str) -> BrokerMetadataDouble:
    broker: BrokerMetadataDouble = _made(BrokerMetadata, id=id, host=host, port=_PORT)
    return broker


def _topic(name: str, leaders: Any, ids: dict[str, int], alive: list[int]) -> TopicMetadataDouble:
    topic: TopicMetadataDouble = _made(TopicMetadata, topic=name)
    if leaders is None:
        topic.error = errors.error("UNKNOWN_TOPIC_OR_PART", "Broker: Unknown topic or partition")
        return topic
    for number, leader in enumerate(leaders):
        where = {"leader": ids.get(leader, -1), "replicas": list(ids.values()), "isrs": list(alive)}
        topic.partitions[number] = _made(PartitionMetadata, id=number, **where)
    return topic
