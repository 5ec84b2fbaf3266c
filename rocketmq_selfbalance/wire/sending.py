"""Producers' records (``SendMessageProcessor``, ``ScheduleMessageService``, and the creation of topics by
``TopicConfigManager.createTopicInSendMessageMethod``), and those that consumers send back
(``consumerSendMsgBack``; spec 6.7), by the rules of `rocketmq_selfbalance.broker.node`."""

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from math import ceil

from protocols.engine.nodes import Outbox, Time
from protocols.facts import Noted
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.broker import administration, node
from rocketmq_selfbalance.broker.state import retry_topic
from rocketmq_selfbalance.messages.membership import SubscriptionGroup
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.wire import stored_messages
from rocketmq_selfbalance.wire.messages import Reply, SendBack, SendMessage
from rocketmq_selfbalance.wire.served import Served
from rocketmq_selfbalance.wire.stored_messages import (
    Record,
    host_of,
    message_id,
    parse_properties,
    properties_text,
    split_batch,
    tags_code,
)

AUTO_TOPIC = "TBW102"
"""The topic after whose model producers' topics are made (``AUTO_CREATE_TOPIC_KEY_TOPIC``)."""

PERM_INHERIT = 1
REGION = "DefaultRegion"

_LONGEST_TOPIC, _MOST_PROPERTIES = 127, 32_767
TIMER_PRECISION_MS: Time = 1_000.0
"""``timerPrecisionMs``: timers are due at whole seconds since 1970."""
PREPARED = 4
"""Bit of the system flag: the first half of a transaction."""
_TIMED = {"TIMER_DELIVER_MS": 1.0, "TIMER_DELAY_MS": 1.0, "TIMER_DELAY_SEC": 1000.0}
"""Property by which a record asks to be delivered later to the milliseconds of its unit."""


WRITE = "write"
"""First part of the name of a timer: the next records of a topic are written."""
_AT_ONCE = 2_000
"""Records of a batch that are read or written until others may have their turn."""
_LONG = 64 * 1024
"""Bytes of a batch that is taken piece by piece."""


def send(served: Served, now: Time, sender: str, message: SendMessage, out: Outbox) -> None:
    """Write what a producer sends, and answer it: piece by piece, where it is a long batch. What comes for the same
    topic meanwhile waits, so that the records of a batch follow each other."""
    unfinished, work = served.unfinished.get(message.topic), _sent(served, now, sender, message, out)
    if unfinished is not None:
        unfinished.append(work)
    elif message.batch and len(message.body) > _LONG:
        served.unfinished[message.topic] = deque([work])
        out.set_timer((WRITE, message.topic), now)
    else:
        deque(work, maxlen=0)


def go_on(served: Served, now: Time, topic: str, out: Outbox) -> None:
    """Do the next piece of what waits for this topic."""
    unfinished = served.unfinished[topic]
    if next(unfinished[0], _DONE) is _DONE:
        unfinished.popleft()
    if unfinished:
        out.set_timer((WRITE, topic), now)
    else:
        del served.unfinished[topic]


_DONE = object()


def _sent(served: Served, now: Time, sender: str, message: SendMessage, out: Outbox) -> Iterator[None]:
    records = [(message.flag, message.body, message.properties)] if not message.batch else []
    try:
        for each in split_batch(message.body) if message.batch else ():
            records.append(each)
            if len(records) % _AT_ONCE == 0:
                yield
    except (ValueError, UnicodeError) as error:
        out.send(sender, Reply(message.correlation, codes.MESSAGE_ILLEGAL, remark=str(error)))
        return
    refused = refusal(served, now, message, records, out)
    if refused is not None:
        out.send(sender, Reply(message.correlation, refused[0], remark=refused[1]))
        return
    topic, number = _place(served, now, message, out)
    model = Record(topic, number, 0, message.sys_flag, message.born, host_of(sender), message.reconsume_times, "", b"")
    ids, first = yield from write(served, now, model, records, out)
    fields = {
        "queueId": str(number),
        "msgId": ",".join(ids),
        "TRACE_ON": "true",
        "MSG_REGION": REGION,
        "queueOffset": str(first),
    }
    if not message.batch and (unique := parse_properties(message.properties).get("UNIQ_KEY")):
        fields["transactionId"] = unique
    out.send(sender, Reply(message.correlation, codes.SUCCESS, fields))
    served.arrived(now, topic, number, out)


