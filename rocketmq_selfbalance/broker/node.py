"""A broker as a node: each of its events goes to what RocketMQ's broker does on it (spec 2).

- here: ``ClientManageProcessor`` (heartbeats, taking leave), ``ConsumerManageProcessor`` (member list, commits,
  questions for offsets), of ``AdminBrokerProcessor`` what consumers ask of it (locks, a queue's offsets),
  ``SendMessageProcessor`` (records that a consumer could not handle), ``ScheduleMessageService`` (their delivery)
- `pulls`: ``PullMessageProcessor``, ``PullRequestHoldService``
- `allocation`: ``QueryAssignmentProcessor``
- `giving_out`, `taking`: ``PopMessageProcessor`` and what belongs to it
- `administration`: the rest of ``AdminBrokerProcessor``; ``TopicConfigManager``
- `connections`: ``ClientHousekeepingService``, ``DefaultConsumerIdsChangeListener``, ``BrokerOuterAPI``, and when
  ``ConsumerOffsetManager`` writes

`state` holds what they work on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.facts import Committed, Noted
from protocols.node_state import NodeState
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.broker import administration, allocation, connections, giving_out, pulls
from rocketmq_selfbalance.broker.connections import FLUSH, IDLE, NOTIFY, REGISTER, SCAN
from rocketmq_selfbalance.broker.state import Broker, Handler, retry_topic
from rocketmq_selfbalance.messages import membership, offsets
from rocketmq_selfbalance.messages.nameserver import RouteInfoAnswer, TopicConfig
from rocketmq_selfbalance.messages.popping import QueryAssignment
from rocketmq_selfbalance.messages.requests import Answer, LockBatchMq, LockBatchMqAnswer, UnlockBatchMq
from rocketmq_selfbalance.pop.line import POPPED
from rocketmq_selfbalance.popping import messages as popping

DELIVER = "deliver"
"""Name of the timer."""


def schedule_next(broker: Broker, now: Time, out: Outbox) -> None:
    if broker.disk.store.delayed and broker.id == codes.MASTER_ID:
        out.set_timer(DELIVER, max(now, broker.disk.store.delayed[0].due))


def deliver(broker: Broker, now: Time, out: Outbox) -> None:
    """Write the records that are due, and answer the pulls that wait for them."""
    for topic, number in broker.disk.store.deliver(now):
        pulls.notify_message_arriving(broker, now, topic, number, out)
    schedule_next(broker, now, out)


def _heartbeat(broker: Broker, now: Time, sender: str, message: membership.HeartBeat, out: Outbox) -> None:
    settings = broker.settings
    connections.put_off_idle_check(broker, now, sender, out)
    for data in message.consumers:
        if settings.reject_pull_consumer_enable and data.consume_type == codes.CONSUME_ACTIVELY:
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
        connections.handle(broker, now, registered.events, out)
    out.send(sender, Answer(message.correlation, codes.SUCCESS))


def _unregister(broker: Broker, now: Time, sender: str, message: membership.UnregisterClient, out: Outbox) -> None:
    config = broker.disk.groups.find(message.group)
    notify = config is None or config.notify_consumer_ids_changed_enable
    connections.handle(
        broker, now, broker.consumers.unregister(message.group, sender, message.client_id, notify=notify), out
    )
    out.send(sender, Answer(message.correlation, codes.SUCCESS))


def _consumer_list(
    broker: Broker, now: Time, sender: str, message: membership.GetConsumerListByGroup, out: Outbox
) -> None:
    ids = broker.consumers.client_ids(message.group)
    out.send(
        sender, membership.ConsumerList(message.correlation, codes.SUCCESS if ids else codes.SYSTEM_ERROR, ids or ())
    )


def _lock(broker: Broker, now: Time, sender: str, message: LockBatchMq, out: Outbox) -> None:
    locked = broker.locks.try_lock_batch(now, message.group, message.queues, message.client_id)
    out.send(sender, LockBatchMqAnswer(message.correlation, codes.SUCCESS, locked))


def _unlock(broker: Broker, now: Time, sender: str, message: UnlockBatchMq, out: Outbox) -> None:
    broker.locks.unlock_batch(message.group, message.queues, message.client_id)
    if not message.oneway:
        out.send(sender, Answer(message.correlation, codes.SUCCESS))


def _commit(broker: Broker, now: Time, sender: str, message: offsets.UpdateConsumerOffset, out: Outbox) -> None:
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
        out.send(sender, Answer(message.correlation, codes.SUCCESS if answer is None else answer.code))


_REFUSALS = {
    codes.SUBSCRIPTION_GROUP_NOT_EXIST: "SUBSCRIPTION_GROUP_NOT_EXIST",
    codes.TOPIC_NOT_EXIST: "TOPIC_NOT_EXIST",
}


def _query_offset(broker: Broker, now: Time, sender: str, message: offsets.QueryConsumerOffset, out: Outbox) -> None:
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
    out.send(sender, offsets.OffsetAnswer(message.correlation, code, -1 if offset is None else offset))


def _max_offset(broker: Broker, now: Time, sender: str, message: offsets.GetMaxOffset, out: Outbox) -> None:
    end = broker.disk.store.max_offset(message.queue.topic, message.queue.number, now)
    out.send(sender, offsets.OffsetAnswer(message.correlation, codes.SUCCESS, end))


def _min_offset(broker: Broker, now: Time, sender: str, message: offsets.GetMinOffset, out: Outbox) -> None:
    least = broker.disk.store.min_offset(message.queue.topic, message.queue.number)
    out.send(sender, offsets.OffsetAnswer(message.correlation, codes.SUCCESS, least))


def _search_offset(
    broker: Broker, now: Time, sender: str, message: offsets.SearchOffsetByTimestamp, out: Outbox
) -> None:
    queue = broker.disk.store.queue(message.queue.topic, message.queue.number)
    found = 0 if queue is None else queue.offset_at(message.timestamp, now)
    out.send(sender, offsets.OffsetAnswer(message.correlation, codes.SUCCESS, found))


def _send_back(broker: Broker, now: Time, sender: str, message: offsets.ConsumerSendMsgBack, out: Outbox) -> None:
    config = broker.disk.groups.find(message.group)
    if config is None:
        out.send(sender, Answer(message.correlation, codes.SUBSCRIPTION_GROUP_NOT_EXIST))
        return
    if config.retry_queue_nums > 0:
        _retry(broker, now, message, config, out)
    out.send(sender, Answer(message.correlation, codes.SUCCESS))


def _retry(
    broker: Broker, now: Time, message: offsets.ConsumerSendMsgBack, config: membership.SubscriptionGroup, out: Outbox
) -> None:
    """The record goes to the group's retry topic after a delay that grows with each time, at last to the dead ones."""
    before = _record(broker, message)
    limit = config.retry_max_times if message.max_reconsume_times < 0 else message.max_reconsume_times
    store, levels = broker.disk.store, broker.settings.delay_levels_s
    if max(before.times, message.tries) >= limit or message.delay_level < 0:
        dead = codes.DLQ_PREFIX + message.group
        if dead not in broker.disk.topics.configs:
            administration.put(broker, now, TopicConfig(dead, 1, 1), out)
        store.delay(now, dead, 0, before)
        topic, at, number = before.origin
        out.observe(Noted(f"record {before.origin_offset} of {topic}-{at}-{number} is given up by {message.group}"))
    else:
        retry = retry_topic(config)
        if retry.topic not in broker.disk.topics.configs:
            administration.put(broker, now, retry, out)
        level = min(message.delay_level or 3 + before.times, len(levels))
        number = out.choose("retry queue", range(config.retry_queue_nums))
        record = before._replace(times=before.times + 1)
        store.delay(now + levels[level - 1] * 1000.0, retry.topic, number, record)
    schedule_next(broker, now, out)


