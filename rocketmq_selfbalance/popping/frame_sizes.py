"""How many bytes the frames of POP have: between client and proxy as gRPC writes them (the protobuf message, 5 bytes
before it and the 9 of its HTTP/2 frame; headers are not counted), before a broker as remoting does in JSON.

Requests for records and their answers are left out, as pulls and fetches are of other variants. Sizes depend on texts
and on how many digits numbers have, so that most are looked up.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from protocols.engine.nodes import Message, Time
from rocketmq_selfbalance.messages import popping as asked
from rocketmq_selfbalance.pop import Handle
from rocketmq_selfbalance.popping import messages
from rocketmq_selfbalance.popping.messages import OfRecord
from rocketmq_selfbalance.popping.proxy import PROXY
from rocketmq_selfbalance.proxy import protobuf, requests
from rocketmq_selfbalance.proxy.definitions import OK, Assignment, Broker, Duration, MessageQueue, Permission, Resource
from rocketmq_selfbalance.remoting import RESPONSE, Frame, encode, json_text

_GRPC: Final = 5 + 9
_ID: Final = "0" * 34
"""A message's id as clients make it has so many letters."""
_EPOCH: Final = 1_700_000_000_000
"""Handles have times since 1970, of 13 digits; the simulation's times begin at 0."""
ACK, CHANGE, SEND_BACK, QUERY = 200_051, 200_053, 36, 400
_CODES: Final[Mapping[type[Message], int]] = {
    messages.AckMessage: ACK,
    messages.ChangeInvisibleDuration: CHANGE,
    messages.ForwardToDeadLetterQueue: SEND_BACK,
}


def _grpc(record: tuple[object, ...]) -> int:
    return _GRPC + len(protobuf.encode(record))


def handle_length(broker: str, handle: Handle) -> int:
    """Letters of a receipt handle."""
    point = handle.check_point
    offset = point.start + handle.position
    kind = 1 if point.of_retry_topic else 0
    text = f"{point.start} {_EPOCH} {int(point.invisible)} {point.revive_queue} {kind} {broker} {point.number} {offset}"
    return len(text) + 1 + len(str(offset))


@lru_cache(maxsize=65_536)
def _of_member(code: int, group: str, topic: str, letters: int, seconds: int) -> int:
    """A client's request about a record."""
    handle, its_group, its_topic = "0" * letters, Resource(name=group), Resource(name=topic)
    if code == ACK:
        return _grpc(requests.AckMessageRequest(its_group, its_topic, (requests.AckMessageEntry(_ID, handle),)))
    if code == CHANGE:
        lasts = Duration(seconds)
        return _grpc(requests.ChangeInvisibleDurationRequest(its_group, its_topic, handle, lasts, _ID))
    return _grpc(requests.ForwardRequest(its_group, its_topic, handle, _ID, 17, 17))


@lru_cache(maxsize=65_536)
def _over_remoting(
    code: int, group: str, topic: str, broker: str, letters: int, digits: tuple[int, int], seconds: int
) -> int:
    """The request about it to a broker, of the proxy or a classic client. ``digits``: of its number, and of the
    offset."""
    fields = {"queueId": "0", "offset": "0" * digits[1], "bname": broker, "topic": topic, "consumerGroup": group}
    fields["extraInfo"] = "0" * letters
    if code == CHANGE:
        fields |= {"invisibleTime": f"{seconds}000", "suspend": "false"}
    return len(encode(Frame(code, 10 ** (digits[0] - 1), fields, b"", language="JAVA")))


@lru_cache(maxsize=65_536)
def _done(digits: int, renewed: bool) -> int:
    fields = {"invisibleTime": "60000", "popTime": str(_EPOCH), "reviveQid": "0"} if renewed else {}
    return len(encode(Frame(0, 10 ** (digits - 1), fields, b"", flag=RESPONSE, language="JAVA")))


