"""The messages of Kafka's brokers: 2.x and 3.x (kafka.coordinator.group), 4.x (both protocols), controllers."""

import re

from compare.logs.broker_events import (
    Added,
    Announced,
    AssignmentReceived,
    BrokerFenced,
    BrokerStarted,
    BrokerStopped,
    Emptied,
    EpochBumped,
    EpochJoined,
    Failed,
    Fenced,
    InstanceFenced,
    InstanceHeld,
    Left,
    Loaded,
    NotRejoined,
    NotWritten,
    OtherKind,
    PartitionCreated,
    Preparing,
    Replaced,
    Stabilized,
    SubscriptionUpdated,
    TargetComputed,
    Unloaded,
    WentAway,
)
from compare.logs.events import Event, Place
from compare.logs.templates import read_message, table

_PREFIX = re.compile(r"\[Group(?:Coordinator|MetadataManager) (?:id=|brokerId=)?(\d{1,9})[^\]]{0,100}\]:? ")
"""What the coordinator's messages begin with."""

_COORDINATOR = table(
    (
        Preparing,
        "Preparing to rebalance group {group} in state <state> with old generation {generation} (__{} (reason:"
        " {reason})",
    ),
    (
        Preparing,
        "Preparing to rebalance group {group} in state <state> with old generation {generation} (reason: {reason})",
    ),
    (Stabilized, "Stabilized group {*group} generation {generation} (__{}) with {members} members"),
    (Stabilized, "Stabilized group {*group} generation {generation} with {members} members"),
    (
        AssignmentReceived,
        "Assignment received from leader {*leader} for group {*group} for generation {generation}. The group has {}",
    ),
    (
        AssignmentReceived,
        "Assignment received from leader for group {*group} for generation {generation}. The group has {}",
    ),
    (AssignmentReceived, "Assignment received from leader for group {*group} for generation {generation}"),
    (Emptied, "Group {*group} with generation {generation} is now empty (__{})"),
    (Emptied, "Group {*group} with generation {generation} is now empty"),
    (
        Left,
        "Member MemberMetadata(memberId={*member}, groupInstanceId={*instance}, clientId={*},"
        " clientHost={*}) has left group {group} through explicit `LeaveGroup`; client reason: {reason}",
    ),
    (
        Left,
        "[Group {group}] Member {*member} has left group through explicit `LeaveGroup` request; client reason:"
        " {reason}",
    ),
    (
        Left,
        "[Group {group}] Static member {*member} with instance id {*instance} has left group through explicit"
        " `LeaveGroup` request; client reason: {reason}",
    ),
    (
        Left,
        "[GroupId {group}] Dynamic member {*member} has left group through explicit `LeaveGroup` request; client"
        " reason: {reason}",
    ),
    (
        Left,
        "[GroupId {group}] Static member {*member} with instance id {*instance} has left group through explicit"
        " `LeaveGroup` request; client reason: {reason}",
    ),
    (
        Left,
        "Member[group.instance.id {instance}, member.id {*member}] in group {group} has left, removing it from the"
        " group",
    ),
    (Failed, "Member {*member} in group {group} has failed, removing it from the group"),
    (NotRejoined, "Group {group} removed dynamic members who haven't joined: Set({members})"),
    (NotRejoined, "Group {group} removed dynamic members who haven't joined: [{members}]"),
    (
        Replaced,
        "Static member with groupInstanceId={*instance} and unknown member id joins group {group} in <state> state."
        " Replacing previously mapped member {*old} with this groupInstanceId",
    ),
    (
        Replaced,
        "Static member {*instance} of group {*group} with unknown member id rejoins, assigning new member id {*member},"
        " while old member id {old} will be removed",
    ),
    (
        InstanceFenced,
        "Request memberId={*member} for static member with groupInstanceId={*instance} is fenced by current"
        " memberId={*by} during operation {}",
    ),
    (
        InstanceFenced,
        "Request memberId={*member} for static member with groupInstanceId={*instance} is fenced by existing"
        " memberId={*by} during operation {}",
    ),
    (
        InstanceFenced,
        "given member.id {*member} is identified as a known static member {*instance}, but not matching the expected"
        " member.id {*by} during {}, will respond with instance fenced error",
    ),
    (
        Added,
        "Dynamic Member with unknown member id joins group {group} in <state> state. Created a new member id {member}"
        " for this member and add to the group",
    ),
    (
        Added,
        "Static Member with unknown member id joins group {group} in <state> state. Created a new member id {member}"
        " for this member and add to the group",
    ),
    (
        Added,
        "Dynamic member with unknown member id joins group {group} in state <state>. Created a new member id {member}"
        " and added the member to the group",
    ),
    (
        Added,
        "Static member with groupInstanceId={*instance} and unknown member id joins group {group} in <state> state."
        " Created a new member id {member} for this member and added to the group",
    ),
    (Added, "Adding new static member {*instance} to group {*group} with member id {member}"),
    (
        Added,
        "Pending dynamic member with id {*member} joins group {group} in <state> state. Adding to the group now",
    ),
    (
        Announced,
        "Dynamic member with unknown member id joins group {group} in <state> state. Created a new member id {*member}"
        " and request{} the member to rejoin with this id",
    ),
    (Loaded, "Loading group metadata for {*group} with generation {generation}"),
    (Loaded, "Loaded classic group {*group} with {members} members"),
    (Loaded, "Loaded consumer group {*group} with {members} members"),
    (Unloaded, "[GroupId={group}] Unloading group metadata for generation {}"),
    (NotWritten, "Failed to write empty metadata for group {*group}: {why}"),
    (
        Replaced,
        "[GroupId {group}] Static member with instance id {instance} re-joins {} Created a new member {member} to"
        " replace the existing member {old}",
    ),
    (
        InstanceHeld,
        "[GroupId {group}] Static member {member} with instance id {instance} cannot join the group because the"
        " instance id is owned by member {by}",
    ),
    (EpochJoined, "[GroupId {group}] Member {*member} joins the consumer group using the consumer protocol"),
    (EpochJoined, "[GroupId {group}] Member {*member} joins the consumer group using the classic protocol"),
    (
        EpochJoined,
        "[GroupId {group}] Static member {*member} with instance id {*instance} joins the consumer group using the"
        " {} protocol",
    ),
    (
        WentAway,
        "[GroupId {group}] Static member {*member} with instance id {*instance} temporarily left the consumer group",
    ),
    (Left, "[GroupId {group}] Member {*member} left the consumer group"),
    (Left, "[GroupId {group}] Static member {*member} with instance id {*instance} left the consumer group"),
    (Fenced, "[GroupId {group}] Member {*member} fenced from the group because {why}"),
    (SubscriptionUpdated, "[GroupId {group}] Member {*member} updated its subscribed topics to: {topics}"),
    (SubscriptionUpdated, "[GroupId {group}] Member {*member} updated its subscribed regex to: {topics}"),
    (EpochBumped, "[GroupId {group}] Bumped group epoch to {epoch} with metadata hash {topics}"),
    (EpochBumped, "[GroupId {group}] Bumped group epoch to {epoch}"),
    (
        TargetComputed,
        "[GroupId {group}] Computed a new target assignment for epoch {epoch} with '{assignor}' assignor{}",
    ),
    (TargetComputed, "[GroupId {group}] Computed a new target assignment for epoch {epoch} in {}"),
)

