"""Pulls of a client that brokers hold until their time is over, and that are then sent again."""

from collections.abc import Mapping
from math import inf
from typing import Any

from protocols.engine.fast_forward.contract import Renewal
from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.client import pulling
from rocketmq_selfbalance.client.consumer import PUSH, Consumer
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.process_queue import ProcessQueue
from rocketmq_selfbalance.codes import PULL_NOT_FOUND
from rocketmq_selfbalance.fast_forward.client_flows import PulledBy
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage


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
        return Renewal(PullAnswer, inf, inf)  # nobody waits for it
    if message.code != PULL_NOT_FOUND or message.next_offset != process_queue.next_offset:
        return None
    if not _would_repeat(consumer, pulled.queue, process_queue):
        return None
    return Renewal(PullAnswer, 0.0, consumer.settings.pulling.broker_suspend_max_time_ms)


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
