"""Partitions as queues of the shared model."""

from functools import lru_cache

from kafka_coordinator.assignors.inputs import Partition
from protocols.queues import Queue


@lru_cache(maxsize=1 << 16)
def queue_of(partition: Partition) -> Queue:
    """The queue that stands for a partition in facts; it has no broker here. One object for all who name it."""
    topic, number = partition
    return Queue(topic, "", number)
