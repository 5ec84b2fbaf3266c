"""An administrator sets offsets back through the running clients (``MQClientInstance.resetOffset``; spec 2.8, client
side).

What the operator tells the client: the user's calls of ``DefaultMQPushConsumer`` and the like, see
`rocketmq_selfbalance.client.commands`.
"""

from typing import NamedTuple

from protocols.engine.nodes import Message, Outbox, Time
from protocols.java import Queue, sorted_as_java
from rocketmq_selfbalance.client import blocking, consuming, consuming_orderly, lifecycle, polling, shutdown
from rocketmq_selfbalance.client.commands import (
    CommitNow,
    GoOn,
    KnowPoison,
    ListenerReturned,
    RecordFails,
    RecordTakes,
    RecordWorks,
    Shutdown,
    StartConsumer,
    StopPolling,
    Subscribe,
    Unsubscribe,
)
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.persisting import World
from rocketmq_selfbalance.client.rebalance_service import DoRebalance
from rocketmq_selfbalance.client.removal import RemoveProcessQueue
from rocketmq_selfbalance.client.threads import Call, Handlers, Sleep, Thread


class ResetOffsets(NamedTuple):
    """Go on from these offsets in the queues of the topic that the consumer holds: it pauses, drops them, waits, sets
    the offsets and gives the queues up; then a pass over ``topics`` takes them again."""

    group: str
    topic: str
    offsets: tuple[tuple[Queue, int], ...]
    topics: tuple[str, ...]


class _SetOffset(NamedTuple):
    group: str
    queue: Queue
    offset: int


class _Resume(NamedTuple):
    group: str


class _SetOffsets(NamedTuple):
    group: str
    topic: str
    offsets: tuple[tuple[Queue, int], ...]


def _reset(world: World, now: Time, thread: Thread, step: ResetOffsets, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    consumer.paused = True
    for queue, _ in step.offsets:
        process_queue = consumer.table.get(queue)
        if process_queue is not None and queue.topic == step.topic:
            world.drop(consumer, queue, process_queue, "offset reset", out)
            process_queue.clear()
    thread.push(_SetOffsets(*step[:3]), _Resume(step.group), DoRebalance(step.group, step.topics))
    return Sleep(consumer.settings.rebalance.reset_offset_pause_ms)


def _set_offsets(world: World, now: Time, thread: Thread, step: _SetOffsets, out: Outbox) -> Call | None:
    table = world.consumer(step.group).table
    thread.push(
        *(
            _SetOffset(step.group, queue, offset)
            for queue, offset in step.offsets
            if queue in table and queue.topic == step.topic
        )
    )
    return None


def _set_offset(world: World, now: Time, thread: Thread, step: _SetOffset, out: Outbox) -> Call | None:
    consumer = world.consumer(step.group)
    if step.queue in consumer.table:
        consumer.store.table.update(step.queue, step.offset, False)
        thread.push(RemoveProcessQueue(step.group, step.queue, "offset reset"))
    return None


def _resume(world: World, now: Time, thread: Thread, step: _Resume, out: Outbox) -> Call | None:
    world.consumer(step.group).paused = False
    return None


HANDLERS: Handlers = {ResetOffsets: _reset, _SetOffsets: _set_offsets, _SetOffset: _set_offset, _Resume: _resume}


COMMANDS = (
    *(StartConsumer, Shutdown, Subscribe, Unsubscribe, CommitNow),
    *(StopPolling, GoOn, RecordTakes, RecordFails, RecordWorks, KnowPoison, ListenerReturned),
)


def take(client: Instance, now: Time, sender: str, command: Message, out: Outbox) -> None:
    """Do what the operator says. A group that is not there is none of our business any more."""
    match command:
        case StartConsumer(spec):
            blocking.run(client, now, lifecycle.THREAD, (lifecycle.StartUp(spec),), out)
        case Shutdown(None):
            steps = [shutdown.ShutDown(group) for group in client.consumers]
            blocking.run(client, now, lifecycle.THREAD, steps, out)
        case Shutdown(group) if group is not None:
            blocking.run(client, now, lifecycle.THREAD, (shutdown.ShutDown(group),), out)
        case _ if (consumer := client.consumers.get(getattr(command, "group", ""))) is not None:
            _of_consumer(client, now, consumer, command, out)


def _of_consumer(client: Instance, now: Time, consumer: Consumer, command: Message, out: Outbox) -> None:
    pool = consumer.pool
    match command:
        case Subscribe(group, topic):
            lifecycle.subscribe(client, now, group, topic, out)
        case Unsubscribe(_, topic):
            consumer.unsubscribe(topic)
        case CommitNow(group, offsets):
            if consumer.kind != PUSH:
                polling.keep_positions(consumer)
            for queue, offset in offsets:
                consumer.store.table.update(queue, offset, False)
            blocking.run(client, now, lifecycle.THREAD, (lifecycle.KeepOffsets(group),), out)
        case StopPolling():
            pool.standing_still = True
        case GoOn():
            consuming.move_again(client, now, consumer, out)
            if consumer.kind != PUSH:
                polling.poll(client, now, consumer, out)
            elif consumer.orderly:
                consuming_orderly.go_on(client, now, consumer, out)
        case ListenerReturned(_, serial, success):
            end = consuming_orderly.consumed if consumer.orderly else consuming.consumed
            consuming.returned(client, now, consumer, serial, end, out, success=success)
        case RecordTakes(_, queue, offset, duration):
            pool.takes[queue, offset] = duration
        case RecordFails(_, queue, offset):
            pool.fails.add((queue, offset))
        case KnowPoison(_, poison):
            pool.poison.learn(poison)
        case RecordWorks(_, queue, offset):
            pool.fails.discard((queue, offset))


def reset(
    client: Instance, now: Time, group: str, topic: str, offsets: tuple[tuple[Queue, int], ...], out: Outbox
) -> None:
    """A broker hands on an administrator's reset. Only push consumers react."""
    consumer = client.consumers.get(group)
    if consumer is not None and consumer.kind == PUSH:
        topics = tuple(sorted_as_java(consumer.subscriptions))
        blocking.run(client, now, f"reset of {group}", (ResetOffsets(group, topic, offsets, topics),), out)
