"""Pulls of a client: those that brokers hold until their time is over, and that are then sent again; and queues that
are read as records come in, pull after pull (`contract.Flow`).

Reading is computed where the user's code keeps up: it takes no time, or enough of its threads are idle and each call is
given one record. Where calls follow one another (ordered consumption), where somebody's own code or single records take
another time, or pulls are spaced, every pull is simulated.
"""

from collections.abc import Mapping
from functools import partial
from math import inf
from typing import Any, TypeAlias

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Delivered
from protocols.java import Queue
from rocketmq_selfbalance.client import pulling
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.codes import CLUSTERING, PULL_NOT_FOUND
from rocketmq_selfbalance.fast_forward.around import ReplayOutbox
from rocketmq_selfbalance.fast_forward.contract import Flow, Renewal, Stretch
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage

_BUSY_THREADS = 0.8
"""Where more than this share of the threads work on average, records wait for one."""

PulledBy: TypeAlias = tuple[str, Queue, int]
"""Group, queue and number of its process queue."""


def repeated(
    client: Instance, consumer: Consumer, pulls: Mapping[PulledBy, int]
) -> dict[str, dict[tuple[str, Queue], PullMessage]]:
    """Broker to what is pulled there and will be pulled again: group and queue to the pull."""
    found: dict[str, dict[tuple[str, Queue], PullMessage]] = {}
    for queue, process_queue in consumer.table.items():
        number = pulls.get((consumer.group, queue, process_queue.number))
        if number is None or not _would_repeat(consumer, queue, process_queue):
            continue
        address = client.pulled[number].address
        if address == (client.master(queue.broker) or client.replica(queue.broker)):
            pull = pulling.request(consumer, queue, process_queue, number)
            found.setdefault(address, {})[consumer.group, queue] = pull
    return found


def judge(client: Instance, message: PullAnswer) -> Renewal | None:
    """What follows of the answer to a pull that is under way, if it brings nothing."""
    pulled = client.pulled.get(message.correlation)
    consumer = None if pulled is None else client.consumers.get(pulled.group)
    process_queue = None if pulled is None or consumer is None else consumer.current(pulled.queue, pulled.number)
    if pulled is None or consumer is None or process_queue is None:
        return Renewal(inf, inf)  # nobody waits for it
    if message.code != PULL_NOT_FOUND or message.next_offset != process_queue.next_offset:
        return None
    if not _would_repeat(consumer, pulled.queue, process_queue):
        return None
    return Renewal(0.0, consumer.settings.pulling.broker_suspend_max_time_ms)


def replay_answer(client: Instance, now: Time, about: Any, out: Outbox) -> None:
    """Answers that brought nothing came to the pulls of a group and queue, the last one now."""
    group, queue = about
    consumer = client.consumers[group]
    process_queue = consumer.table[queue]
    process_queue.last_pull = now
    # The new pull is the last one that was sent. (It has the old one's number: which it is does not matter.)
    of = group, queue, process_queue.number
    number = next(number for number, pulled in client.pulled.items() if pulled[:3] == of)
    client.pulled[number] = client.pulled.pop(number)
    out.set_timer(("pull timeout", group, queue), now + consumer.settings.pulling.consumer_timeout_when_suspend_ms)


def _would_repeat(consumer: Consumer, queue: Queue, process_queue: ProcessQueue) -> bool:
    """Whether an answer that brings nothing has the same pull sent again at once, and changes nothing else."""
    kept = consumer.store.table.offsets.get(queue)
    return (
        not (process_queue.count or process_queue.listeners or consumer.settings.pulling.pull_interval_ms)
        and (consumer.kind != PUSH or kept == process_queue.next_offset)
        and (not consumer.orderly or not consumer.locks or process_queue.previously_locked)
        and pulling.held_back(consumer, queue, process_queue) is None
    )


def flows(client: Instance, consumer: Consumer, pulls: Mapping[PulledBy, int]) -> list[Flow] | None:
    """How the consumer reads what comes in, if anything does; None where it does anything else than reading and waiting
    for records. ``pulls``: to the number of the pull."""
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
                _handled_to(process_queue),
                consumer.handle,
                [
                    ("pull timeout", consumer.group, queue),
                    *[("consumed", consumer.group, serial) for serial in works],
                ],
                (client.task_due["persist"], client.settings.instance.persist_consumer_offset_interval_ms),
                consumer.settings.pulling.consumer_timeout_when_suspend_ms,
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
    pull = stretch.flow.pull
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
