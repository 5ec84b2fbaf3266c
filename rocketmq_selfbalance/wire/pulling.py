"""Pulls of real clients: the simulation's checks and its held pulls, with records, filters by tags, and filters that a
pull brings itself (spec 2.10, 6.2, 6.3)."""

from functools import lru_cache
from itertools import islice

from protocols.engine.nodes import Outbox, Time, TimerName
from protocols.facts import Committed
from protocols.java import Queue
from rocketmq_selfbalance.broker import pulls
from rocketmq_selfbalance.broker.state import HeldPull
from rocketmq_selfbalance.codes import (
    BROADCASTING,
    INVALID_PARAMETER,
    NO_PERMISSION,
    PULL_NOT_FOUND,
    PULL_OFFSET_MOVED,
    PULL_RETRY_IMMEDIATELY,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    SUBSCRIPTION_NOT_EXIST,
    SUBSCRIPTION_NOT_LATEST,
    SUCCESS,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
)
from rocketmq_selfbalance.messages.offsets import PullAnswer
from rocketmq_selfbalance.wire.messages import Pull, Pulled, Reply
from rocketmq_selfbalance.wire.served import RecordQueue, Served
from rocketmq_selfbalance.wire.stored_messages import signed_hash

TAG = "TAG"

_CHECKED_WITHOUT_MEMBERS = (SUBSCRIPTION_NOT_EXIST, SUBSCRIPTION_NOT_LATEST)
"""Refusals that do not concern a pull with a filter of its own."""

_REMARKS = {
    SUBSCRIPTION_GROUP_NOT_EXIST: "subscription group [{group}] does not exist",
    TOPIC_NOT_EXIST: "topic[{topic}] not exist, apply first please!",
    NO_PERMISSION: "the topic[{topic}] pulling message is forbidden",
    INVALID_PARAMETER: "queueId[{number}] is illegal, topic:[{topic}]",
    SUBSCRIPTION_NOT_EXIST: "the consumer's group info not exist",
    SUBSCRIPTION_NOT_LATEST: "the consumer's subscription not latest",
}


def pull(served: Served, now: Time, sender: str, message: Pull, out: Outbox) -> None:
    broker, asked = served.broker, message.pull
    refused = _refusal(served, message)
    if refused is not None:
        out.send(sender, refused)
        return
    member = served.client_id(sender, asked.group)
    if member is not None:
        members = broker.consumers.groups.get(asked.group)
        alone = members is None or members.message_model != BROADCASTING
        served.ownership.pulls(now, asked.group, member, asked.queue, asked.offset, alone=alone, observe=out.observe)
    if asked.commit_offset is not None:
        pulls.commit(broker, now, Committed(asked.group, asked.queue, asked.commit_offset, sender, None, ""), out)
    answer = _found(served, now, message)
    if answer.answer.code == PULL_NOT_FOUND and asked.suspend_ms > 0:
        served.filters.setdefault(sender, {})[asked.correlation] = message
        pulls.hold(broker, now, sender, asked, out)
        return
    _answer(served, now, sender, message, answer, out)


def _answer(served: Served, now: Time, sender: str, message: Pull, answer: Pulled | Reply, out: Outbox) -> None:
    member = served.client_id(sender, message.pull.group)
    if member is not None:
        served.ownership.answered(now, message.pull.group, member, message.pull.queue)
    out.send(sender, answer)


def _refusal(served: Served, message: Pull) -> Reply | None:
    asked = message.pull
    if message.kind not in (TAG, ""):
        why = f"The broker does not support consumer to filter message by {message.kind}"
        return Reply(message.correlation, SYSTEM_ERROR, remark=why)
    code = pulls.refusal(served.broker, asked)
    if code == SUCCESS or (code in _CHECKED_WITHOUT_MEMBERS and message.expression is not None):
        return None
    remark = _REMARKS[code].format(group=asked.group, topic=asked.queue.topic, number=asked.queue.number)
    return Reply(message.correlation, code, remark=remark)


