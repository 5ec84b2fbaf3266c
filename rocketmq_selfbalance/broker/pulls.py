"""Pulls at a broker: RocketMQ's ``PullMessageProcessor`` checks and answers them, its ``PullRequestHoldService`` holds
a pull that finds nothing (spec 2.10, 6.2, 6.3).

Nobody is asked whether it owns the queue. A held pull is answered when a record comes or when its time is over,
whatever becomes of the topic or of the group's offsets in the meantime.
"""

from protocols.engine.nodes import Outbox, Time, TimerName
from protocols.facts import Committed
from protocols.load import quickly_made
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.broker.state import HELD, Broker, HeldPull
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage

_committed, _answer, _held = quickly_made(Committed), quickly_made(PullAnswer), quickly_made(HeldPull)


def pull(broker: Broker, now: Time, sender: str, message: PullMessage, out: Outbox) -> None:
    """A client pulls (``PullMessageProcessor.processRequest``)."""
    code = refusal(broker, message)
    if code != codes.SUCCESS:
        out.send(sender, PullAnswer(message.correlation, code, message.offset, 0, 0))
        return
    if message.commit_offset is not None:
        fact = _committed((message.group, message.queue, message.commit_offset, sender, None, ""))
        commit(broker, now, fact, out)
    answer = get_message(broker, now, message)
    if answer.code != codes.PULL_NOT_FOUND or message.suspend_ms <= 0:
        out.send(sender, answer)
    else:
        hold(broker, now, sender, message, out)


def hold(broker: Broker, now: Time, sender: str, message: PullMessage, out: Outbox) -> None:
    until, expected, queue = now + message.suspend_ms, arrival(broker, message), message.queue
    held = _held((sender, message, until, expected))
    waiting = broker.held.get(queue)
    if waiting is None:
        broker.held[queue] = [held]
    else:
        waiting.append(held)
    out.set_timer((HELD, queue, sender, message[0]), until if expected is None or until < expected else expected)


def commit(broker: Broker, now: Time, fact: Committed, out: Outbox) -> None:
    """Take a committed offset. It is observed where it changes anything."""
    group, (topic, _, number), offset = fact[0], fact[1], fact[2]
    offsets = broker.offsets
    if offsets.query(group, topic, number) != offset:
        broker.unflushed = True
        out.observe(fact)
    offsets.commit(now, group, topic, number, offset)


def refusal(broker: Broker, message: PullMessage) -> int:
    """What is wrong with a pull, in the order in which a broker looks; `SUCCESS` if nothing is."""
    group, (name, _, number), disk = message.group, message.queue, broker.disk
    config = disk.groups.find(group)
    if config is None:
        return codes.SUBSCRIPTION_GROUP_NOT_EXIST
    topic = disk.topics.configs.get(name)
    members = broker.consumers.groups.get(group)
    if not config.consume_enable:
        return codes.NO_PERMISSION
    if topic is None:
        return codes.TOPIC_NOT_EXIST
    if not topic.perm & codes.PERM_READ:
        return codes.NO_PERMISSION
    if not 0 <= number < topic.read:
        return codes.INVALID_PARAMETER
    if members is None:
        return codes.SUBSCRIPTION_NOT_EXIST
    if members.message_model == codes.BROADCASTING and not config.consume_broadcast_enable:
        return codes.NO_PERMISSION
    subscription = members.topics.get(name)
    if subscription is None:
        return codes.SUBSCRIPTION_NOT_EXIST
    return codes.SUCCESS if subscription.version >= message.subscription_version else codes.SUBSCRIPTION_NOT_LATEST


def get_message(broker: Broker, now: Time, message: PullMessage) -> PullAnswer:
    """What the queue has for a pull that nothing is wrong with (``DefaultMessageStore.getMessage``). A pending reset is
    taken thereby."""
    correlation, group, (topic, _, number), offset = message[:4]
    queue = broker.disk.store.queue(topic, number)
    least, end = (0, 0) if queue is None else (queue.min_offset, queue.max_offset(now))
    if broker.offsets.resets and broker.settings.use_server_side_reset_offset:
        reset = broker.offsets.take_reset(group, topic, number)
        if reset is not None:
            return PullAnswer(correlation, codes.PULL_OFFSET_MOVED, reset, least, end)
    if queue is None or end == 0:
        code, following = (codes.PULL_NOT_FOUND, 0) if offset == 0 else (codes.PULL_OFFSET_MOVED, 0)
    elif offset < least:
        code, following = codes.PULL_OFFSET_MOVED, least
    elif offset > end:
        code, following = codes.PULL_OFFSET_MOVED, end
    elif offset == end:
        code, following = codes.PULL_NOT_FOUND, end
    else:
        following = offset + message.max_messages
        if following > end:
            following = end
        broker.offsets.commit_pull(group, topic, number, following)
        retried = tuple(queue.records[offset:following]) if queue.records else ()
        return _answer((correlation, codes.SUCCESS, following, least, end, retried))
    return _answer((correlation, code, following, least, end, ()))


def held_due(broker: Broker, now: Time, timer: TimerName, out: Outbox) -> None:
    """A held pull has waited for its time, or its record is there."""
    _, queue, sender, correlation = timer
    for held in broker.held.get(queue, ()):
        if held[0] == sender and held[1][0] == correlation:
            release(broker, held, out)
            broker.push(now, sender, _answer_when_woken(broker, now, held[1]), out)
            return


def notify_message_arriving(broker: Broker, now: Time, topic: str, number: int, out: Outbox) -> None:
    """A record has come to the queue: answer the pulls that are held there."""
    for held in [each for queue in broker.held for each in broker.held[queue] if queue[::2] == (topic, number)]:
        out.cancel_timer(held.timer)
        held_due(broker, now, held.timer, out)


def reschedule(broker: Broker, now: Time, topic: str, out: Outbox) -> None:
    """Records come to the topic at other times than before: pulls that are held there are answered at other times."""
    for queue in [each for each in broker.held if each.topic == topic]:
        for at, held in enumerate(broker.held[queue]):
            expected = arrival(broker, held.message)
            if expected != held.arrival:
                following = broker.held[queue][at] = held._replace(arrival=expected)
                out.set_timer(held.timer, max(now, following.due))


def _answer_when_woken(broker: Broker, now: Time, message: PullMessage) -> PullAnswer:
    """What a pull gets that was held until now (``executeRequestWhenWakeup``)."""
    code = refusal(broker, message)
    if code != codes.SUCCESS:
        return PullAnswer(message.correlation, code, message.offset, 0, 0)
    return get_message(broker, now, message)


def forget(broker: Broker, sender: str, out: Outbox) -> None:
    for held in [each for waiting in broker.held.values() for each in waiting if each.sender == sender]:
        release(broker, held, out)


def release(broker: Broker, held: HeldPull, out: Outbox) -> None:
    queue = held.message.queue
    waiting = broker.held[queue]
    if len(waiting) > 1:
        broker.held[queue] = [each for each in waiting if each is not held]
    else:
        del broker.held[queue]
    out.cancel_timer(held.timer)


def arrival(broker: Broker, message: PullMessage) -> Time | None:
    """When the record comes for which this asks; None where nobody knows."""
    topic, _, number = message.queue
    stored = broker.disk.store.queue(topic, number)
    return None if stored is None else stored.next_arrival(message.offset)