def _record(broker: Broker, message: offsets.ConsumerSendMsgBack) -> offsets.Retried:
    """The record that is sent back, as it was before."""
    queue = broker.disk.store.queue(message.queue.topic, message.queue.number)
    if message.queue.topic.startswith(codes.RETRY_PREFIX) and queue is not None and message.offset < len(queue.records):
        return queue.records[message.offset]
    return offsets.Retried(message.queue, message.offset, 0)


@dataclass(slots=True, eq=False)
class BrokerNode(NodeState):
    """A running broker: entry points around its state. A broker that starts again is a new node on the same disk."""

    state: Broker

    def start(self, now: Time, out: Outbox) -> None:
        broker = self.state
        settings, disk = broker.settings, broker.disk
        broker.offsets.load(disk.offsets)
        if broker.id == codes.MASTER_ID:
            disk.store.running = True
            for config in disk.topics.configs.values():
                administration.open_queues(broker, now, config)
        if settings.start_to_registration_ms:
            out.set_timer(REGISTER, now + settings.start_to_registration_ms)
        else:
            connections.register(broker, disk.topics.to_register(), out)
            out.set_timer(REGISTER, now + settings.register_first_ms)
        out.set_timer(SCAN, now + settings.scan_channels_first_ms)
        out.set_timer(FLUSH, now + settings.flush_first_ms)
        if not settings.real_time_notify_consumer_change:
            out.set_timer(NOTIFY, now + settings.collected_notify_first_ms)
        schedule_next(broker, now, out)
        giving_out.start(broker, now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        broker = self.state
        broker.busy(now, sender)
        handle = administration.COMMANDS[type(message)] if sender == OPERATOR else _REQUESTS[type(message)]
        handle(broker, now, sender, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if isinstance(timer, tuple):
            if timer[0] == IDLE:
                connections.idle_due(self.state, now, timer[1], out)
            elif timer[0] == POPPED:
                giving_out.due(self.state, now, timer, out)
            else:
                pulls.held_due(self.state, now, timer, out)
        else:
            _TIMERS[timer](self.state, now, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        connections.connected(self.state, now, peer, out)

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        connections.closed(self.state, now, peer, out)


_TIMERS: Mapping[str, Callable[[Broker, Time, Outbox], None]] = {
    REGISTER: connections.register_again,
    SCAN: connections.scan,
    FLUSH: connections.persist_again,
    NOTIFY: connections.notify_collected,
    DELIVER: deliver,
    allocation.POLL: allocation.poll,
}

_REQUESTS: Mapping[type[Message], Handler] = {
    offsets.PullMessage: pulls.pull,
    membership.HeartBeat: _heartbeat,
    membership.UnregisterClient: _unregister,
    membership.GetConsumerListByGroup: _consumer_list,
    LockBatchMq: _lock,
    UnlockBatchMq: _unlock,
    offsets.UpdateConsumerOffset: _commit,
    offsets.QueryConsumerOffset: _query_offset,
    offsets.GetMaxOffset: _max_offset,
    offsets.GetMinOffset: _min_offset,
    offsets.SearchOffsetByTimestamp: _search_offset,
    offsets.ConsumerSendMsgBack: _send_back,
    QueryAssignment: allocation.answer,
    RouteInfoAnswer: allocation.route,
    popping.ReceiveMessage: giving_out.receive,
    popping.AckMessage: giving_out.ack,
    popping.ChangeInvisibleDuration: giving_out.change,
    popping.ForwardToDeadLetterQueue: giving_out.bury,
}
