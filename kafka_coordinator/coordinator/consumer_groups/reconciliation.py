"""The rule by which a member moves towards its target assignment: a pure function of what is known (spec 6.4).

In Kafka `CurrentAssignmentBuilder`.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple, TypeAlias

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.consumer_groups.states import M_STABLE, UNRELEASED, UNREVOKED

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
