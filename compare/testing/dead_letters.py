"""The records that a group's members have given up: RocketMQ keeps them in a topic that nobody reads."""

from compare.testing.group_interface import GroupInterface
from protocols.java import Queue
from rocketmq_selfbalance.cluster import DLQ_PREFIX, RocketMQCluster


def dead_letters(group: GroupInterface) -> set[tuple[Queue, int]]:
    """Queue and offset that each of them had at first; none in Kafka, which has no such thing."""
    cluster = group.world.cluster
    if not isinstance(cluster, RocketMQCluster):
        return set()
    kept = [disk.store.queue(DLQ_PREFIX + group.name, 0) for disk in cluster.servers.disks.values()]
    return {(record.origin, record.origin_offset) for queue in kept if queue is not None for record in queue.records}
