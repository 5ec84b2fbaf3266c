"""Who subscribes to what, and the order in which static members go first (spec 5.2 "S-order")."""

from collections.abc import Sequence

from kafka_coordinator.assignors.inputs import AssignorError, GroupMetadata, Subscription
from protocols.java import utf16_key


def static_order(members: Sequence[Subscription]) -> list[int]:
    """Positions of the members: those with an instance id first, by it; then the others by member id."""

    def key(position: int) -> tuple[bool, bytes]:
        member = members[position]
        dynamic = not member.instance_id
        return dynamic, utf16_key(member.member_id if dynamic else member.instance_id or "")

    return sorted(range(len(members)), key=key)


def subscribers(group: GroupMetadata, order: Sequence[int]) -> dict[str, list[int]]:
    """Each topic of the cluster to those who subscribe to it, as ranks: indexes into ``order``, ascending."""
    topics = group.topics
    if not order:
        return {topic: [] for topic in topics}
    subscription = group.members[0].topics
    if all(member.topics == subscription for member in group.members):
        everyone, nobody = list(range(len(order))), list[int]()
        wanted = set(subscription)
        return {topic: everyone if topic in wanted else nobody for topic in topics}
    found: dict[str, list[int]] = {topic: [] for topic in topics}
    for rank, position in enumerate(order):
        for topic in group.members[position].topics:
            if topic in found:
                found[topic].append(rank)
    return found


def require_known_topics(group: GroupMetadata) -> None:
    """Raise as the server-side assignors do where a member subscribes to a topic that does not exist."""
    subscriptions = dict.fromkeys(member.topics for member in group.members)
    for subscription in subscriptions:
        for topic in subscription:
            if topic not in group.topics:
                raise AssignorError(
                    "PartitionAssignorException", f"members subscribe to topic {topic!r}, which does not exist"
                )
