"""Sessions of members, and the heartbeat interval that the broker prescribes (spec 3.3, 6.10).

In Kafka `scheduleConsumerGroupSessionTimeout`, `consumerGroupSessionTimeoutMs` and `consumerGroupHeartbeatIntervalMs`.

Timers of the members (spec 3.3). All but the first are named after what they wait for.

In Kafka `scheduleConsumerGroupSessionTimeout`, `scheduleConsumerGroupRebalanceTimeout`,
`scheduleConsumerGroupJoinTimeoutIfNeeded` and `scheduleConsumerGroupSyncTimeout`.

What a group makes of the cluster's metadata: one hash over its subscribed topics (spec 6.3 step 6).

In Kafka `ModernGroup.computeMetadataHash` and `Utils.computeGroupHash`.
"""

from collections.abc import Iterable
from typing import Final

from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import session_timer
from kafka_coordinator.coordinator.settings import ASSIGNMENT_INTERVAL, HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from protocols.engine.nodes import Outbox, Time, TimerName


def session_timeout_ms(core: Core, group: ConsumerGroup, member: ConsumerMember) -> int:
    """After how long a silence the member is removed."""
    if member.profile.classic is not None:
        return member.profile.classic.session_timeout_ms
    return own_timeout_ms(core, group)


def own_timeout_ms(core: Core, group: ConsumerGroup) -> int:
    """The session timeout of members of the consumer protocol."""
    settings = core.settings
    own = core.group_settings.get(group.id, {}).get(SESSION_TIMEOUT, settings.group_consumer_session_timeout_ms)
    least, most = settings.group_consumer_min_session_timeout_ms, settings.group_consumer_max_session_timeout_ms
    return max(least, min(own, most))


def heartbeat_interval_ms(core: Core, group: ConsumerGroup) -> int:
    settings = core.settings
    own = core.group_settings.get(group.id, {}).get(HEARTBEAT_INTERVAL, settings.group_consumer_heartbeat_interval_ms)
    least, most = settings.group_consumer_min_heartbeat_interval_ms, settings.group_consumer_max_heartbeat_interval_ms
    return max(least, min(own, most))


def assignment_interval_ms(core: Core, group: ConsumerGroup) -> int:
    """How long after a new target the group waits for the next one."""
    settings = core.settings
    own = core.group_settings.get(group.id, {}).get(ASSIGNMENT_INTERVAL, settings.group_consumer_assignment_interval_ms)
    least, most = settings.group_consumer_min_assignment_interval_ms, settings.group_consumer_max_assignment_interval_ms
    return max(least, min(own, most))


def restart_session(core: Core, group: ConsumerGroup, member: ConsumerMember, now: Time, out: Outbox) -> None:
    out.set_timer(session_timer(group.id, member.id), now + session_timeout_ms(core, group, member))


REVOCATION: Final = "revocation"
REJOIN: Final = "rejoin"
CLASSIC_SYNC: Final = "classic sync"
RESOLVE: Final = "resolve"


def revocation_timer(group: str, member_id: str) -> tuple[str, str, str]:
    """Name of the timer by which a member must have given its partitions up."""
    return REVOCATION, group, member_id


def rejoin_timer(group: str, member_id: str) -> tuple[str, str, str]:
    """Name of the timer by which a classic member that was told to rejoin must have done it."""
    return REJOIN, group, member_id


def sync_timer(group: str, member_id: str) -> tuple[str, str, str]:
    """Name of the timer by which a classic member that has joined must have sent SyncGroup."""
    return CLASSIC_SYNC, group, member_id


def resolve_timer(group: str) -> TimerName:
    return RESOLVE, group


def cancel_timers(group: ConsumerGroup, member_id: str, out: Outbox) -> None:
    """The member is gone, or its timers are another group's from now on."""
    for name in (session_timer, revocation_timer, rejoin_timer, sync_timer):
        out.cancel_timer(name(group.id, member_id))


def refresh_hash(core: Core, group: ConsumerGroup) -> bool:
    """Compute the hash anew; whether it has changed."""
    before = group.metadata_hash
    group.metadata_hash = core.subscription(group.subscribed()).hash
    return group.metadata_hash != before


def mark_stale(core: Core, topics: Iterable[str]) -> None:
    """These topics have been created, changed or deleted: groups that subscribe to one look again."""
    changed = list(topics)
    for group in core.consumer_groups.values():
        if any(group.subscribes(topic) for topic in changed):
            group.stale = True
