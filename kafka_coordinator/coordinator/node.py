"""The coordinator as a node: one per broker, for all groups whose partition of ``__consumer_offsets`` it leads.

In Kafka `GroupCoordinatorService` and `GroupCoordinatorShard`; before 4.0 `GroupCoordinator`. The rules of a group
are in `group` and in `consumer_groups`, which know neither broker nor clock; this file decides which group a request
is for, whether this broker may answer, when a timer of a group fires, and what is written to the log before the
answer goes out. What another broker loads after a fail-over is that log, not this object.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_coordinator import messages
from kafka_coordinator.coordinator import transactional_offsets
from kafka_coordinator.coordinator.batches import in_one_batch, may_be_too_large
from kafka_coordinator.coordinator.commands import (
    GroupSettings,
    MarkerWritten,
    OffsetsDecided,
    OffsetsLeaders,
    OffsetsWaiting,
    RebalanceGroup,
    Topics,
)
from kafka_coordinator.coordinator.consumer_groups import administration as consumer_offsets
from kafka_coordinator.coordinator.consumer_groups import classic_members, sessions, states
from kafka_coordinator.coordinator.consumer_groups.administration import delete as delete_consumer_group
from kafka_coordinator.coordinator.consumer_groups.administration import describe_consumer_group
from kafka_coordinator.coordinator.consumer_groups.conversion import replace_empty
from kafka_coordinator.coordinator.consumer_groups.fencing import timed_out
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.heartbeat import consumer_heartbeat
from kafka_coordinator.coordinator.consumer_groups.patterns import resolve_patterns
from kafka_coordinator.coordinator.consumer_groups.sessions import mark_stale
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.describe import delete, describe, expire, list_groups
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.join import join
from kafka_coordinator.coordinator.leadership import lead, loaded, take_over
from kafka_coordinator.coordinator.log import OffsetsTopic
from kafka_coordinator.coordinator.offsets import (
    COMMITS,
    commit,
    commits_timed_out,
    complete,
    delete_offsets,
    delete_unsubscribed,
    fetch,
    forget_topics,
    replicate,
)
from kafka_coordinator.coordinator.rebalance import join_timed_out
from kafka_coordinator.coordinator.refusals import REFUSE, join_refused
from kafka_coordinator.coordinator.sessions import enforce, heartbeat, leave, session_timed_out
from kafka_coordinator.coordinator.settings import BrokerSettings
from kafka_coordinator.coordinator.share_groups import administration as share_groups
from kafka_coordinator.coordinator.share_groups import initializing as share_states
from kafka_coordinator.coordinator.share_groups import messages as share_messages
from kafka_coordinator.coordinator.share_groups import states as share_groups_states
from kafka_coordinator.coordinator.share_groups.heartbeat import fence as fence_share_member
from kafka_coordinator.coordinator.share_groups.heartbeat import share_heartbeat
from kafka_coordinator.coordinator.sync import sync, sync_timed_out
from kafka_coordinator.errors import (
    COORDINATOR_NOT_AVAILABLE,
    GROUP_ID_NOT_FOUND,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_GROUP_ID,
    NONE,
)
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.node_state import NodeState

Handler = Callable[[Core, Time, str, Any, Outbox], None]

_OF_A_GROUP: Mapping[type[Message], Handler] = {
    messages.Heartbeat: heartbeat,
    messages.JoinGroup: join,
    messages.SyncGroup: sync,
    messages.LeaveGroup: leave,
    messages.OffsetCommit: commit,
    messages.TxnOffsetCommit: transactional_offsets.commit,
    messages.OffsetFetch: fetch,
    messages.OffsetDelete: delete_offsets,
    messages.DescribeGroup: describe,
    messages.DeleteGroup: delete,
    messages.ConsumerGroupHeartbeat: consumer_heartbeat,
    messages.ConsumerGroupDescribe: describe_consumer_group,
    share_messages.ShareGroupHeartbeat: share_heartbeat,
    share_messages.ShareGroupDescribe: share_groups.describe_share_group,
    share_messages.AlterShareGroupOffsets: share_groups.alter_offsets,
    share_messages.DeleteShareGroupOffsets: share_groups.delete_offsets,
}
"""Requests that only the group's coordinator answers."""

