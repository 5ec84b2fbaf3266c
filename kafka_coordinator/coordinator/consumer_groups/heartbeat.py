"""ConsumerGroupHeartbeat: one request for joining, living, acknowledging and leaving (spec 6.2, 6.3).

Everything that can be refused is refused before anything changes.

In Kafka `GroupMetadataManager.consumerGroupHeartbeat` and `consumerGroupLeave`.
"""

from typing import NamedTuple

from kafka_coordinator import messages
from kafka_coordinator.coordinator.consumer_groups import checks, states
from kafka_coordinator.coordinator.consumer_groups.conversion import check_owned, group_for, install
from kafka_coordinator.coordinator.consumer_groups.fencing import fence, leave_for_a_while
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember, Profile, in_order
from kafka_coordinator.coordinator.consumer_groups.patterns import Patterns, check_pattern, is_resolved, refresh_if_due
from kafka_coordinator.coordinator.consumer_groups.progress import move, observe, raise_epoch, seat
from kafka_coordinator.coordinator.consumer_groups.sessions import is_due, own_setting, restart_session
from kafka_coordinator.coordinator.consumer_groups.target import compute_target
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.settings import ASSIGNMENT_INTERVAL, HEARTBEAT_INTERVAL
from kafka_coordinator.errors import GROUP_ID_NOT_FOUND, NONE
from protocols.engine.nodes import Outbox, Time


def consumer_heartbeat(
    core: Core, now: Time, sender: str, request: messages.ConsumerGroupHeartbeat, out: Outbox
) -> None:
    """Answer a heartbeat; it is answered at once, whatever it says."""
    try:
        out.send(sender, _answer(core, now, sender, request, out))
    except checks.Refused as refused:
        told = messages.ConsumerGroupHeartbeatAnswer(request.correlation, refused.error, None, 0, 0, None, refused.text)
        out.send(sender, told)


def _answer(
    core: Core, now: Time, sender: str, request: messages.ConsumerGroupHeartbeat, out: Outbox
) -> messages.ConsumerGroupHeartbeatAnswer:
    checks.check_request(core.settings, request)
    if request.member_epoch in (messages.LEAVES, messages.LEAVES_FOR_A_WHILE):
        return _leave(core, now, request, out)
    group = group_for(core, request, now, out)
    checks.check_room(core.settings, group, request.member_id, request.instance_id)
    caller = _caller(core, group, request)
    check_pattern(group, request.regex or "")
    is_made = group.id not in core.consumer_groups
    if is_made and group.members:
        known = caller.replaces or caller.member
        check_owned(core, group, known, _told(known.profile if known is not None else Profile(), request, sender))
    install(core, group, now, out)
    answer = _proceed(core, group, caller, now, sender, request, out)
    # What a request makes is read again from the log, by which nobody has looked at the topics yet.
    group.stale = group.stale or is_made
    group.read_again()
    return answer


class _Caller(NamedTuple):
    """Who sends a heartbeat, as far as the group knows."""

    member: ConsumerMember | None
    """None: it is new."""
    replaces: ConsumerMember | None
    """The static member whose place it takes."""


def _caller(core: Core, group: ConsumerGroup, request: messages.ConsumerGroupHeartbeat) -> _Caller:
    """Find the sender and check its epoch; `Refused` if it must not speak."""
    if request.member_epoch != messages.JOINS:
        member = checks.existing(group, request.member_id, request.instance_id)
        checks.check_epoch(member, request)
        return _Caller(member, None)
    known = group.members.get(request.member_id)
    if request.instance_id is None:
        if known is not None and not core.settings.version.epoch_zero_is_never_fenced:
            checks.check_epoch(known, request)
        return _Caller(known, None)
    static_id = group.static_members.get(request.instance_id)
    if static_id is None:
        return _Caller(known, None)
    checks.check_released(group.members[static_id], request.member_id)
    return _Caller(None, group.members[static_id])


