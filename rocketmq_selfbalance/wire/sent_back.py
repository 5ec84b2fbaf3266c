"""Consumers send back records that they could not handle: ``SendMessageProcessor.consumerSendMsgBack`` for records with
contents (spec 6.7). The rules are those of `rocketmq_selfbalance.broker.sent_back`."""

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Noted
from rocketmq_selfbalance.broker import delivering, topic_changes
from rocketmq_selfbalance.broker.subscription_groups import retry_topic
from rocketmq_selfbalance.codes import RETRY_PREFIX, SUBSCRIPTION_GROUP_NOT_EXIST, SUCCESS, SYSTEM_ERROR
from rocketmq_selfbalance.messages.administration import SubscriptionGroup
from rocketmq_selfbalance.wire import pulling, sending, stored_messages
from rocketmq_selfbalance.wire.messages import Reply, SendBack
from rocketmq_selfbalance.wire.served import Served


def send_back(served: Served, now: Time, sender: str, message: SendBack, out: Outbox) -> None:
    """A record failed: it goes to the group's retry topic after a delay, at last to its dead letters."""
    config = served.broker.disk.groups.find(message.group)
    if config is None:
        remark = f"subscription group not exist, {message.group}"
        out.send(sender, Reply(message.correlation, SUBSCRIPTION_GROUP_NOT_EXIST, remark=remark))
        return
    if config.retry_queue_nums > 0:
        kept = served.store.found_at(message.position)
        if kept is None:
            remark = f"look message by offset failed, {message.position}"
            out.send(sender, Reply(message.correlation, SYSTEM_ERROR, remark=remark))
            return
        _retry(served, now, message, config, stored_messages.decode(kept.content), out)
    out.send(sender, Reply(message.correlation, SUCCESS))


def _retry(
    served: Served,
    now: Time,
    message: SendBack,
    config: SubscriptionGroup,
    before: stored_messages.Stored,
    out: Outbox,
) -> None:
    broker, store, record = served.broker, served.store, before.record
    properties = stored_messages.parse_properties(record.properties)
    properties.setdefault("RETRY_TOPIC", record.topic)
    properties.setdefault("ORIGIN_MESSAGE_ID", stored_messages.message_id(before.store_host, before.position))
    properties["WAIT"] = "false"
    limit = config.retry_max_times if message.max_reconsume_times is None else message.max_reconsume_times
    again = record._replace(reconsume_times=record.reconsume_times + 1)
    if record.reconsume_times >= limit or message.delay_level < 0:
        topic = sending.dead_letters(served, now, message.group, out)
        text = stored_messages.properties_text(properties)
        store.append(now, again._replace(topic=topic, queue_number=0, properties=text), properties)
        origin = f"{properties['RETRY_TOPIC']} ({properties['ORIGIN_MESSAGE_ID']})"
        out.observe(Noted(f"a record of {origin} is given up by {message.group}"))
        pulling.arrived(served, now, topic, 0, out)
        return
    topic = RETRY_PREFIX + message.group
    if topic not in broker.disk.topics.configs:
        topic_changes.put(broker, now, retry_topic(config), out)
    levels = broker.settings.delay_levels_s
    level = min(message.delay_level or 3 + record.reconsume_times, len(levels))
    number = out.choose("retry queue", range(config.retry_queue_nums))
    properties |= {"REAL_TOPIC": topic, "REAL_QID": str(number)}
    text = stored_messages.properties_text(properties)
    due = now + levels[level - 1] * 1000.0
    store.keep_until(due, again._replace(topic=topic, queue_number=number, properties=text))
    delivering.schedule_next(broker, now, out)