def write(
    served: Served, now: Time, model: Record, records: list[tuple[int, bytes, str]], out: Outbox
) -> Generator[None, None, tuple[list[str], int]]:
    """Write records like the model, or keep those that ask for a delay; their ids, and the offset of the first that is
    written, 0 where none is."""
    store = served.store
    added = {"MSG_REGION": REGION, "TRACE_ON": "true", "CLUSTER": served.wire.cluster}
    ending = properties_text(added)
    writing = store.open_queue(now, model)
    first = writing.queue.max_offset(now)
    ids: list[str] = []
    for flag, body, text in records:
        if ids and len(ids) % _AT_ONCE == 0:
            yield
        ids.append(message_id(store.host, store.position))
        if "TAGS" in text or "DELAY" in text or "TIMER_" in text:
            properties = parse_properties(text)
            due, tags = _due(served, now, properties), tags_code(properties)
            if due is not None:
                properties |= {**added, "REAL_TOPIC": model.topic, "REAL_QID": str(model.queue_number)}
                store.keep_until(due, model._replace(flag=flag, body=body, properties=properties_text(properties)))
                continue
        else:
            tags = 0
        whole = f"{text}\x02{ending}" if text and text[-1] != "\x02" else text + ending
        store.write(writing, flag, body, whole.encode(), tags)
    if store.delayed:
        node.schedule_next(served.broker, now, out)
    return ids, first if writing.queue.max_offset(now) > first else 0


def _due(served: Served, now: Time, properties: dict[str, str]) -> Time | None:
    """When a record with these properties is delivered; None: at once. Its properties say no more that it waits."""
    level = _whole(properties.pop("DELAY", "0"))
    levels = served.broker.settings.delay_levels_s
    if level > 0:
        return now + levels[min(level, len(levels)) - 1] * 1000.0
    for name, factor in _TIMED.items():
        value = properties.get(name)
        if value is not None:
            at = _whole(value) * factor
            at = at if name == "TIMER_DELIVER_MS" else now + served.epoch_ms + at
            return max(now, ceil(at / TIMER_PRECISION_MS) * TIMER_PRECISION_MS - served.epoch_ms)
    return None


