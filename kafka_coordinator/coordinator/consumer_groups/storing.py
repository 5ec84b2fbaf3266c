"""What is written to the log about groups of the consumer protocol (spec 1.3).

In Kafka `GroupCoordinatorRecordHelpers` and `ConsumerGroup.createConsumerGroupRecords`.
"""

from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from kafka_coordinator.coordinator.consumer_groups.records import (
    CurrentKey,
    EpochKey,
    EpochValue,
    MemberKey,
    PatternKey,
    TargetEpochKey,
    TargetKey,
)
from kafka_coordinator.coordinator.core import Core


def store_epoch(core: Core, group: ConsumerGroup) -> None:
    """Write the group epoch."""
    core.write(group.partition, EpochKey(group.id), EpochValue(group.epoch, group.metadata_hash))


def store_profile(core: Core, group: ConsumerGroup, member: ConsumerMember) -> None:
    """Write what the member has told about itself."""
    core.write(group.partition, MemberKey(group.id, member.id), member.profile)


def store_standing(core: Core, group: ConsumerGroup, member: ConsumerMember) -> None:
    """Write where the member stands."""
    core.write(group.partition, CurrentKey(group.id, member.id), member.standing)


def store_target(core: Core, group: ConsumerGroup, member_id: str) -> None:
    """Write the member's target."""
    core.write(group.partition, TargetKey(group.id, member_id), group.target[member_id])


def store_target_epoch(core: Core, group: ConsumerGroup) -> None:
    """Write for which epoch the target was computed; this comes after all the members' targets."""
    core.write(group.partition, TargetEpochKey(group.id), group.target_epoch)


def store_pattern(core: Core, group: ConsumerGroup, regex: str) -> None:
    """Write what the pattern was resolved to, or that it is none any more."""
    core.write(group.partition, PatternKey(group.id, regex), group.resolved.get(regex))


def store_whole(core: Core, group: ConsumerGroup) -> None:
    """Write everything, as when a classic group has become this one."""
    for member in group.members.values():
        store_profile(core, group, member)
    store_epoch(core, group)
    for member_id in group.members:
        store_target(core, group, member_id)
    store_target_epoch(core, group)
    for member in group.members.values():
        store_standing(core, group, member)


def erase_member(core: Core, group: ConsumerGroup, member_id: str) -> None:
    """Write that the member is gone."""
    for key in (CurrentKey, TargetKey, MemberKey):
        core.write(group.partition, key(group.id, member_id), None)


def erase_group(core: Core, group: ConsumerGroup) -> None:
    """Write that the group is gone, with its members; its offsets stay."""
    for member_id in group.members:
        erase_member(core, group, member_id)
    for regex in group.resolved:
        core.write(group.partition, PatternKey(group.id, regex), None)
    for key in (TargetEpochKey, EpochKey):
        core.write(group.partition, key(group.id), None)
