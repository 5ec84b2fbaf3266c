"""``messageQueueChanged`` of ``RebalancePushImpl`` and its siblings: what follows when a consumer's queues of a topic
have changed (spec 5.4)."""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.persisting import World
from rocketmq_selfbalance.client.threads import Call, Handlers, HeartbeatToAll, Thread


class MessageQueueChanged(NamedTuple):
    """The consumer's queues of the topic are ``own`` now, of all that its route has."""

    group: str
    topic: str
    all_queues: tuple[Queue, ...]
    own: tuple[Queue, ...]


class _CallListener(NamedTuple):
    group: str
    topic: str
    all_queues: tuple[Queue, ...]
    own: tuple[Queue, ...]


def share_thresholds(consumer: Consumer) -> None:
    """Divide the limits per topic by the number of queues in the table, whatever topics they are of."""
    count, settings = len(consumer.table), consumer.settings
    if not count:
        return
    if settings.pulling.pull_threshold_for_topic != -1:
        consumer.pull_threshold_for_queue = max(1, settings.pulling.pull_threshold_for_topic // count)
    if settings.pulling.pull_threshold_size_for_topic != -1:
        consumer.pull_threshold_size_for_queue = max(1, settings.pulling.pull_threshold_size_for_topic // count)


def message_queue_changed(
    world: World, now: Time, thread: Thread, step: MessageQueueChanged, out: Outbox
) -> Call | None:
    consumer = world.consumer(step.group)
    thread.push(_CallListener(*step))
    if consumer.kind != PUSH:
        return None
    if step.topic in consumer.subscriptions:
        consumer.subscribe(step.topic, now)
    share_thresholds(consumer)
    # Synchronously, within the pass: brokers must not filter with an older subscription.
    return HeartbeatToAll()


def _call_listener(world: World, now: Time, thread: Thread, step: _CallListener, out: Outbox) -> Call | None:
    world.listener(now, world.consumer(step.group), step.topic, step.all_queues, step.own, out)
    return None


HANDLERS: Handlers = {MessageQueueChanged: message_queue_changed, _CallListener: _call_listener}
