"""Defects in Kafka's classic protocol: its coordinator, and its consumers."""

import pytest

from kafka_coordinator.consumer import heartbeats, joining
from kafka_coordinator.consumer.state import ConsumerState
from kafka_coordinator.coordinator import leadership, rebalance, sessions, states, sync
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.messages import SyncGroup
from protocols.engine.nodes import Outbox, Time
from protocols.state_machine import ALWAYS
from tests.exploration.defects.record import Defect, Search, replace
from tests.exploration.defects.scenarios import scope

TWO = scope(["orders", "orders"], system="kafka:range")
THREE = scope(["orders", "orders", "orders"], system="kafka:range", orders=3, seed=3)
CRASHED = scope(["orders", "orders"], "crash: c2", system="kafka:range")
DISCONNECTED = scope(["orders", "orders"], "disconnect: c1", system="kafka:range")
SUBSCRIBED = scope(["orders, payments", "orders"], "subscribe: {c1: [payments]}", system="kafka:range")
"""A member leaves a topic to the other."""
WIDENED = scope(["orders", "orders"], "subscribe: {c1: [orders, payments]}", system="kafka:range")
MOVED = scope(
    ["orders, payments", "orders"], "subscribe: {c1: [orders]}", system="kafka:cooperative-sticky", payments=2
)
"""The same, and the other one has to give up a partition for it."""
TAKEN_OVER = scope(
    ["orders", "orders"],
    "crash: c2",
    "broker: broker-b, does: kill",
    system="kafka:range",
    brokers="broker-a, broker-b",
)
"""The group's coordinator is killed after a member has crashed, and the other broker takes over."""


def _generation_stays(patch: pytest.MonkeyPatch) -> None:
    original = rebalance.complete

    def complete(core: Core, group: Group, now: Time, out: Outbox) -> None:
        group.generation -= group.generation > 0
        original(core, group, now, out)

    replace(patch, original, complete)


def _sync_from_before(patch: pytest.MonkeyPatch) -> None:
    original = sync.sync

    def answered(core: Core, now: Time, sender: str, request: SyncGroup, out: Outbox) -> None:
        group = core.groups.get(request.group)
        member = None if group is None else group.members.get(request.member_id)
        if (
            group is None
            or member is None
            or request.generation != group.generation
            or group.state != states.COMPLETING_REBALANCE
            or group.leader == member.id
            or not member.assignment
        ):
            original(core, now, sender, request, out)
            return
        group.transition(states.MEMBER_SYNCED, ALWAYS, now, out)
        sync._has_synced(group, member, out)
        out.send(sender, sync._synced(group, member, request.correlation))

    replace(patch, original, answered)


def _join_phase_does_not_wait(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Group, "all_joined", property(lambda group: group.parked_joins > 0))


def _expiry_starts_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sessions, "prepare", lambda core, group, cause, now, out: None)


def _no_sessions_after_loading(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(leadership, "restart_session", lambda member, now, out: None)


def _keeps_what_it_has(patch: pytest.MonkeyPatch) -> None:
    def join(c: ConsumerState, now: Time, out: Outbox) -> None:
        c.subscription.paused = False
        joining._join_without(c, now, (), out)

    replace(patch, joining._give_up_before_join, join)


def _deaf_to_its_removal(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(heartbeats.REACTIONS, "UNKNOWN_MEMBER_ID", "alive")  # type: ignore[arg-type]


def _waits_for_a_lost_answer(patch: pytest.MonkeyPatch) -> None:
    original = heartbeats.failed

    def failed(c: ConsumerState, now: Time, out: Outbox) -> None:
        original(c, now, out)
        c.heartbeats.awaits_answer = True

    replace(patch, original, failed)


def _no_second_round(patch: pytest.MonkeyPatch) -> None:
    original = ConsumerState.request_rejoin

    def request_rejoin(c: ConsumerState, reason: str) -> None:
        if reason != "need to revoke partitions and re-join":
            original(c, reason)

    patch.setattr(ConsumerState, "request_rejoin", request_rejoin)


COORDINATOR = "classic coordinator"
CLIENT = "classic consumer"

DEFECTS = (
    Defect(
        "generation not raised",
        "the join phase ends without a new generation",
        f"{COORDINATOR}: ClassicGroup.initNextGeneration",
        _generation_stays,
        Search(TWO, "single-owner-per-generation", 10),
    ),
    Defect(
        "sync answered from the old generation",
        "a follower's SyncGroup is answered with what it had before, instead of waiting for the leader's",
        f"{COORDINATOR}: GroupMetadataManager.classicGroupSync",
        _sync_from_before,
        Search(THREE, "single-owner-per-generation", 16, client_timers=1),
    ),
    Defect(
        "join phase does not wait",
        "the join phase ends with the first member that has joined",
        f"{COORDINATOR}: ClassicGroup.hasAllMembersJoined",
        _join_phase_does_not_wait,
        Search(WIDENED, "single-owner", 10, broker_timers=0),
    ),
    Defect(
        "expiry without rebalance",
        "a member whose session expires is removed, and the others are not asked to join",
        f"{COORDINATOR}: GroupMetadataManager.expireClassicGroupMemberHeartbeat",
        _expiry_starts_nothing,
        Search(CRASHED, "every-queue-owned", 10),
    ),
    Defect(
        "no sessions after a take-over",
        "who takes a group over gives its members no sessions: one that has crashed stays a member",
        f"{COORDINATOR}: GroupMetadataManager.onLoaded",
        _no_sessions_after_loading,
        Search(TAKEN_OVER, "every-queue-owned", 10),
    ),
    Defect(
        "joins with its partitions",
        "an eager consumer joins without having given up what it owns",
        f"{CLIENT}: ConsumerCoordinator.onJoinPrepare",
        _keeps_what_it_has,
        Search(SUBSCRIBED, "single-owner", 10, broker_timers=0),
    ),
    Defect(
        "deaf to its removal",
        "a consumer takes UNKNOWN_MEMBER_ID for a sign of life",
        f"{CLIENT}: HeartbeatResponseHandler.handle",
        _deaf_to_its_removal,
        Search(TWO, "settles", 10),
    ),
    Defect(
        "waits for a lost answer",
        "after a heartbeat that was lost with its connection a consumer never sends another",
        f"{CLIENT}: Heartbeat.failHeartbeat",
        _waits_for_a_lost_answer,
        Search(DISCONNECTED, "settles", 10),
    ),
    Defect(
        "no second round",
        "a cooperative consumer that has given up partitions does not join again",
        f"{CLIENT}: ConsumerCoordinator.onJoinComplete",
        _no_second_round,
        Search(MOVED, "every-queue-owned", 10),
    ),
)
