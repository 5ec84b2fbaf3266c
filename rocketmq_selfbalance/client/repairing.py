"""A pull of a push consumer asked beyond its queue (``OFFSET_ILLEGAL``): the queue is given up, and the next pass of
the rebalance thread takes it again from the offset that the broker told (``PullCallback.onSuccess``; spec 6.3)."""

from typing import NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.client import blocking
from rocketmq_selfbalance.client.consumer import Consumer, WakeUp
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.persisting import Persist
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.client.removal import RemoveProcessQueue
from rocketmq_selfbalance.client.threads import Call, Handlers, Step, Thread
from rocketmq_selfbalance.states import RUNNING


class _Freeze(NamedTuple):
    """``updateAndFreezeOffset``."""

    group: str
    queue: Queue
    offset: int


def begin(
    client: Instance, now: Time, consumer: Consumer, queue: Queue, process_queue: ProcessQueue, offset: int, out: Outbox
) -> None:
    """Nothing more is consumed of the queue; the rest is done a little later, on another thread."""
    client.drop(consumer, queue, process_queue, "offset illegal", out)
    out.set_timer(("repair", consumer.group, queue, offset), now + consumer.settings.pulling.offset_repair_delay_ms)


def repair(client: Instance, now: Time, group: str, queue: Queue, offset: int, out: Outbox) -> None:
    """Keep the offset that the broker told, and give the queue up."""
    consumer = client.consumers.get(group)
    if consumer is None or consumer.state != RUNNING:
        return
    steps: list[Step] = [
        _Freeze(group, queue, offset),
        Persist(group, queue),
        RemoveProcessQueue(group, queue, "offset illegal"),
    ]
    if consumer.settings.pulling.freeze_repaired_offset:
        steps.append(WakeUp("offset repaired"))
    blocking.run(client, now, f"repair of {queue.topic}-{queue.broker}-{queue.number} of {group}", steps, out)


def _freeze(client: Instance, now: Time, thread: Thread, step: _Freeze, out: Outbox) -> Call | None:
    consumer = client.consumer(step.group)
    table = consumer.store.table
    if consumer.settings.pulling.freeze_repaired_offset:
        table.update_and_freeze(step.queue, step.offset)
    else:
        table.update(step.queue, step.offset, False)
    return None


HANDLERS: Handlers = {_Freeze: _freeze}