def _proceed(
    core: Core,
    group: ConsumerGroup,
    caller: _Caller,
    now: Time,
    sender: str,
    request: messages.ConsumerGroupHeartbeat,
    out: Outbox,
) -> messages.ConsumerGroupHeartbeatAnswer:
    if caller.member is not None and _changes_nothing(group, caller.member, sender, request):
        return _sign_of_life(core, group, caller.member, now, request, out)
    member_id = request.member_id or out.new_id("")
    known = caller.replaces or caller.member
    profile = _told(known.profile if known is not None else Profile(), request, sender)
    is_new = known is None or caller.replaces is not None
    had = known.standing.assigned if known is not None else frozenset()
    epochs, patterns = (group.epoch, group.target_epoch), Patterns.of(group)
    alike = group.epoch <= group.target_epoch or group.alike
    is_unknown = request.instance_id is not None and request.instance_id not in group.static_members
    member = seat(core, group, member_id, caller.replaces, profile, out)
    before, regex = member.profile, profile.regex
    is_new_pattern = bool(regex) and regex != before.regex and regex not in group.patterns
    changes_pattern = regex != before.regex and not is_new_pattern and is_resolved(core, group, regex)
    if raise_epoch(core, group, member, profile, group.epoch == 0 or changes_pattern, out):
        alike = group.homogeneous()
    refresh_if_due(core, group, patterns, is_new_pattern, now, out)
    target = group.target.get(member.id, ())
    if group.epoch > group.target_epoch and is_due(core, group.id, group.assigned_at, ASSIGNMENT_INTERVAL, now):
        compute_target(core, group, member, is_new, alike, now)
        target = group.target.get(member.id, ())
    elif is_unknown:
        target = ()
    cut = regex != before.regex or profile.topics != before.topics
    moved = move(core, group, member, request.owned, target, now, out, cut)
    restart_session(core, group, member, now, out)
    if is_new:
        observe(core, group, member, states.MEMBER_JOINED, out)
    elif moved or epochs != (group.epoch, group.target_epoch):
        observe(core, group, member, states.MEMBER_RECONCILED, out)
    assigned = member.standing.assigned
    tells = request.member_epoch == messages.JOINS or _is_full(request) or assigned != had
    return messages.ConsumerGroupHeartbeatAnswer(
        request.correlation,
        NONE,
        member.id,
        member.standing.epoch,
        own_setting(core, group.id, HEARTBEAT_INTERVAL),
        in_order(assigned) if tells else None,
    )


def _changes_nothing(
    group: ConsumerGroup, member: ConsumerMember, sender: str, request: messages.ConsumerGroupHeartbeat
) -> bool:
    """Whether a heartbeat tells nothing new in a group where nothing is to be done for the member: most of them."""
    told = request.topics, request.regex, request.assignor, request.rack, request.rebalance_timeout_ms
    standing, profile = member.standing, member.profile
    return (
        told == _NOTHING_TOLD
        and standing.state == states.M_STABLE
        and standing.epoch == group.target_epoch == group.epoch
        and not group.stale
        and not group.patterns
        and len(group.assignors) < 2
        and profile.host == f"/{sender}"
        and profile.client_id == (request.client_id or profile.client_id)
        and profile.instance_id == request.instance_id
        and profile.classic is None
    )


_NOTHING_TOLD = (None, None, None, None, messages.UNCHANGED_TIMEOUT)


def _sign_of_life(
    core: Core,
    group: ConsumerGroup,
    member: ConsumerMember,
    now: Time,
    request: messages.ConsumerGroupHeartbeat,
    out: Outbox,
) -> messages.ConsumerGroupHeartbeatAnswer:
    restart_session(core, group, member, now, out)
    epoch, interval = member.standing.epoch, own_setting(core, group.id, HEARTBEAT_INTERVAL)
    return messages.ConsumerGroupHeartbeatAnswer(request.correlation, NONE, member.id, epoch, interval, None)


def _is_full(request: messages.ConsumerGroupHeartbeat) -> bool:
    subscribed = request.topics is not None or request.regex is not None
    return request.rebalance_timeout_ms != messages.UNCHANGED_TIMEOUT and subscribed and request.owned is not None


def _told(profile: Profile, request: messages.ConsumerGroupHeartbeat, sender: str) -> Profile:
    """The member's profile after what the request says; fields that it leaves out stay."""
    return Profile(
        profile.instance_id if request.instance_id is None else request.instance_id,
        profile.rack if request.rack is None else request.rack,
        request.client_id or profile.client_id or request.member_id,
        f"/{sender}",
        profile.topics if request.topics is None else tuple(sorted(dict.fromkeys(request.topics))),
        profile.regex if request.regex is None else request.regex,
        profile.rebalance_timeout_ms
        if request.rebalance_timeout_ms == messages.UNCHANGED_TIMEOUT
        else request.rebalance_timeout_ms,
        profile.assignor if request.assignor is None else request.assignor,
        None,
    )


def _leave(
    core: Core, now: Time, request: messages.ConsumerGroupHeartbeat, out: Outbox
) -> messages.ConsumerGroupHeartbeatAnswer:
    group = core.consumer_groups.get(request.group)
    if group is None:
        text = "is not a consumer group" if core.is_group(request.group) else "not found"
        raise checks.Refused(GROUP_ID_NOT_FOUND, f"Group {request.group} {text}.")
    member = checks.existing(group, request.member_id, request.instance_id)
    epoch = request.member_epoch
    if epoch == messages.LEAVES_FOR_A_WHILE:
        leave_for_a_while(core, group, member, out)
    else:
        fence(core, group, [member], states.MEMBER_LEFT, f"{member.profile.client_id} left", now, out)
    return messages.ConsumerGroupHeartbeatAnswer(request.correlation, NONE, member.id, epoch, 0, None)
