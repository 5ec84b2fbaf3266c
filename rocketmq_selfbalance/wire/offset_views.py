"""Views of offsets: how far groups have come, what queues hold (``AdminBrokerProcessor``)."""

from protocols.engine.nodes import Time
from protocols.java import Queue
from rocketmq_selfbalance.codes import SUBSCRIPTION_GROUP_NOT_EXIST, SUCCESS, TOPIC_NOT_EXIST
from rocketmq_selfbalance.messages.administration import ResetOffset
from rocketmq_selfbalance.wire.answers import to_json
from rocketmq_selfbalance.wire.fields import Fields
from rocketmq_selfbalance.wire.loose_json import with_queue_keys
from rocketmq_selfbalance.wire.messages import Ask, Reply
from rocketmq_selfbalance.wire.served import Served


def consume_stats(served: Served, now: Time, message: Ask) -> Reply:
    fields = Fields(message.fields)
    group, only = fields.text("consumerGroup"), fields.text("topic", "")
    broker = served.broker
    members = broker.consumers.groups.get(group)
    rows: list[tuple[Queue, object]] = []
    for topic in [only] if only else broker.offsets.topics_of(group):
        config = broker.disk.topics.configs.get(topic)
        if config is None or (members is not None and topic not in members.topics):
            continue
        for number in range(config.read):
            rows.append((Queue(topic, broker.name, number), _progress(served, now, group, topic, number)))
    return Reply(message.correlation, SUCCESS, body=with_queue_keys({"consumeTps": 0.0}, "offsetTable", rows))


def _progress(served: Served, now: Time, group: str, topic: str, number: int) -> dict[str, int]:
    broker, queue = served.broker, served.store.queue(topic, number)
    offset = max(broker.offsets.query(group, topic, number), 0)
    written = None if queue is None else queue.written_at(offset - 1)
    return {
        "brokerOffset": 0 if queue is None else queue.max_offset(now),
        "consumerOffset": offset,
        "lastTimestamp": 0 if written is None else served.epoch(written),
        "pullOffset": max(broker.offsets.query_pull(group, topic, number), 0),
    }


def reset_answer(served: Served, now: Time, correlation: int, command: ResetOffset) -> Reply:
    """The offsets that a reset has set."""
    broker = served.broker
    config = broker.disk.topics.configs.get(command.topic)
    if config is None:
        return Reply(correlation, TOPIC_NOT_EXIST, remark=f"Topic {command.topic} does not exist")
    if not broker.disk.groups.knows(command.group):
        return Reply(correlation, SUBSCRIPTION_GROUP_NOT_EXIST, remark=f"Group {command.group} does not exist")
    numbers = range(config.write) if command.queue_number < 0 else (command.queue_number,)
    rows = [
        (Queue(command.topic, broker.name, number), max(broker.offsets.query(command.group, command.topic, number), 0))
        for number in numbers
    ]
    return Reply(correlation, SUCCESS, body=with_queue_keys({}, "offsetTable", rows))


def all_offsets(served: Served, now: Time, message: Ask) -> Reply:
    told = {
        "offsetTable": {
            key: {str(number): offset for number, offset in offsets.items()}
            for key, offsets in served.broker.offsets.offsets.items()
        }
    }
    return Reply(message.correlation, SUCCESS, body=to_json(told))


def topic_stats(served: Served, now: Time, message: Ask) -> Reply:
    topic = Fields(message.fields).text("topic")
    config = served.broker.disk.topics.configs.get(topic)
    if config is None:
        return Reply(message.correlation, TOPIC_NOT_EXIST, remark=f"topic[{topic}] not exist")
    rows: list[tuple[Queue, object]] = []
    for number in range(config.write):
        queue = served.store.queue(topic, number)
        end = 0 if queue is None else queue.max_offset(now)
        written = None if queue is None else queue.written_at(end - 1)
        row = {
            "lastUpdateTimestamp": 0 if written is None else served.epoch(written),
            "maxOffset": end,
            "minOffset": 0 if queue is None else queue.min_offset,
        }
        rows.append((Queue(topic, served.broker.name, number), row))
    return Reply(message.correlation, SUCCESS, body=with_queue_keys({}, "offsetTable", rows))


def groups_of_topic(served: Served, now: Time, message: Ask) -> Reply:
    topic, broker = Fields(message.fields).text("topic"), served.broker
    groups = {*broker.consumers.groups_of(topic), *broker.offsets.groups_of(topic)}
    return Reply(message.correlation, SUCCESS, body=to_json({"groupList": sorted(groups)}))


def topics_of_group(served: Served, now: Time, message: Ask) -> Reply:
    topics = served.broker.offsets.topics_of(Fields(message.fields).text("group"))
    return Reply(message.correlation, SUCCESS, body=to_json({"topicList": topics}))
