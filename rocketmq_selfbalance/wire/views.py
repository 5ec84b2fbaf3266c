"""What tools ask a broker, such as mqadmin's views: functions of what the broker holds, in the JSON of its Java classes
(``AdminBrokerProcessor``)."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.codes import CONSUMER_NOT_ONLINE, SUCCESS, SYSTEM_ERROR
from rocketmq_selfbalance.messages.membership import Subscription
from rocketmq_selfbalance.wire import config_views, offset_views
from rocketmq_selfbalance.wire.answers import to_json
from rocketmq_selfbalance.wire.fields import FieldError, Fields, parsed, text
from rocketmq_selfbalance.wire.messages import Ask, AskClient, Reply
from rocketmq_selfbalance.wire.pulling import TAG, tags_of
from rocketmq_selfbalance.wire.served import ClientKind, Served
from rocketmq_selfbalance.wire.stored_messages import signed_hash

_MOST_QUESTIONS = 10_000

View: TypeAlias = Callable[[Served, Time, Ask], Reply]


def view(served: Served, now: Time, sender: str, message: Ask, out: Outbox) -> Reply | None:
    """The answer; None where a client has to be asked first."""
    try:
        if message.code == _RUNNING_INFO:
            return _ask_client(served, sender, message, out)
        return _VIEWS[message.code](served, now, message)
    except FieldError as error:
        return Reply(message.correlation, SYSTEM_ERROR, remark=str(error))


# Members.


def _offline(message: Ask, group: str) -> Reply:
    remark = f"the consumer group[{group}] not online"
    return Reply(message.correlation, CONSUMER_NOT_ONLINE, remark=remark)


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
    return Reply(message.correlation, SUCCESS, body=to_json(told))


def _producers(served: Served, now: Time, message: Ask) -> Reply:
    group = Fields(message.fields).text("producerGroup")
    channels = served.producers.get(group)
    if channels is None:
        remark = f"the producer group[{group}] not exist"
        return Reply(message.correlation, SYSTEM_ERROR, remark=remark)
    told = {"connectionSet": [_connection(kind, channel) for channel, kind in channels.items()]}
    return Reply(message.correlation, SUCCESS, body=to_json(told))


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
        return Reply(message.correlation, SYSTEM_ERROR, remark=remark)
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
        return Reply(message.correlation, SUCCESS)
    remark = f"The broker does not support consumer to filter message by {kind}"
    return Reply(message.correlation, SYSTEM_ERROR, remark=remark)


def _subscription_of(served: Served, now: Time, message: Ask) -> Reply:
    fields = Fields(message.fields)
    group, topic = fields.text("group"), fields.text("topic")
    found = served.broker.consumers.find_subscription(group, topic)
    told = {"group": group, "subscriptionData": None if found is None else _subscription(found), "topic": topic}
    return Reply(message.correlation, SUCCESS, body=to_json(told))


_RUNNING_INFO = 307

_VIEWS: Mapping[int, View] = {
    12: config_views.records_by_key,
    21: config_views.topics,
    26: config_views.broker_config,
    28: config_views.runtime,
    32: config_views.oldest_record,
    33: config_views.record_by_position,
    43: offset_views.all_offsets,
    46: _check_client,
    201: config_views.groups,
    202: offset_views.topic_stats,
    203: _connections,
    204: _producers,
    208: offset_views.consume_stats,
    300: offset_views.groups_of_topic,
    305: config_views.system_topics,
    343: offset_views.topics_of_group,
    345: _subscription_of,
    351: config_views.topic,
    352: config_views.group,
}
"""Number of a request to what answers it; `requests.BROKER_ASKED` has the names."""
