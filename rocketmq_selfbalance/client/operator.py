"""What the operator tells the client: the user's calls of ``DefaultMQPushConsumer`` and the like, see
`rocketmq_selfbalance.client.commands`."""

from protocols.engine.nodes import Message, Outbox, Time
from protocols.java import sorted_as_java
from protocols.queues import Queue
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
from rocketmq_selfbalance.client.resetting import ResetOffsets

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
