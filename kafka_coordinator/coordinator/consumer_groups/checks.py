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
    """``error`` is a name of `kafka_coordinator.errors`."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


MEMBER_ID_FROM_CLIENT_SINCE = 1
"""From this version of ConsumerGroupHeartbeat on the client makes its member id up (KIP-1082)."""


def check_request(settings: BrokerSettings, request: ConsumerGroupHeartbeat) -> None:
    """`Refused` for a heartbeat that no client should send."""
    if "consumer" not in settings.group_coordinator_rebalance_protocols.split(","):
        raise Refused(errors.UNSUPPORTED_VERSION)
    if not _is_valid(request):
        raise Refused(errors.INVALID_REQUEST)
    if request.assignor is not None and request.assignor not in settings.assignors:
        raise Refused(errors.UNSUPPORTED_ASSIGNOR)


def _is_valid(request: ConsumerGroupHeartbeat) -> bool:
    epoch = request.member_epoch
    named = (request.group, request.instance_id, request.rack)
    if epoch < LEAVES_FOR_A_WHILE or any(text is not None and not text.strip() for text in named):
        return False
    needs_id = epoch > 0 or epoch == LEAVES or request.version >= MEMBER_ID_FROM_CLIENT_SINCE
    if needs_id and not request.member_id.strip():
        return False
    if epoch == LEAVES_FOR_A_WHILE:
        return request.instance_id is not None
    if epoch == JOINS:
        subscribed = request.topics is not None or request.regex is not None
        return request.rebalance_timeout_ms != UNCHANGED_TIMEOUT and request.owned == () and subscribed
    return True


def check_room(settings: BrokerSettings, group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
    """`Refused` for one too many."""
    if settings.version.static_return_finds_room and instance_id in group.static_members:
        return
    if len(group.members) >= settings.group_consumer_max_size and member_id not in group.members:
        raise Refused(errors.GROUP_MAX_SIZE_REACHED)


def existing(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    """The member that a request names; `Refused` if there is none."""
    if instance_id is not None:
        known = group.static_members.get(instance_id)
        if known is None:
            raise Refused(errors.UNKNOWN_MEMBER_ID)
        if known != member_id:
            raise Refused(errors.FENCED_INSTANCE_ID)
        member_id = known
    member = group.members.get(member_id)
    if member is None:
        raise Refused(errors.UNKNOWN_MEMBER_ID)
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
        raise Refused(errors.FENCED_MEMBER_EPOCH)


def check_released(member: ConsumerMember) -> None:
    """A static member's place is only free once it has left for a while, or if it speaks the classic protocol."""
    if member.profile.classic is None and not member.is_away:
        raise Refused(errors.UNRELEASED_INSTANCE_ID)