_ACKED: Final = _grpc(requests.AckMessageResponse(OK, (requests.AckMessageResultEntry(_ID, "0" * 48, OK),)))
_CHANGED: Final = _grpc(requests.ChangeInvisibleDurationResponse(OK, "0" * 48))


def _request(told: OfRecord, client: str, server: str) -> int:
    letters, code = handle_length(told.broker, told.handle), _CODES[type(told)]
    invisible: Time = told.invisible if isinstance(told, messages.ChangeInvisibleDuration) else 0.0
    seconds = int(invisible / 1000)
    if server == PROXY:
        return _of_member(code, told.group, told.topic, letters, seconds)
    digits = len(str(told.correlation)), len(str(told.handle.record.offset))
    return _over_remoting(code, told.group, told.topic, told.broker, letters, digits, seconds)


def _answer(told: messages.Done, client: str, server: str) -> int:
    renewed = told.handle is not None
    if server != PROXY:
        return _done(len(str(told.correlation)), renewed)
    return _CHANGED if renewed else _ACKED


def _assignment(told: messages.Assignment, client: str, server: str) -> int:
    topic = Resource(name=told.topic)
    queues = [
        Assignment(MessageQueue(topic, -1, Permission.READ_WRITE, Broker(broker))) for broker, _ in told.brokers or ()
    ]
    return _grpc(requests.QueryAssignmentResponse(OK, tuple(queues)))


def _route(told: messages.TopicRoute, client: str, server: str) -> int:
    topic = Resource(name=told.topic)
    queues = [
        MessageQueue(topic, number, Permission.READ_WRITE, Broker(broker))
        for broker, count in told.brokers or ()
        for number in range(count)
    ]
    return _grpc(requests.QueryRouteResponse(OK, tuple(queues)))


def _question(told: asked.QueryAssignment, client: str, server: str) -> int:
    """A classic client asks a broker where to ask."""
    body = {
        "clientId": told.client_id,
        "consumerGroup": told.group,
        "messageModel": told.message_model,
        "strategyName": told.strategy,
        "topic": told.topic,
    }
    return len(encode(Frame(QUERY, told.correlation, {}, json_text(body).encode(), language="JAVA")))


def _queues(told: asked.QueuesToAsk, client: str, server: str) -> int:
    queues = [
        {"messageQueue": {"brokerName": queue.broker, "queueId": queue.number, "topic": queue.topic}, "mode": told.mode}
        for queue in told.queues or ()
    ]
    body = {} if told.queues is None else {"messageQueueAssignments": queues}
    return len(encode(Frame(0, told.correlation, {}, json_text(body).encode(), flag=RESPONSE, language="JAVA")))


SIZES: Final[Mapping[type[Message], Callable[[Any, str, str], int]]] = {
    messages.ClientHeartbeat: lambda told, client, server: _grpc(requests.HeartbeatRequest(Resource(name=told.group))),
    messages.NotifyClientTermination: lambda told, client, server: _GRPC,
    messages.QueryAssignment: lambda told, client, server: _grpc(
        requests.QueryAssignmentRequest(Resource(name=told.topic))
    ),
    messages.Assignment: _assignment,
    messages.QueryRoute: lambda told, client, server: _grpc(requests.QueryRouteRequest(Resource(name=told.topic))),
    messages.TopicRoute: _route,
    asked.QueryAssignment: _question,
    asked.QueuesToAsk: _queues,
    messages.AckMessage: _request,
    messages.ChangeInvisibleDuration: _request,
    messages.ForwardToDeadLetterQueue: _request,
    messages.Done: _answer,
}
"""Message to the bytes of its frame, by the message and the names of client (before brokers the proxy, too) and
server."""

REQUESTS: Final = frozenset(SIZES) - {messages.Assignment, messages.TopicRoute, asked.QueuesToAsk, messages.Done}
"""Messages that clients send, and the proxy before brokers."""
