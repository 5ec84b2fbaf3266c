"""A member of a group of the consumer protocol as its coordinator knows it (spec 6.2), and the rule by which it moves
towards its target assignment: a pure function of what is known (spec 6.4, 11.3).

In Kafka `ConsumerGroupMember` and `CurrentAssignmentBuilder`.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.states import M_STABLE, UNRELEASED, UNREVOKED
from kafka_coordinator.coordinator.group import Protocols
from kafka_coordinator.messages import LEAVES_FOR_A_WHILE
from kafka_coordinator.versions import DEFAULT, Version
from protocols.engine.nodes import Outbox
from protocols.facts import Epoch
from protocols.load import quickly_made
from protocols.node_state import NodeState

Partitions: TypeAlias = frozenset[Partition]

NOTHING: Partitions = frozenset()


@lru_cache(maxsize=4)
def in_order(partitions: Partitions) -> tuple[Partition, ...]:
    """The partitions, sorted: an answer and what is told of it ask for the same ones."""
    return tuple(sorted(partitions))


class Standing(NamedTuple):
    """Where a member stands: the epoch that it has reconciled to, the one before, and what it may own."""

    epoch: int
    previous_epoch: int
    state: str
    """One of the states of `states.MEMBER`."""
    assigned: Partitions
    pending: Partitions = NOTHING
    """Partitions that it must give up and has not yet."""
    since: tuple[tuple[int, Partitions], ...] = ()
    """Assignment epochs, each with the partitions that it has had since then; empty where the version keeps none."""

    @property
    def held(self) -> Partitions:
        """All that it has, and that nobody else may have."""
        return self.assigned | self.pending if self.pending else self.assigned

    def since_epoch(self, partition: Partition) -> int | None:
        """The epoch since which it has the partition; None: it does not have it."""
        return next((epoch for epoch, partitions in self.since if partition in partitions), None)


JOINING = Standing(0, 0, M_STABLE, NOTHING)
"""A member before its first reconciliation."""


class Goal(NamedTuple):
    """What a member moves towards, and what is known when its heartbeat comes."""

    epoch: int
    """For which the target was computed."""
    target: Partitions
    owned: Collection[Partition] | None
    """The partitions that the heartbeat says the member owns; None: it does not say."""
    free: Callable[[Partitions], Partitions]
    """Those of the partitions that no member has assigned or pending revocation."""
    version: Version = DEFAULT
    topics: Collection[str] = ()
    """To which the member subscribes, and that there are."""
    names_topics: bool = True
    """Whether it subscribes to any, there or not."""
    cut: bool = False
    """Whether the heartbeat has changed the subscription, and the version cuts what the member has to it."""

    def must_revoke(self, pending: Partitions) -> bool:
        """Whether the member has not yet given up what it must."""
        return bool(pending) and (self.owned is None or not pending.isdisjoint(self.owned))


def reconcile(member: Standing, goal: Goal) -> Standing:
    """Where the member stands after its heartbeat; the same object where nothing changes."""
    if member.state == M_STABLE:
        if member.epoch != goal.epoch:
            return _next(member, member.epoch, goal)
        return _cut(member, goal) if goal.cut else member
    if member.state == UNRELEASED:
        return _next(member, member.epoch, goal)
    if goal.owned is None or not member.pending.isdisjoint(goal.owned):
        return _cut(member, goal) if goal.cut else member
    return _next(member, member.epoch if goal.version.revoked_at_old_epoch else member.epoch + 1, goal)


def _cut(member: Standing, goal: Goal) -> Standing:
    """The member without partitions of topics to which it does not subscribe any more, at the same epoch. One that
    names no topic, and whose pattern has found none, counts as changed whatever it had."""
    keep = frozenset([partition for partition in member.assigned if partition[0] in goal.topics])
    if len(keep) == len(member.assigned) and (goal.names_topics or member.pending):
        return member
    pending = member.pending | (member.assigned - keep)
    if goal.must_revoke(pending):
        return Standing(member.epoch, member.epoch, UNREVOKED, keep, pending, member.since)
    since = _kept(member.since, keep | member.pending)
    return member._replace(previous_epoch=member.epoch, assigned=keep, since=since)


def _next(member: Standing, epoch: int, goal: Goal) -> Standing:
    """NEXT(epoch) of the specification."""
    version, target = goal.version, goal.target
    if version.cuts_to_subscription and not {topic for topic, _ in target}.issubset(goal.topics):
        target = frozenset([partition for partition in target if partition[0] in goal.topics])
    keep = member.assigned & target
    pending = member.assigned - keep
    if goal.must_revoke(pending):
        since = _kept(member.since, member.assigned) if member.pending else member.since
        return Standing(epoch, member.epoch, UNREVOKED, keep, pending, since)
    missing = target - keep if keep else target
    free = goal.free(missing)
    if member.pending and version.own_partitions_are_free:
        free |= missing & member.pending
    state = M_STABLE if len(free) == len(missing) else UNRELEASED
    since = member.since
    if version.partition_epochs:
        if pending or member.pending:
            since = _kept(since, keep)
        if free:
            since = (*since, (goal.epoch, free))
    return Standing(goal.epoch, member.epoch, state, keep | free if keep else free, NOTHING, since)


def _kept(since: tuple[tuple[int, Partitions], ...], partitions: Partitions) -> tuple[tuple[int, Partitions], ...]:
    return tuple([(epoch, kept) for epoch, had in since if (kept := had & partitions)])


class ClassicPart(NamedTuple):
    """What only a member has that speaks the classic protocol."""

    session_timeout_ms: int
    protocols: Protocols


class Profile(NamedTuple):
    """What a member has told about itself."""

    instance_id: str | None = None
    rack: str | None = None
    client_id: str = ""
    host: str = ""
    topics: tuple[str, ...] = ()
    """Subscribed by name; sorted, without repetitions."""
    regex: str = ""
    """Subscribed by pattern; empty: none."""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    classic: ClassicPart | None = None
    """None for a member that speaks the consumer protocol."""


@dataclass(slots=True, eq=False)
class ConsumerMember(NodeState):
    """One member: its profile and where it stands. Both are replaced whole, never changed."""

    id: str
    profile: Profile
    standing: Standing = JOINING
    must_rejoin: bool = False
    """Whether a classic member has been told to join again, and has not yet."""
    revoking_at: int | None = None
    """The epoch at which its time to give partitions up began last."""

    @property
    def called(self) -> str:
        """What a story calls it: its client id, and behind it the member id, which tells nobody who it is."""
        return f"{self.profile.client_id} ({self.id})" if self.profile.client_id else self.id

    @property
    def is_away(self) -> bool:
        """Whether it is a static member that has left for a while."""
        return self.standing.epoch == LEAVES_FOR_A_WHILE


_epoch = quickly_made(Epoch)

Epochs = tuple[int, int]
"""Group epoch and assignment epoch."""


def observe_epochs(
    group_id: str, told: Epochs, epochs: Epochs, out: Outbox, machine: str = states.GROUP.name
) -> Epochs:
    """Tell which of a group's epochs are others than those that were ``told``; returns those that are told now."""
    for name, before, value in zip((states.GROUP_EPOCH, states.ASSIGNMENT_EPOCH), told, epochs, strict=True):
        if value != before:
            out.observe(Epoch(group_id, machine, group_id, name, value))
    return epochs


def observe_member_epoch(group_id: str, member: ConsumerMember, out: Outbox) -> None:
    out.observe(_epoch((group_id, states.MEMBER.name, member.called, states.MEMBER_EPOCH, member.standing.epoch)))
