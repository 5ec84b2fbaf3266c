"""A request that cannot be granted: raised before anything has changed, answered by whoever took the request.

Is a heartbeat of the consumer protocol well-formed, and does it come from whom it says (spec 6.2, 6.3, 6.6)?

In Kafka `GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid` and the `throwIf` methods of
`GroupMetadataManager`.
"""

from kafka_coordinator import errors
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from kafka_coordinator.coordinator.settings import BrokerSettings
from kafka_coordinator.messages import JOINS, LEAVES, LEAVES_FOR_A_WHILE, UNCHANGED_TIMEOUT, ConsumerGroupHeartbeat


class Refused(Exception):  # noqa: N818 - what happens to the request
    """``error`` is a name of `kafka_coordinator.errors`; ``text`` is what heartbeats of the consumer protocol are told
    beside it."""

    def __init__(self, error: str, text: str | None = None) -> None:
        super().__init__(error)
        self.error, self.text = error, text


MEMBER_ID_FROM_CLIENT_SINCE = 1
"""From this version of ConsumerGroupHeartbeat on the client makes its member id up (KIP-1082)."""


def check_request(settings: BrokerSettings, request: ConsumerGroupHeartbeat) -> None:
    """`Refused` for a heartbeat that no client should send."""
    if "consumer" not in settings.group_coordinator_rebalance_protocols.split(","):
        raise Refused(errors.UNSUPPORTED_VERSION)
    wrong = _what_is_wrong(request)
    if wrong is not None:
        raise Refused(errors.INVALID_REQUEST, wrong)
    if request.assignor is not None and request.assignor not in settings.assignors:
        there = ", ".join(settings.assignors)
        raise Refused(
            errors.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.assignor} is not supported. Supported assignors: {there}.",
        )


def _what_is_wrong(request: ConsumerGroupHeartbeat) -> str | None:
    """In Kafka's words; None: nothing."""
    epoch = request.member_epoch
    needs_id = epoch > 0 or epoch == LEAVES or request.version >= MEMBER_ID_FROM_CLIENT_SINCE
    named = (
        ("MemberId", request.member_id if needs_id else None),
        ("GroupId", request.group),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack),
    )
    for name, text in named:
        if text is not None and not text.strip():
            return f"{name} can't be empty."
    if epoch < LEAVES_FOR_A_WHILE:
        return "MemberEpoch is invalid."
    if epoch == LEAVES_FOR_A_WHILE:
        return "InstanceId can't be null." if request.instance_id is None else None
    if epoch == JOINS:
        if request.rebalance_timeout_ms == UNCHANGED_TIMEOUT:
            return "RebalanceTimeoutMs must be provided in first request."
        if request.owned != ():
            return "TopicPartitions must be empty when (re-)joining."
        if request.topics is None and request.regex is None:
            return "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    return None


def check_room(settings: BrokerSettings, group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    """`Refused` for one too many."""
    if settings.version.static_return_finds_room and instance_id in group.static_members:
        return
    if len(group.members) >= settings.group_consumer_max_size and member_id not in group.members:
        most = settings.group_consumer_max_size
        raise Refused(
            errors.GROUP_MAX_SIZE_REACHED, f"The consumer group has reached its maximum capacity of {most} members."
        )


def existing(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    """The member that a request names; `Refused` if there is none."""
    if instance_id is not None:
        known = group.static_members.get(instance_id)
        if known is None:
            raise Refused(errors.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if known != member_id:
            fenced = f"Static member {member_id} with instance id {instance_id} was fenced by member {known}."
            raise Refused(errors.FENCED_INSTANCE_ID, fenced)
        member_id = known
    member = group.members.get(member_id)
    if member is None:
        raise Refused(errors.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.id}.")
    return member


def check_epoch(member: ConsumerMember, request: ConsumerGroupHeartbeat) -> None:
    """The epoch is the member's, or the one before where the answer with the newer one got lost; else `Refused`."""
    received, standing = request.member_epoch, member.standing
    if received == standing.epoch:
        return
    lost = (
        received < standing.epoch
        and received == standing.previous_epoch
        and request.owned is not None
        and standing.assigned.issuperset(request.owned)
    )
    if not lost:
        than = "smaller" if received < standing.epoch else "greater"
        raise Refused(
            errors.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {than} member epoch ({received}) than the one known by the group"
            f" coordinator ({standing.epoch}). The member must abandon all its partitions and rejoin.",
        )


def check_released(member: ConsumerMember, member_id: str) -> None:
    """A static member's place is only free for another (``member_id``) once it has left for a while, or if it speaks
    the classic protocol."""
    if member.profile.classic is None and not member.is_away:
        raise Refused(
            errors.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {member.profile.instance_id} cannot join the group because the"
            f" instance id is owned by {member.id} member.",
        )