_OF_A_CONSUMER_GROUP: Mapping[type[Message], Callable[[Core, ConsumerGroup, Time, str, Any, Outbox], None]] = {
    messages.Heartbeat: classic_members.heartbeat,
    messages.JoinGroup: classic_members.join,
    messages.SyncGroup: classic_members.sync,
    messages.LeaveGroup: classic_members.leave,
    messages.OffsetCommit: consumer_offsets.commit,
    messages.TxnOffsetCommit: consumer_offsets.commit_in_transaction,
    messages.OffsetFetch: consumer_offsets.fetch,
    messages.OffsetDelete: lambda core, group, now, sender, request, out: delete_unsubscribed(
        core, group, sender, request, out
    ),
    messages.DeleteGroup: delete_consumer_group,
}
"""The same requests about a group of the consumer protocol; those that are not here do not mind what kind it is."""

_OF_A_SHARE_GROUP: Mapping[type[Message], Callable[[Core, Time, str, Any, Outbox], None]] = {
    messages.JoinGroup: lambda core, now, sender, request, out: out.send(
        sender, join_refused(request.correlation, INCONSISTENT_GROUP_PROTOCOL, request.member_id)
    ),
    messages.OffsetCommit: lambda core, now, sender, request, out: out.send(
        sender, REFUSE[type(request)](request, GROUP_ID_NOT_FOUND)
    ),
    messages.TxnOffsetCommit: lambda core, now, sender, request, out: out.send(
        sender, REFUSE[type(request)](request, GROUP_ID_NOT_FOUND)
    ),
    messages.DeleteGroup: lambda core, now, sender, request, out: share_groups.delete(
        core, core.share_groups[request.group], now, sender, request, out
    ),
}
"""Requests that a share group refuses, or answers in its own way; to others of other kinds of group there is none."""

_READS = frozenset((messages.OffsetFetch, messages.DescribeGroup, messages.ConsumerGroupDescribe))
"""Requests that see what has been written, not what is to be."""


def _find(core: Core, now: Time, sender: str, request: messages.FindCoordinator, out: Outbox) -> None:
    leader = core.leaders[core.partition_of(request.group)]
    out.send(
        sender, messages.CoordinatorFound(request.correlation, NONE if leader else COORDINATOR_NOT_AVAILABLE, leader)
    )


def _set_topics(core: Core, now: Time, sender: str, command: Topics, out: Outbox) -> None:
    before = core.topics or {}
    changed = _learn_topics(core, command)
    mark_stale(core, changed)
    gone = dict.fromkeys([topic for topic in before if topic not in command.partitions])
    forget_topics(core, gone)
    share_states.forget_topics(core, gone, now)


def _learn_topics(core: Core, command: Topics) -> list[str]:
    """Take the topics over; returns those that are new, changed or gone."""
    before = core.partition_counts, core.racks, core.topic_ids
    core.set_topics(command.partitions, command.racks, command.ids)
    core.set_queues(command.queues)
    core.image += 1
    if command.partitions.keys() - before[0].keys():
        core.image_of_new_topics = core.image
    changed: set[str] = set()
    for old, new in zip(before, (command.partitions, core.racks, core.topic_ids), strict=True):
        if old is not new:
            changed.update([topic for topic, _ in old.items() ^ new.items()])
    return [topic for topic in {**before[0], **command.partitions} if topic in changed] if changed else []


def _set_group_settings(core: Core, now: Time, sender: str, command: GroupSettings, out: Outbox) -> None:
    core.group_settings = command.of_group


_OF_ANY_BROKER: Mapping[type[Message], Handler] = {
    messages.FindCoordinator: _find,
    messages.ListGroups: list_groups,
    OffsetsLeaders: lambda core, now, sender, command, out: lead(core, command.leaders, now, out),
    OffsetsWaiting: lambda core, now, sender, command, out: replicate(core, command.partitions, now, out),
    Topics: _set_topics,
    GroupSettings: _set_group_settings,
    OffsetsDecided: complete,
    MarkerWritten: transactional_offsets.complete,
    RebalanceGroup: enforce,
    share_messages.ShareStatesAnswer: share_groups.persister_answered,
}
"""Requests and commands that every broker handles."""


def _session(core: Core, now: Time, timer: TimerName, out: Outbox) -> None:
    if timer[1] in core.consumer_groups:
        timed_out(core, timer[1], timer[2], states.SESSION_EXPIRED, now, out)
        return
    if timer[1] in core.share_groups:
        fence_share_member(core, core.share_groups[timer[1]], timer[2], share_groups_states.SESSION_EXPIRED, out)
        return
    session_timed_out(core, core.groups[timer[1]], timer[2], now, out)


