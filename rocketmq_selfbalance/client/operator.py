"""What the operator tells the client: see `rocketmq_selfbalance.client.commands`."""

from typing import Any

from protocols.java import sorted_as_java
from protocols.queues import Queue
from rocketmq_selfbalance.client import consuming, consuming_orderly, lifecycle, polling
from rocketmq_selfbalance.client.commands import (
    CommitNow,
    GoOn,
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
from rocketmq_selfbalance.client.consumer import PUSH
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.resetting import ResetOffsets

COMMANDS = (
    *(StartConsumer, Shutdown, Subscribe, Unsubscribe, CommitNow),
    *(StopPolling, GoOn, RecordTakes, RecordFails, RecordWorks, ListenerReturned),
)


def take(client: Instance, sender: str, command: Any) -> None:
    """Do what the operator says. A group that is not there is none of our business any more."""
    match command:
        case StartConsumer(spec):
            client.run(lifecycle.THREAD, lifecycle.StartUp(spec))
        case Shutdown(None):
            client.run(lifecycle.THREAD, *(lifecycle.ShutDown(group) for group in client.consumers))
        case Shutdown(group) if group is not None:
            client.run(lifecycle.THREAD, lifecycle.ShutDown(group))
        case _ if command.group in client.consumers:
            _of_consumer(client, command)


def _of_consumer(client: Instance, command: Any) -> None:
    consumer = client.consumers[command.group]
    pool = consumer.pool
    match command:
        case Subscribe(group, topic):
            lifecycle.subscribe(client, group, topic)
        case Unsubscribe(_, topic):
            consumer.unsubscribe(topic)
        case CommitNow(group, offsets):
            if consumer.kind != PUSH:
                polling.keep_positions(consumer)
            for queue, offset in offsets:
                consumer.store.table.update(queue, offset, False)
            client.run(lifecycle.THREAD, lifecycle.KeepOffsets(group))
        case StopPolling():
            pool.standing_still = True
        case GoOn():
            consuming.move_again(client, consumer)
            if consumer.kind != PUSH:
                polling.poll(client, consumer)
            elif consumer.orderly:
                consuming_orderly.go_on(client, consumer)
        case ListenerReturned(_, serial, success):
            end = consuming_orderly.consumed if consumer.orderly else consuming.consumed
            consuming.returned(client, consumer, serial, end, success=success)
        case RecordTakes(_, queue, offset, duration):
            pool.takes[queue, offset] = duration
        case RecordFails(_, queue, offset):
            pool.fails.add((queue, offset))
        case RecordWorks(_, queue, offset):
            pool.fails.discard((queue, offset))


def reset(client: Instance, group: str, topic: str, offsets: tuple[tuple[Queue, int], ...]) -> None:
    """A broker hands on an administrator's reset. Only push consumers react."""
    consumer = client.consumers.get(group)
    if consumer is not None and consumer.kind == PUSH:
        topics = tuple(sorted_as_java(consumer.subscriptions))
        client.run(f"reset of {group}", ResetOffsets(group, topic, offsets, topics))
