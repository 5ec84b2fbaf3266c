"""When a broker is quiescent: every group stable or empty, members alive and committing what is stored already.

Who sends what for which member follows from the member's host, which in the simulation is ``/`` and the node's name.
A commit that repeats the stored offset tells the observer nothing; so it can be passed over.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.broker import Broker
from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import CommittedOffset, Group
from kafka_coordinator.coordinator.members import Member
from kafka_coordinator.coordinator.storing import store_offset
from kafka_coordinator.messages import Heartbeat, OffsetCommit
from protocols.engine.fast_forward.adapters import NO_JUDGEMENTS
from protocols.engine.fast_forward.contract import Guard, Quiescence
from protocols.engine.nodes import Message, Outbox, Time, TimerName


class Sender(NamedTuple):
    """The member for which a node speaks."""

    group: Group
    member: Member


class BrokerAdapter:
    """Kafka's broker from outside."""

    judges = NO_JUDGEMENTS
    reader = source = None

    def __init__(self, broker: Broker) -> None:
        self._core = broker.coordinator.core
        self._senders: dict[str, Sender] = {}
        """As of the last question whether it is quiescent."""

    def quiescence(self, now: Time) -> Quiescence | None:
        found = _senders(self._core)
        self._senders = found or {}
        return None if found is None else _quiescence(found)

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: Outbox) -> None:
        group, member = self._senders[sender]
        out.set_timer(member.timer, now + member.session_timeout_ms)
        if kind is OffsetCommit:
            for partition in member.assignment:
                offset, metadata, _ = group.offsets[partition]
                store_offset(self._core, group, partition, CommittedOffset(offset, metadata, now))

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        """A broker begins no exchange."""


def _senders(core: Core) -> dict[str, Sender] | None:
    """Node name to its member; None while something is going on in a group, or where two members have one node."""
    found: dict[str, Sender] = {}
    if core.loading or any(group.members for group in core.consumer_groups.values()):
        # Groups of the consumer protocol are run in full.
        return None
    for group in core.groups.values():
        if group.state not in (states.STABLE, states.EMPTY) or group.pending_join or group.pending_sync:
            return None
        for member in group.members.values():
            name = member.host.removeprefix("/")
            if name in found:
                return None
            found[name] = Sender(group, member)
    return found


def _quiescence(found: dict[str, Sender]) -> Quiescence:
    """How the coordinator of these members is quiescent."""
    harmless: dict[tuple[str, type[Message]], Any] = {}
    guarded: dict[TimerName, Guard] = {}
    for name, (group, member) in found.items():
        who = (group.id, member.id, group.generation)
        harmless[name, Heartbeat] = who
        guarded[member.timer] = Guard(name, Heartbeat)
        stored = _stored(group, member)
        if stored is not None:
            harmless[name, OffsetCommit] = (*who, stored)
    return Quiescence((), harmless, guarded)


def _stored(group: Group, member: Member) -> tuple[tuple[Partition, int], ...] | None:
    """The committed offsets of a member's partitions; None where one has none, or one with a text."""
    offsets = group.offsets
    found = []
    for partition in sorted(member.assignment):
        stored = offsets.get(partition)
        if stored is None or stored.metadata:
            return None
        found.append((partition, stored.offset))
    return tuple(found)
