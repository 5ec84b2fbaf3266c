"""Pulls at a broker: what is checked and answered, and how a pull that finds nothing is held (spec 2.10, 6.2, 6.3).

Nobody is asked whether it owns the queue. A held pull is looked at again when a record comes or when its time is over.
A pull that only watches is answered at once; `rocketmq_selfbalance.broker.watches` keeps it in mind.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Committed
from protocols.queues import Queue
from rocketmq_selfbalance.broker.store import StoredQueue
from rocketmq_selfbalance.codes import (
    BROADCASTING,
    INVALID_PARAMETER,
    NO_PERMISSION,
    PERM_READ,
    PULL_NOT_FOUND,
    PULL_OFFSET_MOVED,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    SUBSCRIPTION_NOT_EXIST,
    SUBSCRIPTION_NOT_LATEST,
    SUCCESS,
    TOPIC_NOT_EXIST,
)
from rocketmq_selfbalance.messages.pulling import PullAnswer, PullMessage, WatchedPullAnswer

if TYPE_CHECKING:
    from rocketmq_selfbalance.broker.node import Broker

HELD = "held pulls"
"""First part of a timer's name; the second is the queue."""


class Held(NamedTuple):
    """A pull that waits."""

    sender: str
    message: PullMessage
    until: Time
    """When it is answered at the latest."""
    due: Time
    """When it is looked at next."""


def pull(broker: "Broker", now: Time, sender: str, message: PullMessage, out: Outbox) -> None:
    """A client pulls."""
    code = refusal(broker, message)
    if code != SUCCESS:
        out.send(sender, PullAnswer(message.correlation, code, message.offset, 0, 0))
        return
    if message.commit_offset is not None:
        told = Committed(message.group, message.queue, message.commit_offset, message.member, None, "")
        commit(broker, now, sender, told, out)
    answer = look(broker, now, message)
    if answer.code != PULL_NOT_FOUND or message.suspend_ms <= 0 or message.watch:
        broker.watches.seen(now, sender, message, answer)
        out.send(sender, answer)
        return
    hold(broker, now, sender, message, out)


def hold(broker: "Broker", now: Time, sender: str, message: PullMessage, out: Outbox) -> None:
    """The pull waits for a record."""
    held = broker.held.setdefault(message.queue, [])
    until = now + message.suspend_ms
    held.append(Held(sender, message, until, _due(broker, message, until)))
    # In a stretch that is passed over others may still be held there from before.
    out.set_timer((HELD, message.queue), max(now, min(each.due for each in held)))


def commit(broker: "Broker", now: Time, sender: str, told: Committed, out: Outbox) -> None:
    """Take a committed offset. It is told unless its sender repeats itself: then nothing has changed."""
    group, (topic, _, number), offset = told.group, told.queue, told.offset
    repeated = broker.committers.get((group, told.queue)) == sender
    if not repeated or broker.offsets.query(group, topic, number) != offset:
        broker.committers[group, told.queue] = sender
        broker.unflushed = True
        out.observe(told)
    broker.offsets.commit(now, group, topic, number, offset)


def refusal(broker: "Broker", message: PullMessage) -> int:
    """What is wrong with a pull, in the order in which a broker looks; `SUCCESS` if nothing is."""
    config = broker.disk.groups.find(message.group)
    if config is None:
        return SUBSCRIPTION_GROUP_NOT_EXIST
    topic = broker.disk.topics.configs.get(message.queue.topic)
    members = broker.consumers.groups.get(message.group)
    if not config.consume_enable:
        return NO_PERMISSION
    if topic is None:
        return TOPIC_NOT_EXIST
    if not topic.perm & PERM_READ:
        return NO_PERMISSION
    if not 0 <= message.queue.number < topic.read:
        return INVALID_PARAMETER
    if members is None:
        return SUBSCRIPTION_NOT_EXIST
    if members.message_model == BROADCASTING and not config.consume_broadcast_enable:
        return NO_PERMISSION
    subscription = members.topics.get(message.queue.topic)
    if subscription is None:
        return SUBSCRIPTION_NOT_EXIST
    return SUCCESS if subscription.version >= message.subscription_version else SUBSCRIPTION_NOT_LATEST


