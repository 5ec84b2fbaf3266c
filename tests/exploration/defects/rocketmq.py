"""Defects in RocketMQ: the broker's consumer manager, lock manager and offset manager, and the client."""

from typing import Any

import pytest

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.broker.consumers import ConsumerEvent, ConsumerGroup, ConsumerManager
from rocketmq_selfbalance.broker.offsets import ConsumerOffsetManager
from rocketmq_selfbalance.broker.state import Lock, RebalanceLockManager
from rocketmq_selfbalance.client import process_queue_table, rebalance_service
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.removal import World
from rocketmq_selfbalance.client.threads import Call, Thread
from rocketmq_selfbalance.codes import SUCCESS
from tests.exploration.defects.record import Defect, Search
from tests.exploration.defects.scenarios import scope

_GROUP = ("orders", "orders")
CRASHED = scope(_GROUP, "crash: c1", system="rocketmq:AVG", settings="")
CRASHED_ORDERLY = scope(_GROUP, "crash: c1", system="rocketmq:AVG", settings="orderly: true")
DISCONNECTED_ORDERLY = scope(_GROUP, "disconnect: c1", system="rocketmq:AVG", settings="orderly: true")
GROWN = scope(_GROUP, "queues: {orders: 4}", system="rocketmq:AVG", settings="")
COMMITTED = scope(
    _GROUP, "crash: c1", system="rocketmq:AVG", orders=1, load="1/s", settings="notifyConsumerIdsChangedEnable: false"
)
"""The owner of the only queue has committed offsets of it."""


def _list_from_before(patch: pytest.MonkeyPatch) -> None:
    original = ConsumerManager._leave

    def leave(manager: ConsumerManager, name: str, group: Any, channel: str, client_id: str) -> list[ConsumerEvent]:
        before = group.ids
        events = original(manager, name, group, channel, client_id)
        group.ids = before
        return events

    copy = ConsumerGroup.copy

    def copied(group: ConsumerGroup) -> ConsumerGroup:
        twin = copy(group)
        twin.ids = group.ids
        return twin

    patch.setattr(ConsumerManager, "_leave", leave)
    patch.setattr(ConsumerGroup, "copy", copied)


def _lock_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RebalanceLockManager, "_expired", lambda locks, now, held: False)


def _lock_for_everybody(patch: pytest.MonkeyPatch) -> None:
    def try_lock(locks: RebalanceLockManager, now: Time, group: str, queue: Queue, client_id: str) -> bool:
        locks.table.setdefault(group, {})[queue] = Lock(client_id, now)
        return True

    patch.setattr(RebalanceLockManager, "try_lock", try_lock)


def _offset_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ConsumerOffsetManager, "answer_query", lambda offsets, group, topic, number, **asked: (SUCCESS, 0))


def _no_next_pass(patch: pytest.MonkeyPatch) -> None:
    original = rebalance_service._EndPass.do

    def end_pass(step: Any, client: Instance, now: Time, thread: Thread, out: Outbox) -> Call | None:
        call = original(step, client, now, thread, out)
        out.cancel_timer(rebalance_service.TIMER)
        return call

    patch.setattr(rebalance_service._EndPass, "do", end_pass)


def _refused_lock_ignored(patch: pytest.MonkeyPatch) -> None:
    original = process_queue_table._Locked.do

    def locked(step: Any, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        thread.value = (step.queue,)
        return original(step, world, now, thread, out)

    patch.setattr(process_queue_table._Locked, "do", locked)


BROKER = "RocketMQ broker"
CLIENT = "RocketMQ client"

DEFECTS = (
    Defect(
        "member list from before",
        "the member list is still the one from before a client left",
        f"{BROKER}: ConsumerManager.doChannelCloseEvent",
        _list_from_before,
        Search(CRASHED, "every-queue-owned", 10, client_timers=1, broker_timers=0),
    ),
    Defect(
        "lock that does not expire",
        "a lock on a queue holds until its client gives it back",
        f"{BROKER}: RebalanceLockManager.LockEntry.isExpired",
        _lock_for_ever,
        Search(CRASHED_ORDERLY, "every-queue-owned", 10, client_timers=1, broker_timers=0),
    ),
    Defect(
        "lock for everybody",
        "a lock is granted while another client holds it",
        f"{BROKER}: RebalanceLockManager.tryLockBatch",
        _lock_for_everybody,
        Search(DISCONNECTED_ORDERLY, "single-owner", 10, client_timers=1, broker_timers=0),
    ),
    Defect(
        "offset forgotten",
        "a question for a committed offset is answered with 0",
        f"{BROKER}: ConsumerOffsetManager.queryOffset",
        _offset_forgotten,
        Search(COMMITTED, "commits-never-go-back", 10, broker_timers=0),
    ),
    Defect(
        "no next pass",
        "the end of a pass does not set the time of the next one: what no notice tells is lost",
        f"{CLIENT}: RebalanceService.run",
        _no_next_pass,
        Search(GROWN, "every-queue-owned", 6, client_timers=1, broker_timers=0),
    ),
    Defect(
        "refused lock ignored",
        "an orderly client takes a queue whose lock was refused",
        f"{CLIENT}: RebalanceImpl.updateProcessQueueTableInRebalance",
        _refused_lock_ignored,
        Search(DISCONNECTED_ORDERLY, "single-owner", 10, client_timers=1, broker_timers=0),
    ),
)
