"""Where the queues of a group's cluster end, in either system."""

from typing import Protocol, runtime_checkable

from compare.testing.world import LiveCluster
from kafka_coordinator.cluster import KafkaCluster
from protocols.engine.nodes import Time
from protocols.java import Queue
from rocketmq_selfbalance.cluster import RocketMQCluster


@runtime_checkable
class KnowsEnds(Protocol):
    """A cluster that knows where its queues end."""

    def end_offset(self, queue: Queue, now: Time, /) -> int:
        """The offset of the next record that was written to the queue after this time."""


def end_offset(cluster: LiveCluster | KnowsEnds, queue: Queue, now: Time) -> int:
    """The offset of the next record that will be written to the queue; ``now`` in milliseconds."""
    if isinstance(cluster, KnowsEnds):
        return cluster.end_offset(queue, now)
    if isinstance(cluster, RocketMQCluster):
        return cluster.servers.disks[queue.broker].store.max_offset(queue.topic, queue.number, now)
    assert isinstance(cluster, KafkaCluster)
    return cluster.topics.load.production((queue.topic, queue.number)).end_offset(now)


def is_served(cluster: LiveCluster, queue: Queue) -> bool:
    """Whether a broker takes records for the queue now: its own one in RocketMQ, the partition's leader in Kafka."""
    if isinstance(cluster, RocketMQCluster):
        return cluster.broker(queue.broker) is not None
    assert isinstance(cluster, KafkaCluster)
    running = any(cluster.simulation.is_running(broker) for broker in cluster.scenario.brokers)
    return running and cluster.topics.is_served((queue.topic, queue.number))