def _of_group(handle: Callable[[Core, Group, Time, Outbox], None]) -> Callable[[Core, Time, TimerName, Outbox], None]:
    def of_classic(core: Core, now: Time, timer: TimerName, out: Outbox) -> None:
        if timer[1] in core.groups:  # else it has become one of the consumer protocol
            handle(core, core.groups[timer[1]], now, out)

    return of_classic


def _of_member(event: str) -> Callable[[Core, Time, TimerName, Outbox], None]:
    return lambda core, now, timer, out: timed_out(core, timer[1], timer[2], event, now, out)


TIMERS: Mapping[str, Callable[[Core, Time, TimerName, Outbox], None]] = {
    "session": _session,
    "join": _of_group(join_timed_out),
    "sync": _of_group(sync_timed_out),
    sessions.REVOCATION: _of_member(states.REVOCATION_EXPIRED),
    sessions.REJOIN: _of_member(states.REJOIN_EXPIRED),
    sessions.CLASSIC_SYNC: _of_member(states.SYNC_EXPIRED),
    sessions.RESOLVE: lambda core, now, timer, out: resolve_patterns(core, core.consumer_groups[timer[1]], now, out),
    "expiry": lambda core, now, timer, out: expire(core, timer[1], now, out),
    "load": lambda core, now, timer, out: loaded(core, timer[1], now, out),
    COMMITS[0]: lambda core, now, timer, out: commits_timed_out(core, now, out),
}
"""First part of a timer's name to what happens when it is due. The purgatory of parked requests is these timers."""


@dataclass(slots=True, init=False, eq=False)
class Coordinator(NodeState):
    """Group coordinator of one broker.

    ``name`` is the broker's node name. ``storage`` is the cluster's ``__consumer_offsets``, shared by all brokers and
    older and younger than any of them. ``leaders``: partition of it to the node name of its leader; None: this broker
    leads them all. The commands `OffsetsLeaders` and `Topics` bring changes.
    """

    core: Core

    def __init__(
        self,
        name: str,
        settings: BrokerSettings = BrokerSettings(),  # noqa: B008 - frozen
        storage: OffsetsTopic | None = None,
        leaders: tuple[str, ...] | None = None,
    ) -> None:
        if storage is None:
            storage = offsets_topic(settings)
        self.core = Core(name, settings, storage, (name,) * len(storage.partitions) if leaders is None else leaders)

    def start(self, now: Time, out: Outbox) -> None:
        for partition, leader in enumerate(self.core.leaders):
            if leader == self.core.name:
                take_over(self.core, partition, now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        """A request about a group, or a command."""
        core = self.core
        if may_be_too_large(core, message):
            in_one_batch(core, sender, message, out, lambda held: self._handle(now, sender, message, held))
        else:
            self._handle(now, sender, message, out)

    def _handle(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        core = self.core
        kind = type(message)
        handle = _OF_A_GROUP.get(kind)
        if handle is None:
            _OF_ANY_BROKER[kind](core, now, sender, message, out)
            return
        group_id = message.group  # type: ignore[attr-defined]
        group = core.readable(group_id) if kind in _READS else core.consumer_groups.get(group_id)
        if group is not None:
            if isinstance(message, messages.JoinGroup) and not group.members:
                replace_empty(core, group, now, message, out)
            elif kind in _OF_A_CONSUMER_GROUP:
                _OF_A_CONSUMER_GROUP[kind](core, group, now, sender, message, out)
                return
        elif group_id in core.share_groups and kind in _OF_A_SHARE_GROUP:
            handle = _OF_A_SHARE_GROUP[kind]
        elif not core.is_group(group_id):
            error = INVALID_GROUP_ID if group_id is None else core.refusal(group_id)
            if error != NONE:
                out.send(sender, REFUSE[kind](message, error))
                return
        handle(core, now, sender, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """A session, a join or sync phase, a run of the expiry, or the reading of a log has come to its end."""
        TIMERS[timer[0]](self.core, now, timer, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing changes before the peer sends a request."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """Requests that came over this connection stay parked, but are not answered any more."""
        self.core.closes[peer] = self.core.closes.get(peer, 0) + 1


def offsets_topic(settings: BrokerSettings) -> OffsetsTopic:
    return OffsetsTopic(
        settings.offsets_topic_num_partitions,
        settings.log_cleaner_min_cleanable_ratio,
        settings.log_cleaner_least_records,
    )