_OTHERS = table(
    (PartitionCreated, "Created log for partition {*name} in {}"),
    (BrokerStarted, "Kafka Server started"),
    (
        BrokerFenced,
        "Replayed BrokerRegistrationChangeRecord modifying the registration for broker {}:"
        " BrokerRegistrationChangeRecord(brokerId={broker}, brokerEpoch={epoch}, fenced={fenced},"
        " inControlledShutdown={shutting},{}",
    ),
)

_SERVER = re.compile(r"\[(?:Kafka\w*Server|BrokerServer|QuorumController|LogManager|GroupMetadata)[^\]]{0,60}\]:? ")
_KINDS = (
    ("share group", "share"),
    ("streams group", "streams"),
)
"""How the coordinator names groups that are no groups of consumers."""


def of_broker(message: str, place: Place) -> Event | None:
    """What a broker's message tells; None where it means nothing."""
    if head := _PREFIX.match(message):
        place.stream.node = int(head.group(1))
        rest = message[head.end() :].removesuffix(".")
        return read_message(_COORDINATOR, rest, place) or _other_kind(rest, place)
    head = _SERVER.match(message)
    rest = message[head.end() :] if head else message
    if head and rest == "shut down completed":
        return BrokerStopped(place=place)
    return read_message(_OTHERS, rest, place) or read_message(_COORDINATOR, rest, place)


def _other_kind(message: str, place: Place) -> Event | None:
    """A line of a share group or of a streams group, as far as it names one."""
    if not message.startswith("[GroupId "):
        return None
    group, bracket, rest = message[len("[GroupId ") :].partition("]")
    if not bracket:
        return None
    kind = next((kind for words, kind in _KINDS if f" {words}" in rest), None)
    return OtherKind(place=place, group=group, kind=kind) if kind else None
