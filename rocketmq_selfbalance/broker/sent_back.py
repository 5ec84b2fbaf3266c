"""A consumer sends back a record that it could not handle: ``SendMessageProcessor.consumerSendMsgBack`` (spec 6.7)."""

from collections.abc import Mapping

from protocols.engine.nodes import Message, Outbox, Time
from protocols.facts import Noted
from rocketmq_selfbalance.broker import administration, requests
from rocketmq_selfbalance.broker.state import Broker, Handler
from rocketmq_selfbalance.broker.topics import retry_topic
from rocketmq_selfbalance.codes import DLQ_PREFIX, RETRY_PREFIX, SUBSCRIPTION_GROUP_NOT_EXIST, SUCCESS
from rocketmq_selfbalance.messages.membership import SubscriptionGroup
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.messages.offsets import ConsumerSendMsgBack, Retried
from rocketmq_selfbalance.messages.requests import Answer


def _send_back(broker: Broker, now: Time, sender: str, message: ConsumerSendMsgBack, out: Outbox) -> None:
    config = broker.disk.groups.find(message.group)
    if config is None:
        out.send(sender, Answer(message.correlation, SUBSCRIPTION_GROUP_NOT_EXIST))
        return
    if config.retry_queue_nums > 0:
        _retry(broker, now, message, config, out)
    out.send(sender, Answer(message.correlation, SUCCESS))


def _retry(broker: Broker, now: Time, message: ConsumerSendMsgBack, config: SubscriptionGroup, out: Outbox) -> None:
    """The record goes to the group's retry topic after a delay that grows with each time, at last to the dead ones."""
    before = _record(broker, message)
    limit = config.retry_max_times if message.max_reconsume_times < 0 else message.max_reconsume_times
    store, levels = broker.disk.store, broker.settings.delay_levels_s
    if max(before.times, message.tries) >= limit or message.delay_level < 0:
        dead = DLQ_PREFIX + message.group
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
    requests.schedule_next(broker, now, out)


def _record(broker: Broker, message: ConsumerSendMsgBack) -> Retried:
    """The record that is sent back, as it was before."""
    queue = broker.disk.store.queue(message.queue.topic, message.queue.number)
    if message.queue.topic.startswith(RETRY_PREFIX) and queue is not None and message.offset < len(queue.records):
        return queue.records[message.offset]
    return Retried(message.queue, message.offset, 0)


REQUESTS: Mapping[type[Message], Handler] = {ConsumerSendMsgBack: _send_back}
"""Type of a request to what the broker does."""
