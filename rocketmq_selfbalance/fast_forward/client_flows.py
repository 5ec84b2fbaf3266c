"""Queues that are read as records come in: pull after pull, which in quiet times are computed (flows of
`protocols.engine.fast_forward.contract`).

So it is where the user's code keeps up: it takes no time, or enough of its threads are idle and each call is given one
record. Where calls follow one another (ordered consumption), where somebody's own code or single records take another
time, or pulls are spaced, every pull is simulated.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

from protocols.engine.fast_forward.contract import Flow, Stretch
from protocols.engine.fast_forward.outbox import ReplayOutbox
from protocols.engine.nodes import Time
from protocols.facts import Delivered
from protocols.java import Queue
from rocketmq_selfbalance.client import pulling
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.codes import CLUSTERING
from rocketmq_selfbalance.messages.offsets import PullAnswer

_BUSY_THREADS = 0.8
"""Where more than this share of the threads work on average, records wait for one."""


PulledBy: TypeAlias = tuple[str, Queue, int]


def flows(client: Instance, consumer: Consumer, pulls: Mapping[PulledBy, int]) -> list[Flow] | None:
    """How the consumer reads what comes in, if anything does; None where it does anything else than reading and waiting
    for records. ``pulls``: group, queue and number of the process queue to the number of its pull."""
    keeps_up = _keeps_up(consumer)
    found = []
    for queue, process_queue in consumer.table.items():
        if not process_queue.accumulated:
            continue  # no record has come yet
        in_hand = process_queue.count or process_queue.listeners
        number = pulls.get((consumer.group, queue, process_queue.number))
        if number is None or not keeps_up or process_queue.taken or process_queue.task_since is not None:
            if in_hand:
                return None
            continue
        works = [serial for serial, work in consumer.pool.running.items() if in_hand and work.batch.queue == queue]
        found.append(
            Flow(
                client.master(queue.broker) or client.replica(queue.broker) or "",
                pulling.request(consumer, queue, process_queue, number),
                PullAnswer,
                process_queue.next_offset,
                _handled_to(process_queue),
                consumer.handle,
                consumer.settings.pulling.pull_batch_size,
                [
                    ("pull timeout", consumer.group, queue),
                    *[("consumed", consumer.group, serial) for serial in works],
                ],
                (client.task_due["persist"], client.settings.instance.persist_consumer_offset_interval_ms),
                consumer.settings.pulling.consumer_timeout_when_suspend_ms,
                consumer.group,
                _BUSY_THREADS * consumer.settings.consuming.consume_thread_max,
            )
        )
    return found


def _keeps_up(consumer: Consumer) -> bool:
    settings, pool = consumer.settings, consumer.pool
    one_by_one = not consumer.orderly and settings.consuming.consume_message_batch_max_size == 1
    return (
        consumer.kind == PUSH
        and consumer.message_model == CLUSTERING
        and not (consumer.by_hand or pool.takes or pool.fails or pool.standing_still)
        and not any(pool.poison.lies_ahead(queue, _handled_to(each)) for queue, each in consumer.table.items())
        and not settings.pulling.pull_interval_ms
        and (not consumer.handle or one_by_one)
    )


def _handled_to(process_queue: ProcessQueue) -> int:
    return process_queue.waiting.first if process_queue.waiting else process_queue.next_offset


def replay_reading(client: Instance, now: Time, stretch: Stretch, out: ReplayOutbox) -> None:
    """So far the queue has been read until now (more may be told)."""
    pull: Any = stretch.flow.request
    group, queue, position = pull.group, pull.queue, stretch.position
    consumer = client.consumers[group]
    process_queue = consumer.table[queue]
    first = _handled_to(process_queue)
    if process_queue.count:
        _let_go(consumer, queue, process_queue, out)
    process_queue.highest, process_queue.next_offset = position - 1, position
    if position > first:
        since = stretch.handling_since(first)
        out.observe(Delivered(group, consumer.member, queue, first, position, since))
    if not stretch.last:
        return
    # What is committed until then is what the broker knows by then.
    table = consumer.store.table
    table.update(queue, stretch.told_at(now), True)
    out.later(partial(table.update, queue, position, True))
    process_queue.last_pull = now
    if stretch.held:
        timeout = consumer.settings.pulling.consumer_timeout_when_suspend_ms
        out.set_timer(("pull timeout", group, queue), now + timeout)
    else:
        del client.pulled[pull.correlation]
        out.cancel_timer(("pull timeout", group, queue))
        out.set_timer(("pull", group, queue), now)


def _let_go(consumer: Consumer, queue: Queue, process_queue: ProcessQueue, out: ReplayOutbox) -> None:
    """What was fetched and in hand is done."""
    pool = consumer.pool
    for serial in [serial for serial, work in pool.running.items() if work.batch.queue == queue]:
        pool.busy -= pool.running.pop(serial).threads
        out.cancel_timer(("consumed", consumer.group, serial))
    process_queue.clear()
    process_queue.listeners = 0
