"""DescribeGroup, ListGroups, DeleteGroup: the administrator's view (spec 2.13).

In Kafka `GroupMetadataManager.describeGroups` and `listGroups`, `GroupCoordinatorShard.deleteGroups`.
"""

from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.members import NO_BYTES
from kafka_coordinator.coordinator.storing import delete_group
from kafka_coordinator.errors import COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, NONE
from kafka_coordinator.messages import (
    CONSUMER_PROTOCOL_TYPE,
    DeleteGroup,
    DeleteGroupAnswer,
    DescribedMember,
    DescribeGroup,
    DescribeGroupAnswer,
    ListGroups,
    ListGroupsAnswer,
)
from protocols.engine.nodes import Outbox, Time
from protocols.java import sorted_as_java

CLASSIC = "Classic"
CONSUMER = "Consumer"
"""The types of groups."""

GROUP_ID_NOT_FOUND_SINCE = 6
"""From this version of DescribeGroups on a missing group is an error, too; before it was only called Dead."""


def describe(core: Core, now: Time, sender: str, request: DescribeGroup, out: Outbox) -> None:
    """State and members; subscriptions are in the answer only for a stable group."""
    group = core.groups.get(request.group)
    if group is None:
        error = GROUP_ID_NOT_FOUND if request.version >= GROUP_ID_NOT_FOUND_SINCE else NONE
        out.send(sender, DescribeGroupAnswer(request.correlation, error, states.DEAD, "", "", ()))
        return
    stable = group.state == states.STABLE
    members = tuple(
        [
            DescribedMember(
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
        DescribeGroupAnswer(request.correlation, NONE, group.state, group.protocol_type or "", protocol, members),
    )


def list_groups(core: Core, now: Time, sender: str, request: ListGroups, out: Outbox) -> None:
    """All groups of this broker, by id; filters do not mind upper or lower case."""
    if core.loading:
        out.send(sender, ListGroupsAnswer(request.correlation, COORDINATOR_LOAD_IN_PROGRESS, ()))
        return
    wanted = {state.lower() for state in request.states}
    types = {kind.lower() for kind in request.types}
    groups = []
    for group_id in sorted_as_java([*core.groups, *core.consumer_groups]):
        classic = core.groups.get(group_id)
        if classic is None:
            listed = (group_id, CONSUMER_PROTOCOL_TYPE, core.consumer_groups[group_id].state, CONSUMER)
        else:
            listed = (group_id, classic.protocol_type or "", classic.state, CLASSIC)
        if (not wanted or listed[2].lower() in wanted) and (not types or listed[3].lower() in types):
            groups.append(listed)
    out.send(sender, ListGroupsAnswer(request.correlation, NONE, tuple(groups)))


def delete(core: Core, now: Time, sender: str, request: DeleteGroup, out: Outbox) -> None:
    """Delete a group without members, with its offsets."""
    group = core.groups.get(request.group)
    if group is None:
        error = GROUP_ID_NOT_FOUND
    elif group.state != states.EMPTY:
        error = NON_EMPTY_GROUP
    else:
        delete_group(core, group, states.DELETED, now, out)
        error = NONE
    out.send(sender, DeleteGroupAnswer(request.correlation, error))
