"""An administrator sets offsets back through the running clients (``MQClientInstance.resetOffset``; spec 2.8, client
side)."""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.client.calls import Call, Sleep
from rocketmq_selfbalance.client.rebalance_service import DoRebalance
from rocketmq_selfbalance.client.removal import RemoveProcessQueue
from rocketmq_selfbalance.client.threads import Handlers, Thread
from rocketmq_selfbalance.client.world import World


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
