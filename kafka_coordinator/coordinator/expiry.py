"""Offsets that nobody needs any more, and groups that have none left (spec 2.12).

In Kafka `OffsetMetadataManager.cleanupExpiredOffsets`, `OffsetExpirationConditionImpl` and
`GroupCoordinatorShard.cleanupGroupMetadata`.
"""

from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.consumer_groups.describe import delete_empty
from kafka_coordinator.coordinator.consumer_groups.offsets import expire_offsets
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.log import CommittedOffset
from kafka_coordinator.coordinator.storing import delete_group, delete_offset
from kafka_coordinator.messages import CONSUMER_PROTOCOL_TYPE
from protocols.engine.nodes import Outbox, Time


def expire(core: Core, partition: int, now: Time, out: Outbox) -> None:
    """One run over the groups of one partition of ``__consumer_offsets``; the next one is set."""
    for group in [each for each in core.groups.values() if each.partition == partition]:
        _expire_offsets(core, group, now)
        if group.state == states.EMPTY and not group.offsets:
            delete_group(core, group, states.EXPIRED, now, out)
    for other in [each for each in core.consumer_groups.values() if each.partition == partition]:
        expire_offsets(core, other, now)
        if not other.members and not other.offsets:
            delete_empty(core, other, states.EXPIRED, out)
    start_expiry(core, partition, now, out)


def start_expiry(core: Core, partition: int, now: Time, out: Outbox) -> None:
    """Set the timer of the next run."""
    out.set_timer(expiry_timer(partition), now + core.settings.offsets_retention_check_interval_ms)


def expiry_timer(partition: int) -> tuple[str, int]:
    """Name of the timer of a partition's next run."""
    return "expiry", partition


def _expire_offsets(core: Core, group: Group, now: Time) -> None:
    if not _may_expire(group):
        return
    oldest = now - core.settings.offsets_retention_ms
    for partition, committed in list(group.offsets.items()):
        if not group.subscribes(partition[0]) and _base(group, committed) <= oldest:
            delete_offset(core, group, partition)


def _may_expire(group: Group) -> bool:
    if group.protocol_type is None or group.state == states.EMPTY:
        return True
    of_consumers = group.protocol_type == CONSUMER_PROTOCOL_TYPE and group.subscribed is not None
    return group.state == states.STABLE and of_consumers


def _base(group: Group, committed: CommittedOffset) -> Time:
    """From when on the retention time of an offset counts."""
    empty = group.protocol_type is not None and group.state == states.EMPTY
    return group.since if empty else committed.committed_at
