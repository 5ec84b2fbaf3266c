"""The group coordinator's own range assignor of the consumer protocol (spec 5.11): no stickiness, no racks.

In Kafka `org.apache.kafka.coordinator.group.assignor.RangeAssignor`.
"""

from kafka_coordinator.assignors.inputs import Assignment, GroupMetadata
from kafka_coordinator.assignors.range import blocks
from kafka_coordinator.assignors.subscribers import require_known_topics, static_order, subscribers


def server_range(group: GroupMetadata) -> Assignment:
    """Consecutive blocks of every topic to its subscribers in S-order, whatever they owned before.

    Raises `AssignorError` if a member subscribes to a topic that does not exist.
    """
    require_known_topics(group)
    order = static_order(group.members)
    return blocks(group, order, subscribers(group, order))
