"""Sessions of members, and the heartbeat interval that the broker prescribes (spec 3.3, 6.10).

In Kafka `scheduleConsumerGroupSessionTimeout`, `consumerGroupSessionTimeoutMs` and `consumerGroupHeartbeatIntervalMs`.

Timers of the members (spec 3.3). All but the first are named after what they wait for.

In Kafka `scheduleConsumerGroupSessionTimeout`, `scheduleConsumerGroupRebalanceTimeout`,
`scheduleConsumerGroupJoinTimeoutIfNeeded` and `scheduleConsumerGroupSyncTimeout`.

What a group makes of the cluster's metadata: one hash over its subscribed topics (spec 6.3 step 6).

In Kafka `ModernGroup.computeMetadataHash` and `Utils.computeGroupHash`.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import session_timer
from kafka_coordinator.coordinator.settings import NAMES, SESSION_TIMEOUT
from kafka_coordinator.coordinator.share_groups.group import ShareGroup
from protocols.engine.nodes import Outbox, Time, TimerName


def session_timeout_ms(core: Core, group: ConsumerGroup, member: ConsumerMember) -> int:
    """After how long a silence the member is removed."""
    if member.profile.classic is not None:
        return member.profile.classic.session_timeout_ms
    return own_timeout_ms(core, group)


def own_timeout_ms(core: Core, group: ConsumerGroup) -> int:
    """The session timeout of members of the consumer protocol."""
    return own_setting(core, group.id, SESSION_TIMEOUT)


def own_setting(core: Core, group_id: str, name: str) -> int:
    """A group's setting, or the broker's in its place, within the bounds of the broker."""
    broker, least, most = _of_broker(name)
    settings = core.settings
    own: int = core.group_settings.get(group_id, {}).get(name, getattr(settings, broker))
    bounds: tuple[int, int] = getattr(settings, least), getattr(settings, most)
    return max(bounds[0], min(own, bounds[1]))


def is_due(core: Core, group_id: str, assigned_at: Time | None, interval: str, now: Time) -> bool:
    """Whether the group has waited long enough since its last target to get a new one (spec 11.2). ``interval``: the
    setting that says how long."""
    if assigned_at is None or not core.settings.version.assignment_interval:
        return True
    return now >= assigned_at + own_setting(core, group_id, interval)


@lru_cache(maxsize=16)
def _of_broker(name: str) -> tuple[str, str, str]:
    """The fields of `BrokerSettings` for a group's setting: what is taken without it, the least and the most."""
    kind, _, rest = name.partition(".")
    return NAMES[f"group.{name}"], NAMES[f"group.{kind}.min.{rest}"], NAMES[f"group.{kind}.max.{rest}"]


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


def cancel_timers(group_id: str, member_id: str, out: Outbox) -> None:
    """The member is gone, or its timers are another broker's from now on."""
    for name in (session_timer, revocation_timer, rejoin_timer, sync_timer):
        out.cancel_timer(name(group_id, member_id))


def refresh_hash(core: Core, group: ConsumerGroup) -> bool:
    """Compute the hash anew; whether it has changed."""
    before = group.metadata_hash
    group.metadata_hash = core.subscription(group.subscribed()).hash
    return group.metadata_hash != before


def mark_stale(core: Core, topics: Iterable[str]) -> None:
    """These topics have been created, changed or deleted: groups that subscribe to one look again."""
    changed = list(topics)
    groups: list[ConsumerGroup | ShareGroup] = [*core.consumer_groups.values(), *core.share_groups.values()]
    for group in groups:
        if any(group.subscribes(topic) for topic in changed):
            group.stale = True
