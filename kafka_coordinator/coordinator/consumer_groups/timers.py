"""Timers of the members (spec 3.3). All but the first are named after what they wait for.

In Kafka `scheduleConsumerGroupSessionTimeout`, `scheduleConsumerGroupRebalanceTimeout`,
`scheduleConsumerGroupJoinTimeoutIfNeeded` and `scheduleConsumerGroupSyncTimeout`.
"""

from typing import Final

from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.members import session_timer
from protocols.engine.nodes import Outbox, TimerName

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
    """Name of the timer at which the patterns of a group are resolved."""
    return RESOLVE, group


def cancel_timers(group: ConsumerGroup, member_id: str, out: Outbox) -> None:
    """The member is gone, or its timers are another group's from now on."""
    for name in (session_timer, revocation_timer, rejoin_timer, sync_timer):
        out.cancel_timer(name(group.id, member_id))
