"""Records that consumers sent back are delivered to their retry topic after their delay: RocketMQ's
``ScheduleMessageService`` (spec 6.7).

What a broker does on its clients' requests, pulls (`pulls`) and records sent back (`sent_back`) aside: RocketMQ's
``ClientManageProcessor`` (heartbeats, taking leave), ``ConsumerManageProcessor`` (member list, commits, questions for
offsets), and of ``AdminBrokerProcessor`` what consumers ask of it (locks, a queue's offsets) (spec 2.1 to 2.9).
"""

from collections.abc import Mapping

from protocols.engine.nodes import Message, Outbox, Time
from protocols.facts import Committed
from rocketmq_selfbalance.broker import administration, connections, pulls
from rocketmq_selfbalance.broker import connections as notifying
from rocketmq_selfbalance.broker.state import Broker, Handler
from rocketmq_selfbalance.broker.topics import retry_topic
from rocketmq_selfbalance.codes import (
    CONSUME_ACTIVELY,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    SUCCESS,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
)
from rocketmq_selfbalance.messages.membership import ConsumerList, GetConsumerListByGroup, HeartBeat, UnregisterClient
from rocketmq_selfbalance.messages.offsets import (
    GetMaxOffset,
    GetMinOffset,
    OffsetAnswer,
    QueryConsumerOffset,
    SearchOffsetByTimestamp,
    UpdateConsumerOffset,
)
from rocketmq_selfbalance.messages.requests import Answer, LockBatchMq, LockBatchMqAnswer, UnlockBatchMq

DELIVER = "deliver"
"""Name of the timer."""


def schedule_next(broker: Broker, now: Time, out: Outbox) -> None:
    """Set the clock for the next record that waits for its delivery."""
    if broker.disk.store.delayed:
        out.set_timer(DELIVER, max(now, broker.disk.store.delayed[0].due))


def deliver(broker: Broker, now: Time, out: Outbox) -> None:
    """Write the records that are due, and answer the pulls that wait for them."""
    for topic, number in broker.disk.store.deliver(now):
        pulls.notify_message_arriving(broker, now, topic, number, out)
    schedule_next(broker, now, out)


def _heartbeat(broker: Broker, now: Time, sender: str, message: HeartBeat, out: Outbox) -> None:
    settings = broker.settings
    connections.put_off_idle_check(broker, now, sender, out)
    for data in message.consumers:
        if settings.reject_pull_consumer_enable and data.consume_type == CONSUME_ACTIVELY:
            continue
        config = broker.disk.groups.find(data.group)
        if config is None:
            continue  # the client is not told
        retry = retry_topic(config)
        if retry.topic not in broker.disk.topics.configs and config.retry_queue_nums > 0:
            administration.put(broker, now, retry, out)
        registered = broker.consumers.register(
            now, sender, message.client_id, data, notify=config.notify_consumer_ids_changed_enable
        )
        notifying.handle(broker, now, registered.events, out)
    out.send(sender, Answer(message.correlation, SUCCESS))


def _unregister(broker: Broker, now: Time, sender: str, message: UnregisterClient, out: Outbox) -> None:
    config = broker.disk.groups.find(message.group)
    notify = config is None or config.notify_consumer_ids_changed_enable
    notifying.handle(
        broker, now, broker.consumers.unregister(message.group, sender, message.client_id, notify=notify), out
    )
    out.send(sender, Answer(message.correlation, SUCCESS))


def _consumer_list(broker: Broker, now: Time, sender: str, message: GetConsumerListByGroup, out: Outbox) -> None:
    ids = broker.consumers.client_ids(message.group)
    out.send(sender, ConsumerList(message.correlation, SUCCESS if ids else SYSTEM_ERROR, ids or ()))


def _lock(broker: Broker, now: Time, sender: str, message: LockBatchMq, out: Outbox) -> None:
    locked = broker.locks.try_lock_batch(now, message.group, message.queues, message.client_id)
    out.send(sender, LockBatchMqAnswer(message.correlation, SUCCESS, locked))


def _unlock(broker: Broker, now: Time, sender: str, message: UnlockBatchMq, out: Outbox) -> None:
    broker.locks.unlock_batch(message.group, message.queues, message.client_id)
    if not message.oneway:
        out.send(sender, Answer(message.correlation, SUCCESS))


def _commit(broker: Broker, now: Time, sender: str, message: UpdateConsumerOffset, out: Outbox) -> None:
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
    fact = Committed(message.group, message.queue, message.offset, sender, None, refusal)
    if answer is not None:
        out.observe(fact)
    else:
        pulls.commit(broker, now, fact, out)
    if not message.oneway:
        out.send(sender, Answer(message.correlation, SUCCESS if answer is None else answer.code))


_REFUSALS = {SUBSCRIPTION_GROUP_NOT_EXIST: "SUBSCRIPTION_GROUP_NOT_EXIST", TOPIC_NOT_EXIST: "TOPIC_NOT_EXIST"}


def _query_offset(broker: Broker, now: Time, sender: str, message: QueryConsumerOffset, out: Outbox) -> None:
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


def _max_offset(broker: Broker, now: Time, sender: str, message: GetMaxOffset, out: Outbox) -> None:
    end = broker.disk.store.max_offset(message.queue.topic, message.queue.number, now)
    out.send(sender, OffsetAnswer(message.correlation, SUCCESS, end))


def _min_offset(broker: Broker, now: Time, sender: str, message: GetMinOffset, out: Outbox) -> None:
    least = broker.disk.store.min_offset(message.queue.topic, message.queue.number)
    out.send(sender, OffsetAnswer(message.correlation, SUCCESS, least))


def _search_offset(broker: Broker, now: Time, sender: str, message: SearchOffsetByTimestamp, out: Outbox) -> None:
    queue = broker.disk.store.queue(message.queue.topic, message.queue.number)
    found = 0 if queue is None else queue.offset_at(message.timestamp, now)
    out.send(sender, OffsetAnswer(message.correlation, SUCCESS, found))


REQUESTS: Mapping[type[Message], Handler] = {
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
}
"""Type of a request to what the broker does."""
