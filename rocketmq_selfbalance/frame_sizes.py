"""How many bytes the frame of a message has on RocketMQ's wire, as a Java client and Java servers of 5.3 write it, in
JSON, the default.

Sizes depend on texts and on how many digits numbers have, so that most are looked up (`_sizes`).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from protocols.engine.nodes import Message
from protocols.java import Queue
from rocketmq_selfbalance.messages import membership, nameserver, offsets, requests
from rocketmq_selfbalance.remoting import ONEWAY, RESPONSE, Frame, encode, json_text

_TO_HEARTBEAT = {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
"""What nearly all plain answers have, as they answer heartbeats; others are shorter."""

NO_FIELDS = '"extFields":{},'
"""What Java leaves out of an answer that has no header of its own."""

_VERSION = "1700000000000"
"""A subscription's version is a time in milliseconds, which has 13 digits; the simulation's times begin at 0."""


def _frame(message: Any, fields: Mapping[str, str], told: object = None, *, oneway: bool = False) -> int:
    body = b"" if told is None else json_text(told).encode()
    code = requests.REQUEST_CODES[type(message)]
    return len(encode(Frame(code, message.correlation, fields, body, flag=ONEWAY if oneway else 0, language="JAVA")))


def _answer(message: Any, fields: Mapping[str, str], told: object = None) -> int:
    body = b"" if told is None else json_text(told).encode()
    code = getattr(message, "code", 0)
    size = len(encode(Frame(code, message.correlation, fields, body, flag=RESPONSE, language="JAVA")))
    return size if fields or type(message) is membership.ConsumerList else size - len(NO_FIELDS)


def _heartbeat(message: membership.HeartBeat) -> int:
    consumers = [
        {
            "consumeFromWhere": each.consume_from_where,
            "consumeType": each.consume_type,
            "groupName": each.group,
            "messageModel": each.message_model,
            "subscriptionDataSet": [
                {
                    "classFilterMode": False,
                    "codeSet": [],
                    "expressionType": "TAG",
                    "subString": read.expression,
                    "subVersion": int(_VERSION),
                    "tagsSet": [],
                    "topic": read.topic,
                }
                for read in each.subscriptions
            ],
            "unitMode": False,
        }
        for each in message.consumers
    ]
    told = {
        "clientID": message.client_id,
        "consumerDataSet": consumers,
        "heartbeatFingerprint": 0,
        "producerDataSet": [{"groupName": "CLIENT_INNER_PRODUCER"}],
        "withoutSub": False,
    }
    return _frame(message, {}, told)


def _of_queue(group: str, queue: Queue, **more: str) -> dict[str, str]:
    return {"queueId": str(queue.number), "bname": queue.broker, **more, "topic": queue.topic, "consumerGroup": group}


def _locks(message: requests.LockBatchMq | requests.UnlockBatchMq) -> int:
    told = {
        "clientId": message.client_id,
        "consumerGroup": message.group,
        "mqSet": [_queue(each) for each in message.queues],
        "onlyThisBroker": False,
    }
    return _frame(message, {}, told, oneway=getattr(message, "oneway", False))


def _queue(queue: Queue) -> dict[str, object]:
    return {"brokerName": queue.broker, "queueId": queue.number, "topic": queue.topic}


def _route(message: nameserver.RouteInfoAnswer) -> int:
    if message.route is None:
        return _answer(message, {})
    brokers = [
        {
            "brokerAddrs": {str(number): address for number, address in each.addresses},
            "brokerName": each.broker,
            "cluster": each.cluster,
            "enableActingMaster": False,
        }
        for each in message.route.brokers
    ]
    queues = [
        {
            "brokerName": each.broker,
            "perm": each.perm,
            "readQueueNums": each.read,
            "topicSysFlag": 0,
            "writeQueueNums": each.write,
        }
        for each in message.route.queues
    ]
    return _answer(message, {}, {"brokerDatas": brokers, "filterServerTable": {}, "queueDatas": queues})


@lru_cache(maxsize=65_536)
def _commit(group: str, queue: Queue, digits: int, numbers: int, oneway: bool) -> int:
    message = offsets.UpdateConsumerOffset(10 ** (numbers - 1), group, queue, 10 ** (digits - 1), oneway)
    fields = _of_queue(group, queue, commitOffset=str(message.offset))
    return _frame(message, fields, oneway=oneway)


def _digits(number: int) -> int:
    return len(str(number))


_SIZES: Mapping[type[Message], Callable[[Any], int]] = {
    offsets.UpdateConsumerOffset: lambda told: _commit(
        told.group, told.queue, _digits(told.offset), _digits(told.correlation), told.oneway
    ),
    offsets.QueryConsumerOffset: lambda told: _frame(told, _of_queue(told.group, told.queue)),
    membership.HeartBeat: _heartbeat,
    membership.UnregisterClient: lambda told: _frame(told, {"clientID": told.client_id, "consumerGroup": told.group}),
    membership.GetConsumerListByGroup: lambda told: _frame(told, {"consumerGroup": told.group}),
    membership.ConsumerList: lambda told: _answer(told, {}, {"consumerIdList": told.client_ids}),
    membership.NotifyConsumerIdsChanged: lambda told: _frame(told, {"consumerGroup": told.group}, oneway=True),
    offsets.OffsetAnswer: lambda told: _answer(told, {"offset": str(told.offset)}),
    nameserver.GetRouteInfo: lambda told: _frame(told, {"topic": told.topic}),
    nameserver.RouteInfoAnswer: _route,
    requests.Answer: lambda told: _answer(told, _TO_HEARTBEAT),
    requests.LockBatchMq: _locks,
    requests.LockBatchMqAnswer: lambda told: _answer(told, {}, {"lockOKMQSet": list(map(_queue, told.locked))}),
    requests.UnlockBatchMq: _locks,
}


REQUESTS = frozenset(kind for kind in _SIZES if kind in requests.REQUEST_CODES) - {membership.NotifyConsumerIdsChanged}
"""Messages that clients send."""


def frame_size(message: Message, client: str = "", server: str = "") -> int:
    """Bytes of the frame, its length included."""
    kind = type(message)
    if kind is offsets.UpdateConsumerOffset:
        return _SIZES[kind](message)
    return _of_alike(kind, _digits(message[0]), message[1:])


@lru_cache(maxsize=4096)
def _of_alike(kind: Callable[..., Message], digits: int, rest: tuple[object, ...]) -> int:
    """Of all messages that differ in their numbers alone, which have so many digits."""
    message = kind(10 ** (digits - 1), *rest)
    return _SIZES[type(message)](message)


SIZES = dict.fromkeys(_SIZES, frame_size)
"""Messages about a group between clients and servers, without pulls, to the sizes of their frames."""