def _whole(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        return 0


def refusal(
    served: Served, now: Time, message: SendMessage, records: list[tuple[int, bytes, str]], out: Outbox
) -> tuple[int, str] | None:
    """Why the records are not taken, in the order in which a broker looks; topics come into being thereby."""
    broker, topic = served.broker, message.topic
    if message.sys_flag & PREPARED or "TRAN_MSG\x01true" in message.properties:
        return codes.NO_PERMISSION, f"the broker[{served.address}] sending transaction message is forbidden"
    if not topic or len(topic.encode()) > _LONGEST_TOPIC or any(each.isspace() for each in topic):
        return codes.SYSTEM_ERROR, f"The specified topic[{topic[:40]}] contains illegal characters or is too long"
    if topic == AUTO_TOPIC:
        return codes.SYSTEM_ERROR, f"The topic[{topic}] is conflict with system topic."
    config = broker.disk.topics.configs.get(topic) or _create(served, now, message, out)
    if config is None:
        return codes.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please!"
    if not config.perm & codes.PERM_WRITE:
        return codes.NO_PERMISSION, f"the topic[{topic}] sending message is forbidden"
    if message.queue_number >= max(config.read, config.write):
        return codes.SYSTEM_ERROR, f"request queueId[{message.queue_number}] is illegal, {config}"
    for _, body, properties in records:
        long = len(properties) > _MOST_PROPERTIES // 4 and len(properties.encode()) > _MOST_PROPERTIES
        if long or len(body) > served.wire.most_message_bytes:
            return codes.MESSAGE_ILLEGAL, (
                "the message is illegal, maybe msg body or properties length not matched."
                f" msg body length limit {served.wire.most_message_bytes}B, msg properties length limit 32KB."
            )
    if topic.startswith(codes.RETRY_PREFIX) and broker.disk.groups.find(topic.removeprefix(codes.RETRY_PREFIX)) is None:
        return (
            codes.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"subscription group not exist, {topic.removeprefix(codes.RETRY_PREFIX)}",
        )
    return None


def _create(served: Served, now: Time, message: SendMessage, out: Outbox) -> TopicConfig | None:
    """The topic that a producer writes to and that is not there yet."""
    broker = served.broker
    configs = broker.disk.topics.configs
    if len(configs) >= served.wire.most_topics:
        return None
    model = configs.get(message.default_topic)
    if message.topic.startswith(codes.RETRY_PREFIX):
        group = broker.disk.groups.find(message.topic.removeprefix(codes.RETRY_PREFIX))
        made = None if group is None else retry_topic(group)
    elif model is None or not model.perm & PERM_INHERIT:
        made = None
    else:
        count = max(min(message.default_queues, model.write), 0)
        made = TopicConfig(message.topic, count, count, model.perm & ~PERM_INHERIT)
    if made is not None:
        administration.put(broker, now, made, out)
    return made


def _place(served: Served, now: Time, message: SendMessage, out: Outbox) -> tuple[str, int]:
    """Topic and queue number that the records go to: those asked for, or the dead letters."""
    broker, topic = served.broker, message.topic
    if topic.startswith(codes.RETRY_PREFIX):
        group = topic.removeprefix(codes.RETRY_PREFIX)
        config = broker.disk.groups.find(group)
        limit = config.retry_max_times if config is not None else 0
        if message.max_reconsume_times is not None:
            limit = message.max_reconsume_times
        if message.reconsume_times > limit:
            return dead_letters(served, now, group, out), 0
    number = message.queue_number
    if number < 0:
        number = out.choose("queue", range(max(broker.disk.topics.configs[topic].write, 1)))
    return topic, number


def dead_letters(served: Served, now: Time, group: str, out: Outbox) -> str:
    """The topic of a group's dead letters, which is made where it is not there yet."""
    topic = codes.DLQ_PREFIX + group
    if topic not in served.broker.disk.topics.configs:
        administration.put(served.broker, now, TopicConfig(topic, 1, 1, codes.PERM_WRITE | 4), out)
    return topic


def with_defaults(configs: Mapping[str, TopicConfig], queues: int) -> dict[str, TopicConfig]:
    """A broker's topics with the one after whose model producers' topics are made."""
    return {AUTO_TOPIC: TopicConfig(AUTO_TOPIC, queues, queues, 4 | codes.PERM_WRITE | PERM_INHERIT), **configs}


def send_back(served: Served, now: Time, sender: str, message: SendBack, out: Outbox) -> None:
    """A record failed: it goes to the group's retry topic after a delay, at last to its dead letters."""
    config = served.broker.disk.groups.find(message.group)
    if config is None:
        remark = f"subscription group not exist, {message.group}"
        out.send(sender, Reply(message.correlation, codes.SUBSCRIPTION_GROUP_NOT_EXIST, remark=remark))
        return
    if config.retry_queue_nums > 0:
        kept = served.store.found_at(message.position)
        if kept is None:
            remark = f"look message by offset failed, {message.position}"
            out.send(sender, Reply(message.correlation, codes.SYSTEM_ERROR, remark=remark))
            return
        _retry(served, now, message, config, stored_messages.decode(kept.content), out)
    out.send(sender, Reply(message.correlation, codes.SUCCESS))


def _retry(
    served: Served, now: Time, message: SendBack, config: SubscriptionGroup, before: stored_messages.Stored, out: Outbox
) -> None:
    broker, store, record = served.broker, served.store, before.record
    properties = stored_messages.parse_properties(record.properties)
    properties.setdefault("RETRY_TOPIC", record.topic)
    properties.setdefault("ORIGIN_MESSAGE_ID", stored_messages.message_id(before.store_host, before.position))
    properties["WAIT"] = "false"
    limit = config.retry_max_times if message.max_reconsume_times is None else message.max_reconsume_times
    again = record._replace(reconsume_times=record.reconsume_times + 1)
    if record.reconsume_times >= limit or message.delay_level < 0:
        topic = dead_letters(served, now, message.group, out)
        text = stored_messages.properties_text(properties)
        store.append(now, again._replace(topic=topic, queue_number=0, properties=text), properties)
        origin = f"{properties['RETRY_TOPIC']} ({properties['ORIGIN_MESSAGE_ID']})"
        out.observe(Noted(f"a record of {origin} is given up by {message.group}"))
        served.arrived(now, topic, 0, out)
        return
    topic = codes.RETRY_PREFIX + message.group
    if topic not in broker.disk.topics.configs:
        administration.put(broker, now, retry_topic(config), out)
    levels = broker.settings.delay_levels_s
    level = min(message.delay_level or 3 + record.reconsume_times, len(levels))
    number = out.choose("retry queue", range(config.retry_queue_nums))
    properties |= {"REAL_TOPIC": topic, "REAL_QID": str(number)}
    text = stored_messages.properties_text(properties)
    due = now + levels[level - 1] * 1000.0
    store.keep_until(due, again._replace(topic=topic, queue_number=number, properties=text))
    node.schedule_next(broker, now, out)
