"""What ``list_topics`` answers: confluent-kafka's cluster metadata, of the simulated cluster."""

from dataclasses import dataclass

from compare.testing.confluent import errors as errors
from kafka_coordinator.cluster import KafkaCluster


@dataclass(frozen=True, slots=True)
class BrokerMetadata:
    """A broker; ids count from 1."""

    id: int
    host: str
    port: int = 9092


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """A partition and the id of the broker that has it; -1 where none has now."""

    id: int
    leader: int
    replicas: list[int]
    isrs: list[int]
    error: errors.KafkaErrorDouble | None = None


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A topic; without partitions and with an error, where there is none of this name."""

    topic: str
    partitions: dict[int, PartitionMetadata]
    error: errors.KafkaErrorDouble | None = None


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """Brokers and topics."""

    brokers: dict[int, BrokerMetadata]
    topics: dict[str, TopicMetadata]
    cluster_id: str = "simulated"
    controller_id: int = 1
    orig_broker_id: int = 1
    orig_broker_name: str = "simulated"


def metadata_of(cluster: KafkaCluster, topic: str | None) -> ClusterMetadata:
    """All topics, or this one alone."""
    ids = {broker: number for number, broker in enumerate(cluster.scenario.brokers, start=1)}
    state = cluster.controller.state
    known, alive = state.topics, [ids[broker] for broker in state.brokers]
    found = {}
    for name in known if topic is None else (topic,):
        if name not in known:
            error = errors.error("UNKNOWN_TOPIC_OR_PART", "Broker: Unknown topic or partition")
            found[name] = TopicMetadata(name, {}, error)
            continue
        partitions = {
            number: PartitionMetadata(number, ids.get(leader, -1), list(ids.values()), list(alive))
            for number, leader in enumerate(known[name])
        }
        found[name] = TopicMetadata(name, partitions)
    brokers = {ids[broker]: BrokerMetadata(ids[broker], broker) for broker in state.brokers}
    return ClusterMetadata(brokers, found)
