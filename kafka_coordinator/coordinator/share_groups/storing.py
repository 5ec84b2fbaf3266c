"""The log of share groups in ``__consumer_offsets``: its records, and the groups that a broker reads from it.

What a group agrees on is one record, each member with its target another; Kafka's has six types of records, which are
written and read together. Sessions begin anew where another broker takes over, and so do attempts to initialize.

In Kafka `GroupCoordinatorRecordHelpers` with the keys and values of share groups, `GroupMetadataManager.replay`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafka_coordinator.coordinator.consumer_groups.sessions import own_setting
from kafka_coordinator.coordinator.consumer_groups.uniform_balance import timeline_order
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import session_timer
from kafka_coordinator.coordinator.log import Key, Value
from kafka_coordinator.coordinator.settings import SHARE_SESSION_TIMEOUT
from kafka_coordinator.coordinator.share_groups import states
from kafka_coordinator.coordinator.share_groups.group import NO_TARGET, Initialized, ShareGroup, ShareMember, Target
from protocols.engine.nodes import Outbox, Time


class ShareGroupKey(NamedTuple):
    group: str
    kind: str = "share group"


class ShareGroupValue(NamedTuple):
    epoch: int
    metadata_hash: str
    target_epoch: int
    assigned_at: Time | None
    kept: Initialized | None


class ShareMemberKey(NamedTuple):
    group: str
    member_id: str
    kind: str = "share member"


class ShareMemberValue(NamedTuple):
    member: ShareMember
    target: Target


def store_group(core: Core, group: ShareGroup) -> None:
    value = ShareGroupValue(group.epoch, group.metadata_hash, group.target_epoch, group.assigned_at, group.kept)
    core.write(group.partition, ShareGroupKey(group.id), value)


def store_member(core: Core, group: ShareGroup, member_id: str) -> None:
    """Write the member, or that it is gone."""
    member = group.members.get(member_id)
    value = None if member is None else ShareMemberValue(member, group.target.get(member_id, NO_TARGET))
    core.write(group.partition, ShareMemberKey(group.id, member_id), value)


def keep(core: Core, group: ShareGroup, kept: Initialized, now: Time) -> None:
    """Write what the persister has, is asked for, and is to forget."""
    group.kept, group.kept_at = kept, now
    store_group(core, group)


def erase_group(core: Core, group: ShareGroup) -> None:
    core.write(group.partition, ShareGroupKey(group.id), None)


def take_over(core: Core, partition: int, latest: Mapping[Key, Value], now: Time, out: Outbox) -> None:
    """This broker coordinates the share groups of a log from now on."""
    groups: dict[str, ShareGroup] = {}
    for key, value in latest.items():
        if isinstance(key, ShareGroupKey):
            group = groups[key.group] = ShareGroup(key.group, partition)
            group.epoch, group.metadata_hash, group.target_epoch, group.assigned_at, group.kept = value
            group.kept_at = now
    for key, value in latest.items():
        if isinstance(key, ShareMemberKey):
            groups[key.group].put(value.member)
            groups[key.group].target[key.member_id] = value.target
    for group in groups.values():
        core.share_groups[group.id] = group
        for member_id in timeline_order(list(group.members), group.most_members):
            restart_session(core, group, member_id, now, out)
        group.settle(states.LOADED, out)


def resign(core: Core, partition: int, out: Outbox) -> None:
    """Another broker leads the partition: its share groups are dead here."""
    for group in [share_group for share_group in core.share_groups.values() if share_group.partition == partition]:
        group.end(states.UNLOADED, out)
        for member_id in group.members:
            out.cancel_timer(session_timer(group.id, member_id))
        del core.share_groups[group.id]


def restart_session(core: Core, group: ShareGroup, member_id: str, now: Time, out: Outbox) -> None:
    timeout_ms = own_setting(core, group.id, SHARE_SESSION_TIMEOUT)
    out.set_timer(session_timer(group.id, member_id), now + timeout_ms)
