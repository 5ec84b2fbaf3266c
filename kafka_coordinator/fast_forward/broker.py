"""When a broker is quiescent: every group stable or empty, members alive and committing what is stored already.

Who sends what for which member follows from the member's host, which in the simulation is ``/`` and the node's name.
A commit that repeats the stored offset tells the observer nothing; so it can be passed over.
"""

from collections.abc import Hashable
from math import inf
from typing import Any, NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from kafka_coordinator.coordinator.consumer_groups.reconciliation import reconcile
from kafka_coordinator.coordinator.consumer_groups.sessions import heartbeat_interval_ms, restart_session
from kafka_coordinator.coordinator.consumer_groups.states import M_STABLE
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.members import Member, session_timer
from kafka_coordinator.coordinator.storing import store_offset
from kafka_coordinator.messages import ConsumerGroupHeartbeat, Heartbeat, OffsetCommit
from protocols.engine.fast_forward.adapters import NO_JUDGEMENTS
from protocols.engine.fast_forward.contract import Guard, Quiescence
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.java import sorted_pairs


class Sender(NamedTuple):
    """The member for which a node speaks."""

    group: Group
    member: Member


class ConsumerSender(NamedTuple):
    """The member of the consumer protocol for which a node speaks."""

    group: ConsumerGroup
    member: ConsumerMember


class BrokerAdapter:
    """Kafka's broker from outside."""

    judges = NO_JUDGEMENTS
    reader = source = None

    def __init__(self, broker: Broker) -> None:
        self._core = broker.coordinator.core
        self._senders: Senders = {}
        """As of the last question whether it is quiescent."""

    def quiescence(self, now: Time) -> Quiescence | None:
        found = _senders(self._core)
        self._senders = found or {}
        return None if found is None else _quiescence(self._core, found)

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: Outbox) -> None:
        found = self._senders[sender]
        if isinstance(found, Sender):
            out.set_timer(found.member.timer, now + found.member.session_timeout_ms)
        elif kind in (ConsumerGroupHeartbeat, Heartbeat):
            restart_session(self._core, found.group, found.member, now, out)
        if kind is OffsetCommit:
            for partition in _assigned(found):
                again = found.group.offsets[partition]._replace(committed_at=now)
                store_offset(self._core, found.group, partition, again)

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        """A broker begins no exchange."""


Senders: TypeAlias = dict[str, Sender | ConsumerSender]


def _senders(core: Core) -> Senders | None:
    """Node name to its member; None while something is going on in a group, or where two members have one node."""
    found: Senders = {}
    if core.loading:
        return None
    for group in core.groups.values():
        if group.state not in (states.STABLE, states.EMPTY) or group.pending_join or group.pending_sync:
            return None
        for member in group.members.values():
            name = member.host.removeprefix("/")
            if name in found:
                return None
            found[name] = Sender(group, member)
    for consumer_group in core.consumer_groups.values():
        if not _is_settled(consumer_group) or _is_to_resolve(core, consumer_group):
            return None
        for each in consumer_group.members.values():
            name = each.profile.host.removeprefix("/")
            if name in found:
                return None
            found[name] = ConsumerSender(consumer_group, each)
    return found


def _is_settled(group: ConsumerGroup) -> bool:
    """Whether no member's heartbeat would change anything in a group of the consumer protocol, but for patterns that it
    may resolve (`_is_to_resolve`)."""
    if group.members and (group.epoch != group.target_epoch or group.stale):
        return False
    for member in group.members.values():
        before, target = member.standing, frozenset(group.target.get(member.id, ()))
        if reconcile(before, group.target_epoch, target, None, group.is_free) != before:
            return False
        if member.profile.classic is not None and (before.state != M_STABLE or before.epoch != group.epoch):
            return False  # it will be told to join again
    return True


def _is_to_resolve(core: Core, group: ConsumerGroup) -> bool:
    """Whether a heartbeat resolves the group's patterns, as soon as it may, or they are being resolved."""
    if not group.patterns:
        return False
    last = next(iter(group.resolved.values()), None)
    unresolved = last is None or len(group.patterns) != len(group.resolved)
    return bool(group.refreshing) or unresolved or (last is not None and last.image < core.image_of_new_topics)


def _resolves_at(core: Core) -> Time:
    """From when on a heartbeat resolves the patterns of a group anew, because that was long ago."""
    last = (next(iter(group.resolved.values())).at for group in core.consumer_groups.values() if group.patterns)
    return min(last, default=inf) + core.settings.group_consumer_regex_refresh_interval_ms


def _quiescence(core: Core, found: Senders) -> Quiescence:
    """How the coordinator of these members is quiescent."""
    harmless: dict[tuple[str, type[Message]], Any] = {}
    guarded: dict[TimerName, Guard] = {}
    for name, sender in found.items():
        if isinstance(sender, Sender):
            group, member = sender
            who = (group.id, member.id, group.generation)
            harmless[name, Heartbeat] = who
            guarded[member.timer] = Guard(name, Heartbeat)
        else:
            of, each = sender
            who = (of.id, each.id, each.standing.epoch)
            kind: type[Message] = Heartbeat
            if each.profile.classic is not None:
                harmless[name, Heartbeat] = who
            else:
                kind = ConsumerGroupHeartbeat
                # A member that heartbeats at another interval is told the group's with the next answer.
                harmless[name, kind] = (*who, _assigned(sender), heartbeat_interval_ms(core, of))
            guarded[session_timer(of.id, each.id)] = Guard(name, kind)
        stored = _stored(sender)
        if stored is not None:
            harmless[name, OffsetCommit] = (*who, stored)
    return Quiescence((), harmless, guarded, until=_resolves_at(core))


def _assigned(sender: Sender | ConsumerSender) -> tuple[Partition, ...]:
    """What the member has, sorted."""
    if isinstance(sender, Sender):
        return tuple(sorted(sender.member.assignment))
    return tuple(sorted_pairs(sender.member.standing.assigned))


def _stored(sender: Sender | ConsumerSender) -> tuple[tuple[Partition, int], ...] | None:
    """The committed offsets of a member's partitions; None where one has none, or one with a text."""
    offsets = sender.group.offsets
    found = []
    for partition in sorted(_assigned(sender)):
        stored = offsets.get(partition)
        if stored is None or stored.metadata:
            return None
        found.append((partition, stored.offset))
    return tuple(found)
