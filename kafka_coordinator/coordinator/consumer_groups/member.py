"""A member of a group of the consumer protocol as its coordinator knows it (spec 6.2), and the rule by which it moves
towards its target assignment: a pure function of what is known (spec 6.4).

In Kafka `ConsumerGroupMember` and `CurrentAssignmentBuilder`.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.states import M_STABLE, UNRELEASED, UNREVOKED
from kafka_coordinator.coordinator.group import Protocols
from kafka_coordinator.messages import LEAVES_FOR_A_WHILE
from protocols.engine.nodes import Outbox
from protocols.facts import Epoch
from protocols.load import quickly_made
from protocols.node_state import NodeState

Partitions: TypeAlias = frozenset[Partition]

NOTHING: Partitions = frozenset()


class Standing(NamedTuple):
    """Where a member stands: the epoch that it has reconciled to, the one before, and what it may own."""

    epoch: int
    previous_epoch: int
    state: str
    """One of the states of `states.MEMBER`."""
    assigned: Partitions
    pending: Partitions = NOTHING
    """Partitions that it must give up and has not yet."""


JOINING = Standing(0, 0, M_STABLE, NOTHING)
"""A member before its first reconciliation."""


def reconcile(
    member: Standing,
    target_epoch: int,
    target: Partitions,
    owned: Collection[Partition] | None,
    is_free: Callable[[Partition], bool],
) -> Standing:
    """Where the member stands after its heartbeat; the same object where nothing changes.

    ``owned``: the partitions that the heartbeat says the member owns, None where it does not say. ``is_free``: whether
    no member has the partition assigned or pending revocation.
    """
    if member.state == M_STABLE:
        return (
            member
            if member.epoch == target_epoch
            else _next(member, member.epoch, target_epoch, target, owned, is_free)
        )
    if member.state == UNRELEASED:
        return _next(member, member.epoch, target_epoch, target, owned, is_free)
    if owned is None or not member.pending.isdisjoint(owned):
        return member
    return _next(member, member.epoch + 1, target_epoch, target, owned, is_free)


def _next(
    member: Standing,
    epoch: int,
    target_epoch: int,
    target: Partitions,
    owned: Collection[Partition] | None,
    is_free: Callable[[Partition], bool],
) -> Standing:
    """NEXT(epoch) of the specification."""
    keep = member.assigned & target
    pending = member.assigned - keep
    if pending and (owned is None or not pending.isdisjoint(owned)):
        return Standing(epoch, member.epoch, UNREVOKED, keep, pending)
    missing = target - keep
    free = frozenset(filter(is_free, missing))
    state = M_STABLE if len(free) == len(missing) else UNRELEASED
    return Standing(target_epoch, member.epoch, state, keep | free)


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


def observe_epochs(group_id: str, told: Epochs, epochs: Epochs, out: Outbox) -> Epochs:
    """Tell which of a group's epochs are others than those that were ``told``; returns those that are told now."""
    for name, before, value in zip((states.GROUP_EPOCH, states.ASSIGNMENT_EPOCH), told, epochs, strict=True):
        if value != before:
            out.observe(Epoch(group_id, states.GROUP.name, group_id, name, value))
    return epochs


def observe_member_epoch(group_id: str, member: ConsumerMember, out: Outbox) -> None:
    out.observe(_epoch((group_id, states.MEMBER.name, member.called, states.MEMBER_EPOCH, member.standing.epoch)))
