"""The group coordinator's uniform assignor of the consumer protocol (spec 5.10): sticky, even, blind to racks.

In Kafka `UniformAssignor`.
"""

from kafka_coordinator.assignors.inputs import Assignment, GroupMetadata
from kafka_coordinator.assignors.subscribers import require_known_topics
from kafka_coordinator.assignors.uniform_heterogeneous import uniform_heterogeneous
from kafka_coordinator.assignors.uniform_homogeneous import uniform_homogeneous


def homogeneous(group: GroupMetadata) -> bool:
    """Whether all members subscribe to the same topics (spec 6.8, for groups that subscribe by name)."""
    subscriptions = list(dict.fromkeys(member.topics for member in group.members))
    return all(set(each) == set(subscriptions[0]) for each in subscriptions)


def uniform(group: GroupMetadata, same_subscriptions: bool | None = None) -> Assignment:
    """Spread all partitions evenly over the members, and leave them where they were as far as that allows.

    ``same_subscriptions`` is the coordinator's view of the group, which follows from the topics unless members
    subscribe by pattern (spec 6.8). Raises `AssignorError` if a member subscribes to a topic that does not exist.
    """
    require_known_topics(group)
    if homogeneous(group) if same_subscriptions is None else same_subscriptions:
        return uniform_homogeneous(group)
    return uniform_heterogeneous(group)