def look(broker: "Broker", now: Time, message: PullMessage) -> PullAnswer:
    """What the queue has for a pull that nothing is wrong with. A pending reset is taken thereby."""
    topic, _, number = message.queue
    queue = broker.disk.store.queue(topic, number)
    least, end = (0, 0) if queue is None else (queue.min_offset, queue.max_offset(now))
    production = None if queue is None or queue.records else queue.production
    if broker.settings.use_server_side_reset_offset:
        reset = broker.offsets.take_reset(message.group, topic, number)
        if reset is not None:
            return PullAnswer(message.correlation, PULL_OFFSET_MOVED, reset, least, end, production)
    offset = message.offset
    if queue is None or end == 0:
        code, following = (PULL_NOT_FOUND, 0) if offset == 0 else (PULL_OFFSET_MOVED, 0)
    elif offset < least:
        code, following = PULL_OFFSET_MOVED, least
    elif offset > end:
        code, following = PULL_OFFSET_MOVED, end
    elif offset == end:
        code, following = PULL_NOT_FOUND, end
    else:
        return _found(broker, message, queue, end)
    return PullAnswer(message.correlation, code, following, least, end, production)


def _found(broker: "Broker", message: PullMessage, queue: StoredQueue, end: int) -> PullAnswer:
    following = min(end, message.offset + message.max_messages)
    broker.offsets.commit_pull(message.group, message.queue.topic, message.queue.number, following)
    records = queue.records
    return PullAnswer(
        message.correlation,
        SUCCESS,
        following,
        queue.min_offset,
        end,
        None if records else queue.production,
        tuple(records[message.offset : following]),
    )


def held_due(broker: "Broker", now: Time, queue: Queue, out: Outbox) -> None:
    """The timer of a queue: look again at those that are due."""
    waiting = broker.held.get(queue, [])
    broker.held[queue] = [each for each in waiting if each.due > now]
    for each in waiting:
        if each.due <= now:
            broker.push(now, each.sender, _late_answer(broker, now, each.message), out)
    _set_timer(broker, queue, out)


def wake(broker: "Broker", now: Time, topic: str, number: int | None, out: Outbox) -> None:
    """The topic (or one queue of it) is not what it was: answer the pulls that are held there, tell who watches."""
    for queue in [each for each in broker.held if each.topic == topic and number in (None, each.number)]:
        broker.held[queue] = [each._replace(due=now) for each in broker.held[queue]]
        held_due(broker, now, queue, out)
    for sender, message in broker.watches.on(now, topic, number):
        answer = _late_answer(broker, now, message)
        broker.push(now, sender, WatchedPullAnswer(message.correlation, message.group, message.queue, answer), out)


def reset_waits(broker: "Broker", now: Time, queue: Queue, out: Outbox) -> None:
    """An offset was reset: who watches the queue is told when the next record comes, which would end a held pull."""
    stored = broker.disk.store.queue(queue.topic, queue.number)
    arrival = None if stored is None else stored.next_arrival(stored.max_offset(now))
    if arrival is not None and any(True for _ in broker.watches.on(arrival, queue.topic, queue.number)):
        out.set_timer((RESET, queue), arrival)


RESET = "record after a reset"
"""First part of a timer's name; the second is the queue."""


def _late_answer(broker: "Broker", now: Time, message: PullMessage) -> PullAnswer:
    """What a pull gets that was held until now."""
    code = refusal(broker, message)
    return (
        look(broker, now, message) if code == SUCCESS else PullAnswer(message.correlation, code, message.offset, 0, 0)
    )


def forget(broker: "Broker", sender: str, out: Outbox) -> None:
    """A connection ended: nobody waits for its pulls."""
    broker.watches.forget(sender)
    for queue in [queue for queue, held in broker.held.items() if any(each.sender == sender for each in held)]:
        broker.held[queue] = [each for each in broker.held[queue] if each.sender != sender]
        _set_timer(broker, queue, out)


def let_go(broker: "Broker", sender: str, queue: Queue, group: str, out: Outbox) -> None:
    """The sender's pulls of the queue for this group are held no more."""
    held = broker.held.get(queue, [])
    left = [each for each in held if (each.sender, each.message.group) != (sender, group)]
    if left:
        broker.held[queue] = left
    elif held:
        del broker.held[queue]
        out.cancel_timer((HELD, queue))


def key(held: dict[Queue, list[Held]], now: Time) -> tuple[Any, ...]:
    """Held pulls as plain tuples, times relative to now."""
    return tuple(
        (tuple(queue), tuple((each.sender, each.message[1:], each.until - now, each.due - now) for each in waiting))
        for queue, waiting in sorted(held.items())
    )


def _due(broker: "Broker", message: PullMessage, until: Time) -> Time:
    stored = broker.disk.store.queue(message.queue.topic, message.queue.number)
    arrival = None if stored is None else stored.next_arrival(message.offset)
    return until if arrival is None else min(until, arrival)


def _set_timer(broker: "Broker", queue: Queue, out: Outbox) -> None:
    waiting = broker.held.get(queue)
    if waiting:
        out.set_timer((HELD, queue), min(each.due for each in waiting))
    else:
        broker.held.pop(queue, None)
        out.cancel_timer((HELD, queue))
