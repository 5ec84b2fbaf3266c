"""Numbered records of RocketMQ: what is written to the brokers, and what became of it.

A record's body says where it is: ``records broker-a 0 17``. A program that prints the body of each record that it has
handled as a line of its own is judged exactly, sent back or not. Of any other we know what it pulled and committed.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from compare.conformance.clients.exchanges import Listener
from compare.conformance.clients.outcome import Outcome, counted, none_waits
from compare.conformance.clients.rocketmq.stage import QUEUES, TOPIC, Exchange
from protocols.queues import Queue
from rocketmq_selfbalance.messages.offsets import UpdateConsumerOffset
from rocketmq_selfbalance.messages.pulling import PullMessage
from rocketmq_selfbalance.wire.cluster import RocketMQCluster
from rocketmq_selfbalance.wire.messages import Pulled, SendMessage
from rocketmq_selfbalance.wire.refusals import plain

_LINE: Final = re.compile(rb"^%s (\S+) (\d+) (\d+)\s*$" % TOPIC.encode())
_PRODUCER: Final = "producer"


def read_line(line: bytes) -> tuple[Queue, int] | None:
    """Queue and offset in a line that is a record's body."""
    found = _LINE.match(line)
    return None if found is None else (Queue(TOPIC, found[1].decode(), int(found[2])), int(found[3]))


def write(cluster: RocketMQCluster) -> None:
    """One more record to every queue whose broker runs; pulls that wait for it are answered."""
    world = cluster.world
    now = world.tell_time()
    ends_now = ends(cluster)
    for queue in QUEUES:
        if world.is_running(queue.broker):
            body = f"{TOPIC} {queue.broker} {queue.number} {ends_now[queue]}".encode()
            born = int(now + cluster.epoch_ms)
            message = SendMessage(
                0, _PRODUCER, TOPIC, "", 0, queue.number, 0, born, 0, "", 0, None, body, batch=False, oneway=True
            )
            world.deliver(queue.broker, _PRODUCER, message)


def ends(cluster: RocketMQCluster) -> dict[Queue, int]:
    """Queue to the offset of the next record that would be written."""
    now = cluster.world.tell_time()
    return {queue: cluster.disks[queue.broker].store.max_offset(TOPIC, queue.number, now) for queue in QUEUES}


def outcome(cluster: RocketMQCluster, exchanges: Listener[Exchange], lines: Iterable[tuple[Queue, int]]) -> Outcome:
    """Of all records that were written; ``lines``: queue and offset that programs printed."""
    return counted(ends(cluster), _begun(exchanges), _committed(exchanges), lines, _pulled(exchanges))


def all_read(cluster: RocketMQCluster, exchanges: Listener[Exchange], lines: Iterable[tuple[Queue, int]]) -> bool:
    """Whether no record waits: each was handled, as far as programs tell, or is committed."""
    return none_waits(ends(cluster), _begun(exchanges), _committed(exchanges), lines)


def _pulls(exchanges: Listener[Exchange]) -> Iterator[tuple[Exchange, PullMessage]]:
    for each in exchanges.all:
        request = plain(each.request)
        if isinstance(request, PullMessage) and each.queue is not None:
            yield each, request


def _begun(exchanges: Listener[Exchange]) -> dict[Queue, int]:
    """Queue to the offset at which the group has begun to read."""
    found: dict[Queue, int] = {}
    for _, pull in _pulls(exchanges):
        found.setdefault(pull.queue, pull.offset)
    return found


def _committed(exchanges: Listener[Exchange]) -> dict[Queue, int]:
    """Queue to the offset that was committed last, by a commit or by a pull."""
    found: dict[Queue, int] = {}
    for each in exchanges.all:
        if each.queue is None:
            continue
        request = plain(each.request)
        if isinstance(request, UpdateConsumerOffset):
            found[each.queue] = request.offset
        elif isinstance(request, PullMessage) and request.commit_offset is not None:
            found[each.queue] = request.commit_offset
    return found


def _pulled(exchanges: Listener[Exchange]) -> Iterator[tuple[Queue, int]]:
    """Queue and offset of every record that a pull was given."""
    for each, pull in _pulls(exchanges):
        if isinstance(each.answer, Pulled):
            for number in range(len(each.answer.records)):
                yield pull.queue, pull.offset + number
