"""Defects in Kafka's consumer protocol: its coordinator, and its consumers."""

import pytest

from kafka_coordinator.consumer.kip848 import heartbeats, membership
from kafka_coordinator.consumer.state import ConsumerState, protocol_member
from kafka_coordinator.coordinator.consumer_groups import classic_members, fencing, heartbeat, states
from kafka_coordinator.coordinator.consumer_groups import member as reconciliation
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.member import Goal, Standing
from kafka_coordinator.coordinator.refusals import sync_refused
from kafka_coordinator.errors import REBALANCE_IN_PROGRESS
from kafka_coordinator.messages import JOINS, ConsumerGroupHeartbeat, ConsumerGroupHeartbeatAnswer
from tests.exploration.defects.record import Defect, Search, replace
from tests.exploration.defects.scenarios import NO_COMMITS, scope


def _granted_before_its_release(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ConsumerGroup, "free", lambda group, partitions: partitions)


def _silence_is_a_release(patch: pytest.MonkeyPatch) -> None:
    original = reconciliation.reconcile

    def reconcile(member: Standing, goal: Goal) -> Standing:
        if goal.owned is None and member.state == states.UNREVOKED:
            goal = goal._replace(owned=())
        return original(member, goal)

    replace(patch, original, reconcile)


def _sync_compares_with_at_least(patch: pytest.MonkeyPatch) -> None:
    original = classic_members.sync

    def answered(core, group, now, sender, request, out) -> None:  # type: ignore[no-untyped-def]
        member = group.members.get(request.member_id)
        late = member is not None and group.epoch >= member.standing.epoch == request.generation
        if not late or member.standing.state == states.UNREVOKED:
            original(core, group, now, sender, request, out)
            return
        classic_members._must_rejoin(group, member, now, out)
        out.send(sender, sync_refused(request.correlation, REBALANCE_IN_PROGRESS))

    replace(patch, original, answered)


def _no_epoch_for_who_leaves(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fencing, "bump", lambda core, group, by, words, out: None)


def _assignment_not_told(patch: pytest.MonkeyPatch) -> None:
    original = heartbeat._proceed

    def proceed(core, group, caller, now, sender, request, out) -> ConsumerGroupHeartbeatAnswer:  # type: ignore[no-untyped-def]
        answer = original(core, group, caller, now, sender, request, out)
        full = request.member_epoch == JOINS or heartbeat._is_full(request)
        return answer if full else answer._replace(assignment=None)

    replace(patch, original, proceed)


def _names_its_target(patch: pytest.MonkeyPatch) -> None:
    original = heartbeats._message

    def message(c: ConsumerState) -> ConsumerGroupHeartbeat:
        made = original(c)
        joins = made.member_epoch == JOINS
        return made if joins else made._replace(owned=protocol_member(c).target.partitions)

    replace(patch, original, message)


def _fenced_keeps_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(membership, "_lose_all", lambda c, now, out: None)


AT_ONCE = "group.consumer.assignment.interval.ms: 0"
"""A second target within the same second: time hardly passes while an order of events is explored."""
TWO = scope(["orders", "orders"], system="kafka:uniform")
CRASHED = scope(["orders", "orders"], "crash: c2", system="kafka:uniform")
MIXED = scope(["orders"], "join: c2, subscribe: [orders], settings: {group.protocol: classic}", system="kafka:uniform")
GROWN = scope(
    ["orders", "orders"], "queues: {orders: 3}", system="kafka:server-range", settings=f"{NO_COMMITS}, {AT_ONCE}"
)
"""The member that has the first partition gets the second one, too, and the other one the third."""
COMMITTING = scope(
    ["orders", "orders"],
    "queues: {orders: 3}",
    system="kafka:server-range",
    settings=f"enable.auto.commit: true, {AT_ONCE}",
    own={"c1": NO_COMMITS},
)
"""The same, and the other one commits before it gives the second partition up."""

COORDINATOR = "coordinator of the consumer protocol"
CLIENT = "consumer of the consumer protocol"

DEFECTS = (
    Defect(
        "granted before its release",
        "a partition that is being revoked counts as free",
        f"{COORDINATOR}: CurrentAssignmentBuilder",
        _granted_before_its_release,
        Search(GROWN, "single-owner-acknowledged", 10, broker_timers=0),
    ),
    Defect(
        "silence is a release",
        "a heartbeat that does not say what its member owns counts as the release of what is being revoked",
        f"{COORDINATOR}: CurrentAssignmentBuilder.ownsRevokedPartitions",
        _silence_is_a_release,
        Search(COMMITTING, "single-owner", 10, broker_timers=0),
    ),
    Defect(
        "epoch compared with >= for >",
        "a classic member's SyncGroup is refused where the group's epoch is the member's, not only where it is later",
        f"{COORDINATOR}: GroupMetadataManager.classicGroupSyncToConsumerGroup",
        _sync_compares_with_at_least,
        Search(MIXED, "settles", 10),
    ),
    Defect(
        "no epoch for who leaves",
        "the epoch is not raised when a member is removed",
        f"{COORDINATOR}: GroupMetadataManager.consumerGroupFenceMembers",
        _no_epoch_for_who_leaves,
        Search(CRASHED, "model-invariants", 10),
    ),
    Defect(
        "assignment not told",
        "the answer to a heartbeat leaves out an assignment that has changed",
        f"{COORDINATOR}: GroupMetadataManager.consumerGroupHeartbeat",
        _assignment_not_told,
        Search(CRASHED, "every-queue-owned", 10),
    ),
    Defect(
        "names its target",
        "a heartbeat says that the member owns its target while it still gives partitions up",
        f"{CLIENT}: HeartbeatState.buildRequestData",
        _names_its_target,
        Search(COMMITTING, "single-owner", 10, broker_timers=0),
    ),
    Defect(
        "fenced and keeps all",
        "a consumer that was fenced goes on with its partitions, and does not join again",
        f"{CLIENT}: AbstractMembershipManager.transitionToFenced",
        _fenced_keeps_all,
        Search(TWO, "settles", 10),
    ),
)
