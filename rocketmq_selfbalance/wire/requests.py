"""Frames of clients and tools to messages: what each request number means to a broker, and to a name server."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from protocols.engine.nodes import Message
from protocols.java import Queue
from rocketmq_selfbalance.messages import membership, offsets
from rocketmq_selfbalance.messages.nameserver import GetRouteInfo
from rocketmq_selfbalance.messages.requests import LockBatchMq, UnlockBatchMq
from rocketmq_selfbalance.remoting import ONEWAY, Frame
from rocketmq_selfbalance.wire import messages, orders, remoting_pops

_COMMIT, _SUSPEND, _FILTER = 1, 2, 4
"""Bits of a pull's system flag: it commits, it may be held, it brings a filter of its own."""

_MOST_HELD_MS = 15 * 60 * 1000

Decoder: TypeAlias = Callable[[int, Frame, str], Message]
"""The request's number, its frame, the name of the server; raises `FieldError`."""


def _queue(fields: messages.Fields, server: str) -> Queue:
    return Queue(fields.text("topic"), server, fields.whole("queueId"))


def _heartbeat(number: int, frame: Frame, server: str) -> Message:
    body = messages.body_of(frame)
    client_id = messages.text(body, "clientID") or messages.text(body, "clientId")
    if not client_id:
        raise messages.FieldError("a heartbeat without clientID")
    fingerprint = messages.whole("heartbeatFingerprint", body.get("heartbeatFingerprint") or 0)
    consumers = tuple(map(_consumer, messages.objects(body.get("consumerDataSet"))))
    return messages.ClientHeartbeat(
        number,
        membership.HeartBeat(
            number, client_id, tuple(consumer for consumer in consumers if orders.LEGAL_GROUP.fullmatch(consumer.group))
        ),
        tuple(messages.text(each, "groupName") for each in messages.objects(body.get("producerDataSet"))),
        fingerprint,
        body.get("withoutSub") is True,
        frame.language,
        frame.version,
    )


def _consumer(told: Mapping[str, object]) -> membership.ConsumerData:
    subscriptions = (
        membership.Subscription(
            messages.text(each, "topic"),
            messages.text(each, "subString", "*"),
            float(messages.whole("subVersion", each.get("subVersion") or 0)),
        )
        for each in messages.objects(told.get("subscriptionDataSet"))
    )
    return membership.ConsumerData(
        messages.text(told, "groupName"),
        messages.text(told, "consumeType"),
        messages.text(told, "messageModel"),
        messages.text(told, "consumeFromWhere"),
        tuple(sorted(subscriptions)),
    )


def _unregister(number: int, frame: Frame, server: str) -> Message:
    fields = messages.Fields(frame.fields)
    return membership.UnregisterClient(number, fields.text("clientID"), fields.text("consumerGroup", ""))


def _consumer_list(number: int, frame: Frame, server: str) -> Message:
    return membership.GetConsumerListByGroup(number, messages.Fields(frame.fields).text("consumerGroup"))


def _pull(number: int, frame: Frame, server: str) -> Message:
    fields = messages.Fields(frame.fields)
    flags = fields.whole("sysFlag")
    held = min(max(fields.whole("suspendTimeoutMillis", 0), 0), _MOST_HELD_MS)
    pull = offsets.PullMessage(
        number,
        fields.text("consumerGroup"),
        _queue(fields, server),
        fields.whole("queueOffset"),
        max(fields.whole("maxMsgNums"), 1),
        float(held) if flags & _SUSPEND else 0.0,
        fields.whole("commitOffset") if flags & _COMMIT else None,
        float(fields.whole("subVersion", 0)),
    )
    expression = fields.text("subscription", "*") if flags & _FILTER else None
    return messages.Pull(
        number, pull, fields.whole("maxMsgBytes", 2**31 - 1), expression, fields.text("expressionType", "TAG")
    )


def _commit(number: int, frame: Frame, server: str) -> Message:
    fields = messages.Fields(frame.fields)
    oneway = bool(frame.flag & ONEWAY)
    queue, offset = _queue(fields, server), fields.whole("commitOffset")
    return offsets.UpdateConsumerOffset(number, fields.text("consumerGroup"), queue, offset, oneway)


def _query_offset(number: int, frame: Frame, server: str) -> Message:
    fields = messages.Fields(frame.fields)
    zero = fields.flag("setZeroIfNotFound", default=True)
    return offsets.QueryConsumerOffset(number, fields.text("consumerGroup"), _queue(fields, server), zero)


def _max_offset(number: int, frame: Frame, server: str) -> Message:
    return offsets.GetMaxOffset(number, _queue(messages.Fields(frame.fields), server))


def _min_offset(number: int, frame: Frame, server: str) -> Message:
    return offsets.GetMinOffset(number, _queue(messages.Fields(frame.fields), server))


def _search_offset(number: int, frame: Frame, server: str) -> Message:
    fields = messages.Fields(frame.fields)
    return offsets.SearchOffsetByTimestamp(number, _queue(fields, server), float(fields.whole("timestamp")))


def _locks(frame: Frame) -> tuple[str, str, tuple[Queue, ...]]:
    body = messages.body_of(frame)
    queues = tuple(
        Queue(
            messages.text(each, "topic"),
            messages.text(each, "brokerName"),
            messages.whole("queueId", each.get("queueId")),
        )
        for each in messages.objects(body.get("mqSet"))
    )
    return messages.text(body, "consumerGroup"), messages.text(body, "clientId"), queues


def _lock(number: int, frame: Frame, server: str) -> Message:
    return LockBatchMq(number, *_locks(frame))


