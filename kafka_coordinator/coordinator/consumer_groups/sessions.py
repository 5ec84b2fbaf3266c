"""Sessions of members, and the heartbeat interval that the broker prescribes (spec 3.3, 6.10).

In Kafka `scheduleConsumerGroupSessionTimeout`, `consumerGroupSessionTimeoutMs` and `consumerGroupHeartbeatIntervalMs`.
"""

from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group_settings import HEARTBEAT_INTERVAL, SESSION_TIMEOUT
from kafka_coordinator.coordinator.members import session_timer
from protocols.engine.nodes import Outbox, Time


def session_timeout_ms(core: Core, group: ConsumerGroup, member: ConsumerMember) -> int:
    """After how long a silence the member is removed."""
    if member.profile.classic is not None:
        return member.profile.classic.session_timeout_ms
    settings = core.settings
    own = core.group_settings.get(group.id, {}).get(SESSION_TIMEOUT, settings.group_consumer_session_timeout_ms)
    least, most = settings.group_consumer_min_session_timeout_ms, settings.group_consumer_max_session_timeout_ms
    return max(least, min(own, most))


def heartbeat_interval_ms(core: Core, group: ConsumerGroup) -> int:
    """How often members shall heartbeat."""
    settings = core.settings
    own = core.group_settings.get(group.id, {}).get(HEARTBEAT_INTERVAL, settings.group_consumer_heartbeat_interval_ms)
    least, most = settings.group_consumer_min_heartbeat_interval_ms, settings.group_consumer_max_heartbeat_interval_ms
    return max(least, min(own, most))


def restart_session(core: Core, group: ConsumerGroup, member: ConsumerMember, now: Time, out: Outbox) -> None:
    """The member was heard from."""
    out.set_timer(session_timer(group.id, member.id), now + session_timeout_ms(core, group, member))
