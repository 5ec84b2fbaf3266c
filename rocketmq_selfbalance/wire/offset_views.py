"""What tools such as mqadmin ask a broker: functions of what it holds, in the JSON of its Java classes
(``AdminBrokerProcessor``); here how far groups have come, what queues hold, and who is there."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.messages.membership import ResetOffset, Subscription
from rocketmq_selfbalance.wire import config_views
from rocketmq_selfbalance.wire.answers import in_pieces, to_json
from rocketmq_selfbalance.wire.messages import Ask, AskClient, FieldError, Fields, Reply, parsed, text
from rocketmq_selfbalance.wire.pulling import TAG, tags_of
from rocketmq_selfbalance.wire.served import ClientKind, Served
from rocketmq_selfbalance.wire.stored_messages import signed_hash


def consume_stats(served: Served, now: Time, message: Ask) -> Reply:
    fields = Fields(message.fields)
    group, only = fields.text("consumerGroup"), fields.text("topic", "")
    broker = served.broker
    members = broker.consumers.groups.get(group)

    def rows() -> Iterator[tuple[Queue, object]]:
        for topic in [only] if only else broker.offsets.topics_of(group):
            config = broker.disk.topics.configs.get(topic)
            if config is None or (members is not None and topic not in members.topics):
                continue
            for number in range(config.read):
                yield Queue(topic, broker.name, number), _progress(served, now, group, topic, number)

    return Reply(message.correlation, codes.SUCCESS, body=in_pieces({"consumeTps": 0.0}, "offsetTable", rows()))


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
        return Reply(correlation, codes.TOPIC_NOT_EXIST, remark=f"Topic {command.topic} does not exist")
    if not broker.disk.groups.knows(command.group):
        return Reply(correlation, codes.SUBSCRIPTION_GROUP_NOT_EXIST, remark=f"Group {command.group} does not exist")
    numbers = range(config.write) if command.queue_number < 0 else (command.queue_number,)
    known = broker.offsets.known(command.group, command.topic)
    rows = ((Queue(command.topic, broker.name, number), max(known.get(number, 0), 0)) for number in numbers)
    return Reply(correlation, codes.SUCCESS, body=in_pieces({}, "offsetTable", rows))


def all_offsets(served: Served, now: Time, message: Ask) -> Reply:
    told = {
        "offsetTable": {
            key: {str(number): offset for number, offset in offsets.items()}
            for key, offsets in served.broker.offsets.offsets.items()
        }
    }
    return Reply(message.correlation, codes.SUCCESS, body=to_json(told))


def topic_stats(served: Served, now: Time, message: Ask) -> Reply:
    topic = Fields(message.fields).text("topic")
    config = served.broker.disk.topics.configs.get(topic)
    if config is None:
        return Reply(message.correlation, codes.TOPIC_NOT_EXIST, remark=f"topic[{topic}] not exist")
    rows = (
        (Queue(topic, served.broker.name, number), _held(served, now, topic, number)) for number in range(config.write)
    )
    return Reply(message.correlation, codes.SUCCESS, body=in_pieces({}, "offsetTable", rows))


def _held(served: Served, now: Time, topic: str, number: int) -> dict[str, int]:
    queue = served.store.queue(topic, number)
    end = 0 if queue is None else queue.max_offset(now)
    written = None if queue is None else queue.written_at(end - 1)
    return {
        "lastUpdateTimestamp": 0 if written is None else served.epoch(written),
        "maxOffset": end,
        "minOffset": 0 if queue is None else queue.min_offset,
    }


def groups_of_topic(served: Served, now: Time, message: Ask) -> Reply:
    topic, broker = Fields(message.fields).text("topic"), served.broker
    groups = {*broker.consumers.groups_of(topic), *broker.offsets.groups_of(topic)}
    return Reply(message.correlation, codes.SUCCESS, body=to_json({"groupList": sorted(groups)}))


def topics_of_group(served: Served, now: Time, message: Ask) -> Reply:
    topics = served.broker.offsets.topics_of(Fields(message.fields).text("group"))
    return Reply(message.correlation, codes.SUCCESS, body=to_json({"topicList": topics}))


_MOST_QUESTIONS = 10_000

View: TypeAlias = Callable[[Served, Time, Ask], Reply]


def view(served: Served, now: Time, sender: str, message: Ask, out: Outbox) -> Reply | None:
    """The answer; None where a client has to be asked first."""
    try:
        if message.code == _RUNNING_INFO:
            return _ask_client(served, sender, message, out)
        return _VIEWS[message.code](served, now, message)
    except FieldError as error:
        return Reply(message.correlation, codes.SYSTEM_ERROR, remark=str(error))


# Members.


def _offline(message: Ask, group: str) -> Reply:
    remark = f"the consumer group[{group}] not online"
    return Reply(message.correlation, codes.CONSUMER_NOT_ONLINE, remark=remark)


def _connections(served: Served, now: Time, message: Ask) -> Reply:
    group = Fields(message.fields).text("consumerGroup")
    members = served.broker.consumers.groups.get(group)
    if members is None:
        return _offline(message, group)
    told = {
        "connectionSet": [
            _connection(served.clients.get(channel, ClientKind(known.client_id, "OTHER", 0)), channel)
            for channel, known in members.channels.items()
        ],
        "consumeFromWhere": members.consume_from_where,
        "consumeType": members.consume_type,
        "messageModel": members.message_model,
        "subscriptionTable": {topic: _subscription(each) for topic, each in members.topics.items()},
    }
    return Reply(message.correlation, codes.SUCCESS, body=to_json(told))


def _producers(served: Served, now: Time, message: Ask) -> Reply:
    group = Fields(message.fields).text("producerGroup")
    channels = served.producers.get(group)
    if channels is None:
        remark = f"the producer group[{group}] not exist"
        return Reply(message.correlation, codes.SYSTEM_ERROR, remark=remark)
    told = {"connectionSet": [_connection(kind, channel) for channel, kind in channels.items()]}
    return Reply(message.correlation, codes.SUCCESS, body=to_json(told))


def _connection(kind: ClientKind, channel: str) -> dict[str, object]:
    return {"clientAddr": channel, "clientId": kind.client_id, "language": kind.language, "version": kind.version}


def _subscription(told: Subscription) -> dict[str, object]:
    tags = tags_of(told.expression)
    return {
        "classFilterMode": False,
        "codeSet": sorted({signed_hash(tag) for tag in tags}),
        "expressionType": TAG,
        "subString": told.expression,
        "subVersion": int(told.version),
        "tagsSet": sorted(set(tags)),
        "topic": told.topic,
    }


def _ask_client(served: Served, sender: str, message: Ask, out: Outbox) -> Reply | None:
    """A running client is asked what it owns; its answer is passed on."""
    fields = Fields(message.fields)
    group, client_id = fields.text("consumerGroup"), fields.text("clientId")
    members = served.broker.consumers.groups.get(group)
    found = [channel for channel, known in members.channels.items() if known.client_id == client_id] if members else []
    if not found:
        remark = f"The Consumer <{group}> <{client_id}> not online"
        return Reply(message.correlation, codes.SYSTEM_ERROR, remark=remark)
    if len(served.questions) >= _MOST_QUESTIONS:
        del served.questions[next(iter(served.questions))]
    served.asked += 1
    served.questions[served.asked] = sender, message.correlation, found[0]
    out.send(found[0], AskClient(served.asked, message.code, dict(message.fields)))
    return None


def _check_client(served: Served, now: Time, message: Ask) -> Reply:
    data = parsed(message.body).get("subscriptionData")
    kind = text(data, "expressionType", TAG) if isinstance(data, dict) else TAG
    if kind in (TAG, ""):
        return Reply(message.correlation, codes.SUCCESS)
    remark = f"The broker does not support consumer to filter message by {kind}"
    return Reply(message.correlation, codes.SYSTEM_ERROR, remark=remark)


def _subscription_of(served: Served, now: Time, message: Ask) -> Reply:
    fields = Fields(message.fields)
    group, topic = fields.text("group"), fields.text("topic")
    found = served.broker.consumers.find_subscription(group, topic)
    told = {"group": group, "subscriptionData": None if found is None else _subscription(found), "topic": topic}
    return Reply(message.correlation, codes.SUCCESS, body=to_json(told))


_RUNNING_INFO = 307

_VIEWS: Mapping[int, View] = {
    12: config_views.records_by_key,
    21: config_views.topics,
    26: config_views.broker_config,
    28: config_views.runtime,
    32: config_views.oldest_record,
    33: config_views.record_by_position,
    43: all_offsets,
    46: _check_client,
    201: config_views.groups,
    202: topic_stats,
    203: _connections,
    204: _producers,
    208: consume_stats,
    300: groups_of_topic,
    305: config_views.system_topics,
    343: topics_of_group,
    345: _subscription_of,
    351: config_views.topic,
    352: config_views.group,
}
"""Number of a request to what answers it; `requests.BROKER_ASKED` has the names."""