def _unlock(number: int, frame: Frame, server: str) -> Message:
    return UnlockBatchMq(number, *_locks(frame), oneway=bool(frame.flag & ONEWAY))


_LONG_NAMES = {
    "a": "producerGroup",
    "b": "topic",
    "c": "defaultTopic",
    "d": "defaultTopicQueueNums",
    "e": "queueId",
    "f": "sysFlag",
    "g": "bornTimestamp",
    "h": "flag",
    "i": "properties",
    "j": "reconsumeTimes",
    "l": "maxReconsumeTimes",
    "m": "batch",
}
"""The short names of a version 2 request to those of version 1."""


def _send(number: int, frame: Frame, server: str, names: Mapping[str, str], *, batch: bool = False) -> Message:
    fields = messages.Fields(frame.fields)
    return messages.SendMessage(
        number,
        fields.text(names["producerGroup"]),
        fields.text(names["topic"]),
        fields.text(names["defaultTopic"], ""),
        fields.whole(names["defaultTopicQueueNums"], 4),
        fields.whole(names["queueId"]),
        fields.whole(names["sysFlag"]),
        fields.whole(names["bornTimestamp"]),
        fields.whole(names["flag"]) & 0x7FFFFFFF,
        fields.text(names["properties"], ""),
        fields.whole(names["reconsumeTimes"], 0),
        fields.optional(names["maxReconsumeTimes"]),
        frame.body,
        batch or fields.flag(names["batch"]),
        bool(frame.flag & ONEWAY),
    )


_SHORT = {name: letter for letter, name in _LONG_NAMES.items()}
_LONG = {name: name for name in _LONG_NAMES.values()}


def _send_1(number: int, frame: Frame, server: str) -> Message:
    return _send(number, frame, server, _LONG)


def _send_2(number: int, frame: Frame, server: str) -> Message:
    return _send(number, frame, server, _SHORT)


def _send_batch(number: int, frame: Frame, server: str) -> Message:
    return _send(number, frame, server, _SHORT if "b" in frame.fields else _LONG, batch=True)


def _send_back(number: int, frame: Frame, server: str) -> Message:
    fields = messages.Fields(frame.fields)
    return messages.SendBack(
        number,
        fields.text("group"),
        fields.whole("offset"),
        fields.whole("delayLevel"),
        fields.optional("maxReconsumeTimes"),
        bool(frame.flag & ONEWAY),
    )


def _ask(number: int, frame: Frame, server: str) -> Message:
    return messages.Ask(number, frame.code, frame.fields, frame.body)


def _route(number: int, frame: Frame, server: str) -> Message:
    return GetRouteInfo(number, messages.Fields(frame.fields).text("topic"))


BROKER_ASKED = {
    12: "QUERY_MESSAGE",
    21: "GET_ALL_TOPIC_CONFIG",
    26: "GET_BROKER_CONFIG",
    28: "GET_BROKER_RUNTIME_INFO",
    32: "GET_EARLIEST_MSG_STORETIME",
    33: "VIEW_MESSAGE_BY_ID",
    43: "GET_ALL_CONSUMER_OFFSET",
    46: "CHECK_CLIENT_CONFIG",
    201: "GET_ALL_SUBSCRIPTIONGROUP_CONFIG",
    202: "GET_TOPIC_STATS_INFO",
    203: "GET_CONSUMER_CONNECTION_LIST",
    204: "GET_PRODUCER_CONNECTION_LIST",
    208: "GET_CONSUME_STATS",
    300: "QUERY_TOPIC_CONSUME_BY_WHO",
    305: "GET_SYSTEM_TOPIC_LIST_FROM_BROKER",
    307: "GET_CONSUMER_RUNNING_INFO",
    343: "QUERY_TOPICS_BY_CONSUMER",
    345: "QUERY_SUBSCRIPTION_BY_CONSUMER",
    351: "GET_TOPIC_CONFIG",
    352: "GET_SUBSCRIPTIONGROUP_CONFIG",
}
"""Numbers of what tools ask a broker, answered by `offset_views`, to their names."""

NAME_SERVER_ASKED = {
    100: "PUT_KV_CONFIG",
    101: "GET_KV_CONFIG",
    102: "DELETE_KV_CONFIG",
    106: "GET_BROKER_CLUSTER_INFO",
    206: "GET_ALL_TOPIC_LIST_FROM_NAMESERVER",
    219: "GET_KVLIST_BY_NAMESPACE",
    224: "GET_TOPICS_BY_CLUSTER",
    304: "GET_SYSTEM_TOPIC_LIST_FROM_NS",
}
"""Numbers of what tools ask a name server, answered by `name_server`, to their names."""

BROKER: Mapping[int, Decoder] = {
    10: _send_1,
    11: _pull,
    14: _query_offset,
    15: _commit,
    17: orders.update_topic,
    29: _search_offset,
    30: _max_offset,
    31: _min_offset,
    34: _heartbeat,
    35: _unregister,
    36: _send_back,
    38: _consumer_list,
    41: _lock,
    42: _unlock,
    200: orders.update_group,
    207: orders.delete_group,
    215: orders.delete_topic,
    222: orders.reset,
    310: _send_2,
    320: _send_batch,
    361: _pull,
    **remoting_pops.DECODERS,
    **dict.fromkeys(BROKER_ASKED, _ask),
}
"""Number of a request to a broker to what it says."""

NAME_SERVER: Mapping[int, Decoder] = {
    103: orders.decoded,
    104: orders.unregister_broker,
    105: _route,
    205: orders.wipe,
    216: orders.forget_topic,
    327: orders.add_perm,
    **dict.fromkeys(NAME_SERVER_ASKED, _ask),
}
"""Number of a request to a name server to what it says."""
