"""DescribeGroup, ListGroups, DeleteGroup: the administrator's view (spec 2.13).

In Kafka `GroupMetadataManager.describeGroups` and `listGroups`, `GroupCoordinatorShard.deleteGroups`.

Offsets that nobody needs any more, and groups that have none left (spec 2.12).

In Kafka `OffsetMetadataManager.cleanupExpiredOffsets`, `OffsetExpirationConditionImpl` and
`GroupCoordinatorShard.cleanupGroupMetadata`.
"""

from kafka_coordinator import messages
from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.consumer_groups.administration import delete_empty, expire_offsets
from kafka_coordinator.coordinator.core import Core, delete_group, delete_offset, offsets_of
from kafka_coordinator.coordinator.group import NO_BYTES, Group
from kafka_coordinator.coordinator.log import CommittedOffset
from kafka_coordinator.errors import COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, NONE
from protocols.engine.nodes import Outbox, Time
from protocols.java import sorted_as_java

CLASSIC = "Classic"
CONSUMER = "Consumer"
SHARE = "Share"
"""The types of groups."""

GROUP_ID_NOT_FOUND_SINCE = 6
"""From this version of DescribeGroups on a missing group is an error, too; before it was only called Dead."""


def describe(core: Core, now: Time, sender: str, request: messages.DescribeGroup, out: Outbox) -> None:
    """State and members; subscriptions are in the answer only for a stable group."""
    group = core.groups.get(request.group)
    if group is None:
        error = GROUP_ID_NOT_FOUND if request.version >= GROUP_ID_NOT_FOUND_SINCE else NONE
        out.send(sender, messages.DescribeGroupAnswer(request.correlation, error, states.DEAD, "", "", ()))
        return
    stable = group.state == states.STABLE
    members = tuple(
        [
            messages.DescribedMember(
                member.id,
                member.instance_id,
                member.client_id,
                member.host,
                member.metadata(group.protocol) if stable else NO_BYTES,
                member.assignment,
            )
            for member in group.ordered()
        ]
    )
    protocol = group.protocol or "" if stable else ""
    out.send(
        sender,
        messages.DescribeGroupAnswer(
            request.correlation, NONE, group.state, group.protocol_type or "", protocol, members
        ),
    )


def list_groups(core: Core, now: Time, sender: str, request: messages.ListGroups, out: Outbox) -> None:
    """All groups of this broker, by id; filters do not mind upper or lower case."""
    if core.loading:
        out.send(sender, messages.ListGroupsAnswer(request.correlation, COORDINATOR_LOAD_IN_PROGRESS, ()))
        return
    wanted = {state.lower() for state in request.states}
    types = {kind.lower() for kind in request.types}
    groups = []
    for group_id in sorted_as_java({*core.groups, *core.consumer_groups, *core.share_groups, *core.forgotten}):
        classic, other = core.groups.get(group_id), core.readable(group_id)
        if (share := core.share_groups.get(group_id)) is not None:
            listed = (group_id, SHARE.lower(), share.state, SHARE)
        elif other is not None:
            listed = (group_id, messages.CONSUMER_PROTOCOL_TYPE, other.state, CONSUMER)
        elif classic is None:
            continue
        else:
            listed = (group_id, classic.protocol_type or "", classic.state, CLASSIC)
        if (not wanted or listed[2].lower() in wanted) and (not types or listed[3].lower() in types):
            groups.append(listed)
    out.send(sender, messages.ListGroupsAnswer(request.correlation, NONE, tuple(groups)))


def delete(core: Core, now: Time, sender: str, request: messages.DeleteGroup, out: Outbox) -> None:
    group = core.groups.get(request.group)
    if group is None:
        error = GROUP_ID_NOT_FOUND
    elif group.state != states.EMPTY:
        error = NON_EMPTY_GROUP
    else:
        delete_group(core, group, states.DELETED, now, out)
        error = NONE
    out.send(sender, messages.DeleteGroupAnswer(request.correlation, error))


def expire(core: Core, partition: int, now: Time, out: Outbox) -> None:
    """One run over the groups of one partition of ``__consumer_offsets``; the next one is set."""
    for group in [each for each in core.groups.values() if each.partition == partition]:
        _expire_offsets(core, group, now)
        if group.state == states.EMPTY and not offsets_of(core, group):
            delete_group(core, group, states.EXPIRED, now, out)
    for other in [
        consumer_group for consumer_group in core.consumer_groups.values() if consumer_group.partition == partition
    ]:
        expire_offsets(core, other, now)
        if not other.members and not offsets_of(core, other):
            delete_empty(core, other, states.EXPIRED, out)
    start_expiry(core, partition, now, out)


def start_expiry(core: Core, partition: int, now: Time, out: Outbox) -> None:
    out.set_timer(expiry_timer(partition), now + core.settings.offsets_retention_check_interval_ms)


def expiry_timer(partition: int) -> tuple[str, int]:
    return "expiry", partition


def _expire_offsets(core: Core, group: Group, now: Time) -> None:
    if not _may_expire(group):
        return
    oldest = now - core.settings.offsets_retention_ms
    for partition, committed in list(group.offsets.items()):
        is_old = _base(group, committed) <= oldest and not core.is_pending(group.id, partition)
        if is_old and not group.subscribes(partition[0]):
            delete_offset(core, group, partition)


def _may_expire(group: Group) -> bool:
    if group.protocol_type is None or group.state == states.EMPTY:
        return True
    of_consumers = group.protocol_type == messages.CONSUMER_PROTOCOL_TYPE and group.subscribed is not None
    return group.state == states.STABLE and of_consumers


def _base(group: Group, committed: CommittedOffset) -> Time:
    """From when on the retention time of an offset counts."""
    empty = group.protocol_type is not None and group.state == states.EMPTY
    return group.since if empty else committed.committed_at
