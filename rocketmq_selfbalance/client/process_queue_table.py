"""From what a consumer computed for a topic to what it holds: ``updateProcessQueueTableInRebalance`` of RocketMQ's
``RebalanceImpl``, and ``messageQueueChanged``, which follows (spec 5.1, 5.2, 5.4). Each step pushes those below it."""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance import states
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.process_queue import PopProcessQueue, ProcessQueue
from rocketmq_selfbalance.client.pull_from_where import ComputePullFromWhere, Start
from rocketmq_selfbalance.client.removal import RemoveOffset, RemoveUnnecessaryMessageQueue, World
from rocketmq_selfbalance.client.threads import Call, HeartbeatToAll, LockQueues, Step, Thread


class MessageQueueChanged(NamedTuple):
    """The consumer's queues of the topic are ``own`` now, of all that its route has (None where a broker computed)."""

    group: str
    topic: str
    all_queues: tuple[Queue, ...] | None
    own: tuple[Queue, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        consumer = world.consumer(self.group)
        thread.push(_CallListener(*self))
        if consumer.kind != PUSH:
            return None
        if self.topic in consumer.subscriptions:
            consumer.subscribe(self.topic, now)
        share_thresholds(consumer)
        # Synchronously, within the pass: brokers must not filter with an older subscription.
        return HeartbeatToAll()


class _CallListener(NamedTuple):
    group: str
    topic: str
    all_queues: tuple[Queue, ...] | None
    own: tuple[Queue, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        world.listener(now, world.consumer(self.group), self.topic, self.all_queues, self.own, out)


def share_thresholds(consumer: Consumer) -> None:
    """Divide the limits per topic by the number of queues in the table, whatever topics they are of."""
    count, settings = len(consumer.table), consumer.settings
    if not count:
        return
    if settings.pulling.pull_threshold_for_topic != -1:
        consumer.pull_threshold_for_queue = max(1, settings.pulling.pull_threshold_for_topic // count)
    if settings.pulling.pull_threshold_size_for_topic != -1:
        consumer.pull_threshold_size_for_queue = max(1, settings.pulling.pull_threshold_size_for_topic // count)


class UpdateProcessQueueTable(NamedTuple):
    """Make the consumer pull exactly ``target`` of the topic, whose route has ``all_queues``, and pop exactly
    ``popped``. All are sorted."""

    group: str
    topic: str
    all_queues: tuple[Queue, ...] | None
    target: tuple[Queue, ...]
    popped: tuple[Queue, ...] = ()

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        world.computed(consumer, self.topic, self.target, out)
        of_pass, table = consumer.rebalancing, consumer.table
        of_pass.changed, of_pass.refused = _update_pop_table(world, now, consumer, self, out), False
        dropped = _drop(world, now, consumer, self, out)
        if not dropped and not of_pass.changed and all(queue in table for queue in self.target):
            # Nothing is added or removed; a leftover that is still in the table is not held.
            if any(table[queue].dropped for queue in self.target):
                of_pass.balanced = False
            return
        thread.push(_AddFrom(self.group, self.target, 0), _DispatchPullRequest(*self))
        # All are marked first, then removed one by one.
        for queue in reversed(dropped):
            thread.push(RemoveUnnecessaryMessageQueue(self.group, queue), _Removed(self.group, queue))


def _update_pop_table(world: World, now: Time, consumer: Consumer, step: UpdateProcessQueueTable, out: Outbox) -> bool:
    """Give up what is not to be popped any more, of which nobody is told, and pop what is new; whether that changed
    anything."""
    table, idle_since = consumer.pop_table, now - consumer.settings.rebalance.pull_max_idle_time_ms
    left = [
        queue
        for queue, popped in table.items()
        if queue.topic == step.topic and (queue not in step.popped or popped.last_pop < idle_since)
    ]
    for queue in left:
        world.drop_popped(consumer, queue, table.pop(queue), out)
    new = [queue for queue in step.popped if queue not in table]
    for queue in new:
        consumer.numbers += 1
        table[queue] = PopProcessQueue(now, consumer.numbers)
        world.pop(now, consumer, queue, consumer.settings.rebalance.first_pull_delay_ms, out)
    return bool(left or new)


def _drop(world: World, now: Time, consumer: Consumer, step: UpdateProcessQueueTable, out: Outbox) -> list[Queue]:
    if not consumer.table:
        return []
    kept = set(step.target)
    idle_since = now - consumer.settings.rebalance.pull_max_idle_time_ms
    found = []
    for queue, process_queue in consumer.table.items():
        if queue.topic != step.topic:
            continue
        if queue not in kept:
            world.drop(consumer, queue, process_queue, "not in the target", out)
        elif consumer.kind == PUSH and process_queue.last_pull < idle_since:
            world.drop(consumer, queue, process_queue, "no pull for too long", out)
        else:
            continue
        found.append(queue)
    return sorted(found)


class _Removed(NamedTuple):
    """``removeUnnecessaryMessageQueue`` has left whether the queue can leave the table."""

    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        if thread.value:
            consumer = world.consumer(self.group)
            if consumer.table.pop(self.queue, None) is not None:
                world.life(consumer, self.queue, states.REMOVED, out)
            consumer.rebalancing.changed = True


class _AddFrom(NamedTuple):
    """Add those of ``target`` from this position on that are not in the table: ordered consumers lock each one first,
    forget the old offset (``removeDirtyOffset``), and find out where to start."""

    group: str
    target: tuple[Queue, ...]
    position: int

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        consumer = world.consumer(self.group)
        group, target, position = self
        while position < len(target):
            queue = target[position]
            position += 1
            # A dropped leftover counts as present.
            if queue in consumer.table or queue in consumer.rebalancing.adding:
                continue
            if not consumer.locks:
                consumer.rebalancing.adding[queue] = None
                world.life(consumer, queue, states.IN_TARGET, out, guard=states.CONCURRENT)
                thread.push(*_create(now, group, queue), _AddFrom(group, target, position))
                return None
            address = world.master(queue.broker)
            if address is not None:
                consumer.rebalancing.adding[queue] = None
                world.life(consumer, queue, states.IN_TARGET, out, guard=states.ORDERED)
                thread.push(_Locked(group, queue), _AddFrom(group, target, position))
                return LockQueues(group, (queue,), address)
            consumer.rebalancing.refused = True
        return None


def _create(now: Time, group: str, queue: Queue) -> tuple[Step, ...]:
    return RemoveOffset(group, queue), ComputePullFromWhere(group, queue), _CreateProcessQueue(group, queue, now)


class _Locked(NamedTuple):
    """``lock`` was answered."""

    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        locked = thread.value
        consumer = world.consumer(self.group)
        if isinstance(locked, tuple) and self.queue in locked:
            world.life(consumer, self.queue, states.LOCK_GRANTED, out)
            thread.push(*_create(now, self.group, self.queue))
        else:
            consumer.rebalancing.adding.pop(self.queue, None)
            world.life(consumer, self.queue, states.LOCK_REFUSED, out)
            consumer.rebalancing.refused = True


class _CreateProcessQueue(NamedTuple):
    """It is known where to start, or not: the queue goes into the table, or stays out."""

    group: str
    queue: Queue
    created: Time

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        start: Start = thread.value
        consumer = world.consumer(self.group)
        of_pass, settings = consumer.rebalancing, consumer.settings
        of_pass.adding.pop(self.queue, None)
        if start.offset < 0:
            world.life(consumer, self.queue, states.OFFSET_UNKNOWN, out)
            return
        locked, size = settings.ordered.queue_starts_locked, settings.pulling.record_bytes
        process_queue = ProcessQueue(self.created, locked=locked, record_bytes=size)
        consumer.numbers += 1
        process_queue.number = consumer.numbers
        consumer.table[self.queue] = process_queue
        world.life(consumer, self.queue, states.OFFSET_FOUND, out)
        of_pass.starting.append((self.queue, start.offset))
        of_pass.changed = True
        world.added(consumer, self.queue, start.offset, start.why, out)


class _DispatchPullRequest(NamedTuple):
    """``dispatchPullRequest``: begin to pull what was added; then ``messageQueueChanged``, if anything has changed."""

    group: str
    topic: str
    all_queues: tuple[Queue, ...] | None
    target: tuple[Queue, ...]
    popped: tuple[Queue, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        of_pass, settings = consumer.rebalancing, consumer.settings
        if of_pass.refused and settings.rebalance.lock_refused_delay_ms is not None:
            world.rebalance_later(now, settings.rebalance.lock_refused_delay_ms, out)
        for queue, offset in of_pass.starting:
            if consumer.kind == PUSH:
                world.pull(now, consumer, queue, offset, settings.rebalance.first_pull_delay_ms, out)
        of_pass.starting.clear()
        thread.push(_CompareWorking(self.group, self.topic, self.target))
        if of_pass.changed:
            thread.push(MessageQueueChanged(self.group, self.topic, self.all_queues, self.target + self.popped))


class _CompareWorking(NamedTuple):
    """Balanced is a topic of which the consumer holds what it computed (``getWorkingMessageQueue``)."""

    group: str
    topic: str
    target: tuple[Queue, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        if set(consumer.holds(self.topic)) != set(self.target):
            consumer.rebalancing.balanced = False