def _found(served: Served, now: Time, message: Pull) -> Pulled:
    broker, asked = served.broker, message.pull
    reset = broker.offsets.has_reset(asked.group, asked.queue.topic, asked.queue.number)
    answer = pulls.get_message(broker, now, asked)
    queue = served.store.records(asked.queue.topic, asked.queue.number)
    if answer.code != SUCCESS or queue is None:
        return Pulled(message.correlation, answer, _remark(answer, asked.offset, reset=reset))
    records, following = _read(served, queue, message)
    broker.offsets.commit_pull(asked.group, asked.queue.topic, asked.queue.number, following)
    code, remark = (SUCCESS, "FOUND") if records else (PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE")
    served.read += len(records)
    return Pulled(message.correlation, answer._replace(code=code, next_offset=following), remark, records)


def _remark(answer: PullAnswer, offset: int, *, reset: bool) -> str:
    if answer.code == PULL_OFFSET_MOVED:
        if reset:
            return "OFFSET_RESET"
        return "OFFSET_TOO_SMALL" if offset < answer.min_offset else "OFFSET_OVERFLOW_BADLY"
    return "NO_MESSAGE_IN_QUEUE" if answer.max_offset == 0 else "OFFSET_OVERFLOW_ONE"


def _read(served: Served, queue: RecordQueue, message: Pull) -> tuple[tuple[bytes, ...], int]:
    """Records that pass the filter, within the limits, and the offset to go on with."""
    asked, settings = message.pull, served.wire
    codes = _codes(served, message)
    most = min(asked.max_messages, settings.most_pulled_records)
    room = min(max(message.most_bytes, 1), settings.most_pulled_bytes)
    least, stored = queue.min_offset, queue.stored
    passed, following = queue.passing(asked.offset, least + len(stored), most, room, codes)
    return tuple([stored[offset - least].content for offset in passed]), following


def _codes(served: Served, message: Pull) -> frozenset[int] | None:
    """The hashes of tags that pass, None where every record does."""
    if message.expression is not None:
        return codes_of(message.expression)
    subscription = served.broker.consumers.find_subscription(message.pull.group, message.pull.queue.topic)
    return None if subscription is None else codes_of(subscription.expression)


@lru_cache(maxsize=4096)
def codes_of(expression: str) -> frozenset[int] | None:
    """The hashes of the tags in an expression such as ``TagA || TagB``; None for all."""
    tags = tags_of(expression)
    return frozenset(map(signed_hash, tags)) if tags else None


def tags_of(expression: str) -> list[str]:
    """The tags in an expression; none for all."""
    if expression.strip() in ("", "*"):
        return []
    return [tag for part in expression.split("||") if (tag := part.strip())]


def arrived(served: Served, now: Time, topic: str, number: int, out: Outbox) -> None:
    """Records have come to the queue: answer the pulls that are held there and want one of them."""
    broker = served.broker
    queue = served.store.records(topic, number)
    waiting = broker.held.get(Queue(topic, broker.name, number))
    woken = 0
    for held in list(waiting or ()):
        message = served.filters.get(held.sender, {}).get(held.message.correlation)
        if message is None or queue is None or _wants(served, queue, message):
            woken += 1
            if woken > _WOKEN_AT_ONCE:
                out.set_timer(held.timer, now)
            else:
                _wake(served, now, held, out)


_WOKEN_AT_ONCE = 200
"""Pulls that a record answers before others have their turn."""


def _wants(served: Served, queue: RecordQueue, message: Pull) -> bool:
    codes = _codes(served, message)
    first = max(message.pull.offset - queue.min_offset, 0)
    if codes is None:
        return first < len(queue.stored)
    return any(record.tags in codes for record in islice(queue.stored, first, None))


def held_due(served: Served, now: Time, timer: TimerName, out: Outbox) -> None:
    for held in served.broker.held.get(timer[1], ()):
        if held.timer == timer:
            _wake(served, now, held, out)
            return


def _wake(served: Served, now: Time, held: HeldPull, out: Outbox) -> None:
    broker = served.broker
    pulls.release(broker, held, out)
    message = served.filters.get(held.sender, {}).pop(held.message.correlation, None)
    if message is not None:
        answer = _refusal(served, message) or _found(served, now, message)
        broker.busy(now, held.sender)
        _answer(served, now, held.sender, message, answer, out)


def delivered(served: Served, now: Time, out: Outbox) -> None:
    """Records whose delay is over are written; the pulls that wait for them are answered."""
    for topic, number in served.store.deliver(now):
        served.arrived(now, topic, number, out)
