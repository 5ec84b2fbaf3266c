"""What is written to the log about a group, and when it begins and ends to exist (spec 1.3).

In Kafka `GroupCoordinatorRecordHelpers` and `GroupMetadataManager.replay`.
"""

from typing import Protocol

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.log import CommittedOffset, GroupKey, GroupValue, StoredMember, offset_key
from kafka_coordinator.coordinator.members import session_timer
from protocols.engine.nodes import Outbox, Time
from protocols.load import quickly_made
from protocols.state_machine import ALWAYS

_stored_member = quickly_made(StoredMember)


class WithOffsets(Protocol):
    """A group of either kind."""

    id: str
    partition: int
    offsets: dict[Partition, CommittedOffset]


def create_group(core: Core, group_id: str, now: Time, out: Outbox) -> Group:
    """A group that did not exist begins, empty; nothing is written yet."""
    group = core.groups[group_id] = Group(group_id, core.partition_of(group_id))
    group.transition(states.CREATED, ALWAYS, now, out)
    return group


def store_group(core: Core, group: Group) -> None:
    """Write the group as it is."""
    protocol = group.protocol
    members = tuple(
        [
            _stored_member(
                (
                    member.id,
                    member.instance_id,
                    member.client_id,
                    member.host,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                    member.metadata(protocol),
                    member.assignment,
                )
            )
            for member in group.ordered()
        ]
    )
    value = GroupValue(group.protocol_type, group.generation, protocol, group.leader, group.since, members)
    core.write(group.partition, GroupKey(group.id), value)


def store_offset(core: Core, group: WithOffsets, partition: Partition, committed: CommittedOffset) -> None:
    """Store a committed offset: the last write wins."""
    group.offsets[partition] = committed
    core.write(group.partition, offset_key(group.id, partition), committed)


def delete_offset(core: Core, group: WithOffsets, partition: Partition) -> None:
    """Forget a committed offset, if there is one."""
    if group.offsets.pop(partition, None) is not None:
        core.write(group.partition, offset_key(group.id, partition), None)


def delete_group(core: Core, group: Group, event: str, now: Time, out: Outbox) -> None:
    """The group ends, with its offsets and the ids that it handed out; a group with members cannot."""
    for partition in list(group.offsets):
        delete_offset(core, group, partition)
    end_group(core, group, event, now, out)


def end_group(core: Core, group: Group, event: str, now: Time, out: Outbox) -> None:
    """The group ends, with the ids that it handed out; its offsets stay."""
    group.transition(event, ALWAYS, now, out)
    for member_id in group.pending_join:
        out.cancel_timer(session_timer(group.id, member_id))
    core.write(group.partition, GroupKey(group.id), None)
    del core.groups[group.id]
