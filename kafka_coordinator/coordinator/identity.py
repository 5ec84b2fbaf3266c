"""Does a request come from the member that it names (spec 2.4)?

In Kafka `ClassicGroup.validateMember`.
"""

from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.errors import FENCED_INSTANCE_ID, NONE, UNKNOWN_MEMBER_ID


def identity_error(group: Group, member_id: str, instance_id: str | None) -> str:
    """The error for a request with these ids, NONE where they are those of a member."""
    if instance_id is not None:
        known = group.static_members.get(instance_id)
        if known is None:
            return UNKNOWN_MEMBER_ID
        if known != member_id:
            return FENCED_INSTANCE_ID
    return NONE if member_id in group.members else UNKNOWN_MEMBER_ID
