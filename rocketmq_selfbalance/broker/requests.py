"""What a broker does on its clients' requests, pulls aside (spec 2.1 to 2.9, 6.7)."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from protocols.engine.nodes import Message, Outbox, Time
from protocols.facts import Committed, Noted
from rocketmq_selfbalance.broker import notifying, pulls
from rocketmq_selfbalance.broker.groups import retry_topic
from rocketmq_selfbalance.codes import (
    CONSUME_ACTIVELY,
    DLQ_PREFIX,
    RETRY_PREFIX,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    SUCCESS,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
)
from rocketmq_selfbalance.messages.administration import SubscriptionGroup
from rocketmq_selfbalance.messages.answer import Answer
from rocketmq_selfbalance.messages.locks import LockBatchMq, LockBatchMqAnswer, UnlockBatchMq
from rocketmq_selfbalance.messages.membership import ConsumerList, GetConsumerListByGroup, HeartBeat, UnregisterClient
from rocketmq_selfbalance.messages.offsets import (
    GetMaxOffset,
    GetMinOffset,
    OffsetAnswer,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
    UpdateConsumerOffset,
)
from rocketmq_selfbalance.messages.pulling import ConsumerSendMsgBack, Retried
from rocketmq_selfbalance.messages.topics import TopicConfig

if TYPE_CHECKING:
    from rocketmq_selfbalance.broker.node import Broker


def _heartbeat(broker: "Broker", now: Time, sender: str, message: HeartBeat, out: Outbox) -> None:
    settings = broker.settings
    broker.beaten(now, sender, out)
    for data in message.consumers:
        if settings.reject_pull_consumer_enable and data.consume_type == CONSUME_ACTIVELY:
            continue
        config = broker.disk.groups.find(data.group)
        if config is None:
            continue  # the client is not told
        retry = retry_topic(config)
        if retry.topic not in broker.disk.topics.configs and config.retry_queue_nums > 0:
            broker.put_topic(now, retry, out)
        registered = broker.consumers.register(
            now, sender, message.client_id, data, notify=config.notify_consumer_ids_changed_enable
        )
        notifying.tell(broker, now, registered.events, out)
    out.send(sender, Answer(message.correlation, SUCCESS))


def _unregister(broker: "Broker", now: Time, sender: str, message: UnregisterClient, out: Outbox) -> None:
    config = broker.disk.groups.find(message.group)
    notify = config is None or config.notify_consumer_ids_changed_enable
    notifying.tell(
        broker, now, broker.consumers.unregister(message.group, sender, message.client_id, notify=notify), out
    )
    out.send(sender, Answer(message.correlation, SUCCESS))


def _consumer_list(broker: "Broker", now: Time, sender: str, message: GetConsumerListByGroup, out: Outbox) -> None:
    ids = broker.consumers.client_ids(message.group)
    out.send(sender, ConsumerList(message.correlation, SUCCESS if ids else SYSTEM_ERROR, ids or ()))


def _lock(broker: "Broker", now: Time, sender: str, message: LockBatchMq, out: Outbox) -> None:
    locked = broker.locks.try_lock_batch(now, message.group, message.queues, message.client_id)
    out.send(sender, LockBatchMqAnswer(message.correlation, SUCCESS, locked))


def _unlock(broker: "Broker", now: Time, sender: str, message: UnlockBatchMq, out: Outbox) -> None:
    broker.locks.unlock_batch(message.group, message.queues, message.client_id)
    if not message.oneway:
        out.send(sender, Answer(message.correlation, SUCCESS))


def _commit(broker: "Broker", now: Time, sender: str, message: UpdateConsumerOffset, out: Outbox) -> None:
    topic, _, number = message.queue
    unchecked = not broker.settings.check_commits
    answer = broker.offsets.refusal(
        message.group,
        topic,
        number,
        group_known=unchecked or broker.disk.groups.knows(message.group),
        topic_known=unchecked or topic in broker.disk.topics.configs,
    )
    refusal = "" if answer is None else _REFUSALS.get(answer.code, answer.remark or "")
    told = Committed(message.group, message.queue, message.offset, sender, None, refusal)
    if answer is not None:
        out.observe(told)
    else:
        pulls.commit(broker, now, sender, told, out)
    if not message.oneway:
        out.send(sender, Answer(message.correlation, SUCCESS if answer is None else answer.code))


_REFUSALS = {SUBSCRIPTION_GROUP_NOT_EXIST: "SUBSCRIPTION_GROUP_NOT_EXIST", TOPIC_NOT_EXIST: "TOPIC_NOT_EXIST"}


def _query_offset(broker: "Broker", now: Time, sender: str, message: QueryConsumerOffset, out: Outbox) -> None:
    topic, _, number = message.queue
    store = broker.disk.store
    code, offset = broker.offsets.answer_query(
        message.group,
        topic,
        number,
        set_zero_if_not_found=message.set_zero_if_not_found,
        min_offset=store.min_offset(topic, number),
        # Whether the first record is in memory nobody can tell on newer JVMs: the answer is yes if there is one.
        first_in_memory=broker.settings.zero_for_empty_queues or store.max_offset(topic, number, now) > 0,
    )
    out.send(sender, OffsetAnswer(message.correlation, code, -1 if offset is None else offset))


def _max_offset(broker: "Broker", now: Time, sender: str, message: GetMaxOffset, out: Outbox) -> None:
    end = broker.disk.store.max_offset(message.queue.topic, message.queue.number, now)
    out.send(sender, OffsetAnswer(message.correlation, SUCCESS, end))


def _min_offset(broker: "Broker", now: Time, sender: str, message: GetMinOffset, out: Outbox) -> None:
    least = broker.disk.store.min_offset(message.queue.topic, message.queue.number)
    out.send(sender, OffsetAnswer(message.correlation, SUCCESS, least))


def _search_offset(broker: "Broker", now: Time, sender: str, message: SearchOffsetByTimestamp, out: Outbox) -> None:
    queue = broker.disk.store.queue(message.queue.topic, message.queue.number)
    found = 0 if queue is None else queue.offset_at(message.timestamp, now)
    out.send(sender, OffsetAnswer(message.correlation, SUCCESS, found))


def _send_back(broker: "Broker", now: Time, sender: str, message: ConsumerSendMsgBack, out: Outbox) -> None:
    config = broker.disk.groups.find(message.group)
    if config is None:
        out.send(sender, Answer(message.correlation, SUBSCRIPTION_GROUP_NOT_EXIST))
        return
    if config.retry_queue_nums > 0:
        _retry(broker, now, message, config, out)
    out.send(sender, Answer(message.correlation, SUCCESS))


def _retry(broker: "Broker", now: Time, message: ConsumerSendMsgBack, config: SubscriptionGroup, out: Outbox) -> None:
    """The record goes to the group's retry topic after a delay that grows with each time, at last to the dead ones."""
    before = _record(broker, message)
    limit = config.retry_max_times if message.max_reconsume_times < 0 else message.max_reconsume_times
    store, levels = broker.disk.store, broker.settings.delay_levels_s
    if max(before.times, message.tries) >= limit or message.delay_level < 0:
        dead = DLQ_PREFIX + message.group
        if dead not in broker.disk.topics.configs:
            broker.put_topic(now, TopicConfig(dead, 1, 1), out)
        store.delay(now, dead, 0, before)
        topic, at, number = before.origin
        out.observe(Noted(f"record {before.origin_offset} of {topic}-{at}-{number} is given up by {message.group}"))
    else:
        retry = retry_topic(config)
        if retry.topic not in broker.disk.topics.configs:
            broker.put_topic(now, retry, out)
        level = min(message.delay_level or 3 + before.times, len(levels))
        number = out.choose("retry queue", range(config.retry_queue_nums))
        record = before._replace(times=before.times + 1)
        store.delay(now + levels[level - 1] * 1000.0, retry.topic, number, record)
    broker.schedule_delivery(now, out)


def _record(broker: "Broker", message: ConsumerSendMsgBack) -> Retried:
    """The record that is sent back, as it was before."""
    queue = broker.disk.store.queue(message.queue.topic, message.queue.number)
    if message.queue.topic.startswith(RETRY_PREFIX) and queue is not None and message.offset < len(queue.records):
        return queue.records[message.offset]
    return Retried(message.queue, message.offset, 0)


REQUESTS: Mapping[type[Message], Callable[["Broker", Time, str, Any, Outbox], None]] = {
    HeartBeat: _heartbeat,
    UnregisterClient: _unregister,
    GetConsumerListByGroup: _consumer_list,
    LockBatchMq: _lock,
    UnlockBatchMq: _unlock,
    UpdateConsumerOffset: _commit,
    QueryConsumerOffset: _query_offset,
    GetMaxOffset: _max_offset,
    GetMinOffset: _min_offset,
    SearchOffsetByTimestamp: _search_offset,
    ConsumerSendMsgBack: _send_back,
}
"""Type of a request to what the broker does."""
