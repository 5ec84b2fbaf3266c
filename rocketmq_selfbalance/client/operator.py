"""What the operator tells the client (the user's calls of ``DefaultMQPushConsumer`` and the like: `commands`), and how
an administrator sets offsets back through running clients (``MQClientInstance.resetOffset``; spec 2.8, 15)."""

from typing import NamedTuple

from protocols.engine.nodes import Message, Outbox, Time
from protocols.java import Queue, sorted_as_java
from rocketmq_selfbalance.client import blocking, commands, consuming, consuming_orderly, lifecycle, polling, popping
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.rebalance_service import DoRebalance
from rocketmq_selfbalance.client.removal import RemoveProcessQueue, World
from rocketmq_selfbalance.client.threads import AwaitConsumeLock, Call, Sleep, Thread


class ResetOffsets(NamedTuple):
    """Go on from these offsets in the queues of the topic that the consumer holds: it pauses, drops them, waits, sets
    the offsets and gives the queues up; then a pass over ``topics`` takes them again."""

    group: str
    topic: str
    offsets: tuple[tuple[Queue, int], ...]
    topics: tuple[str, ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        consumer = world.consumer(self.group)
        consumer.paused = True
        for queue, _ in self.offsets:
            process_queue = consumer.table.get(queue)
            if process_queue is not None and queue.topic == self.topic:
                world.drop(consumer, queue, process_queue, "offset reset", out)
                process_queue.clear()
        thread.push(_SetOffsets(*self[:3]), _Resume(self.group), DoRebalance(self.group, self.topics))
        return None if _waits_for_listeners(consumer) else Sleep(consumer.settings.rebalance.reset_offset_pause_ms)


def _waits_for_listeners(consumer: Consumer) -> bool:
    return consumer.orderly and consumer.settings.version.orderly_reset_waits_for_listeners


class _AwaitListener(NamedTuple):
    """The listener that is at work on the queue returns, or it has had its time."""

    group: str
    queue: Queue

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> Call | None:
        consumer = world.consumer(self.group)
        held = consumer.table.get(self.queue)
        if not _waits_for_listeners(consumer) or held is None or not held.listeners:
            return None
        return AwaitConsumeLock(self.group, self.queue, consumer.settings.rebalance.reset_offset_pause_ms)


class _SetOffset(NamedTuple):
    group: str
    queue: Queue
    offset: int

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        consumer = world.consumer(self.group)
        if self.queue in consumer.table:
            consumer.store.table.update(self.queue, self.offset, False)
            thread.push(RemoveProcessQueue(self.group, self.queue, "offset reset"))


class _Resume(NamedTuple):
    group: str

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        world.consumer(self.group).paused = False


class _SetOffsets(NamedTuple):
    group: str
    topic: str
    offsets: tuple[tuple[Queue, int], ...]

    def do(self, world: World, now: Time, thread: Thread, out: Outbox) -> None:
        table = world.consumer(self.group).table
        thread.push(
            *(
                step
                for queue, offset in self.offsets
                if queue in table and queue.topic == self.topic
                for step in (_AwaitListener(self.group, queue), _SetOffset(self.group, queue, offset))
            )
        )


COMMANDS = (
    *(commands.StartConsumer, commands.Shutdown, commands.Subscribe, commands.Unsubscribe, commands.CommitNow),
    *(
        commands.StopPolling,
        commands.GoOn,
        commands.TakeFor,
        commands.RecordTakes,
        commands.RecordFails,
        commands.RecordWorks,
        commands.KnowPoison,
        commands.ListenerReturned,
    ),
)


def take(client: Instance, now: Time, sender: str, command: Message, out: Outbox) -> None:
    """Do what the operator says. A group that is not there is none of our business any more."""
    match command:
        case commands.StartConsumer(spec):
            blocking.run(client, now, lifecycle.THREAD, (lifecycle.StartUp(spec),), out)
        case commands.Shutdown(None):
            steps = [lifecycle.ShutDown(group) for group in client.consumers]
            blocking.run(client, now, lifecycle.THREAD, steps, out)
        case commands.Shutdown(group) if group is not None:
            blocking.run(client, now, lifecycle.THREAD, (lifecycle.ShutDown(group),), out)
        case _ if (consumer := client.consumers.get(getattr(command, "group", ""))) is not None:
            _of_consumer(client, now, consumer, command, out)


def _of_consumer(client: Instance, now: Time, consumer: Consumer, command: Message, out: Outbox) -> None:
    pool = consumer.pool
    match command:
        case commands.Subscribe(group, topic):
            lifecycle.subscribe(client, now, group, topic, out)
        case commands.Unsubscribe(_, topic):
            consumer.unsubscribe(topic)
        case commands.CommitNow(group, offsets):
            if consumer.kind != PUSH:
                polling.keep_positions(consumer)
            for queue, offset in offsets:
                consumer.store.table.update(queue, offset, False)
            blocking.run(client, now, lifecycle.THREAD, (lifecycle.KeepOffsets(group),), out)
        case commands.StopPolling():
            pool.standing_still = True
        case commands.TakeFor(_, handle):
            consumer.handle = handle
        case commands.GoOn():
            consuming.move_again(client, now, consumer, out)
            popping.move_again(client, now, consumer, out)
            if consumer.kind != PUSH:
                polling.poll(client, now, consumer, out)
            elif consumer.orderly:
                consuming_orderly.go_on(client, now, consumer, out)
        case commands.ListenerReturned(_, serial, success):
            end = consuming_orderly.consumed if consumer.orderly else consuming.consumed
            consuming.returned(client, now, consumer, serial, end, out, success=success)
        case commands.RecordTakes(_, queue, offset, duration):
            pool.takes[queue, offset] = duration
        case commands.RecordFails(_, queue, offset):
            pool.fails.add((queue, offset))
        case commands.KnowPoison(_, poison):
            pool.poison.learn(poison)
        case commands.RecordWorks(_, queue, offset):
            pool.fails.discard((queue, offset))


def reset(
    client: Instance, now: Time, group: str, topic: str, offsets: tuple[tuple[Queue, int], ...], out: Outbox
) -> None:
    """A broker hands on an administrator's reset. Only push consumers react."""
    consumer = client.consumers.get(group)
    if consumer is not None and consumer.kind == PUSH:
        topics = tuple(sorted_as_java(consumer.subscriptions))
        blocking.run(client, now, f"reset of {group}", (ResetOffsets(group, topic, offsets, topics),), out)
