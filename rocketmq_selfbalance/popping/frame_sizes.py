"""How many bytes the frames of POP have: between client and proxy those of a gRPC call, its headers included, before a
broker those of remoting in JSON. As a Java client 5.2.0 and a proxy 5.5.0 write them, counted on relays.

Requests for records and their answers are left out, as pulls and fetches are of other variants; so is what is no call:
pings, window updates, the stream of settings. Sizes depend on texts and on how many digits numbers have, so that most
are looked up.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from protocols.engine.nodes import Message, Time
from rocketmq_selfbalance.frame_sizes import NO_FIELDS, frame_size
from rocketmq_selfbalance.messages import popping as asked
from rocketmq_selfbalance.messages.requests import Answer
from rocketmq_selfbalance.pop import Handle
from rocketmq_selfbalance.popping import messages
from rocketmq_selfbalance.popping.messages import OfRecord
from rocketmq_selfbalance.popping.proxy import PROXY
from rocketmq_selfbalance.proxy import protobuf, requests
from rocketmq_selfbalance.proxy.definitions import (
    OK,
    Address,
    AddressScheme,
    Assignment,
    Broker,
    ClientType,
    Duration,
    Endpoints,
    MessageQueue,
    MessageType,
    Permission,
    Resource,
)
from rocketmq_selfbalance.remoting import RESPONSE, Frame, encode, json_text

_GRPC: Final = 5 + 9
"""Before a protobuf message, and before its HTTP/2 frame."""
_FIRST, _FURTHER = 115, 80
"""Headers of a request, with their frame: of one that comes alone, and of one of many in a second, which all have the
same time. (A client names its time, a new id and what is left of its timeout each time; the table of HPACK, 4,096
bytes, forgets the other headers after 17 to 25 requests, which then come in full. Means of counted frames.)"""
_ANSWERED: Final = 13 + 10
"""The headers of an answer, and those behind it."""
_ENDPOINTS: Final = Endpoints(AddressScheme.IPv4, (Address("127.0.0.1", 8081),))
"""Where the proxy listens."""
_ID: Final = "0" * 34
"""A message's id as clients make it has so many letters."""
_EPOCH: Final = 1_700_000_000_000
"""Handles have times since 1970, of 13 digits; the simulation's times begin at 0."""
_IN_LOG: Final = 7
"""Digits of the place in the commit log, which a handle names as well: some megabytes."""
ACK, CHANGE, SEND_BACK, QUERY = 200_051, 200_053, 36, 400
_CODES: Final[Mapping[type[Message], int]] = {
    messages.AckMessage: ACK,
    messages.ChangeInvisibleDuration: CHANGE,
    messages.ForwardToDeadLetterQueue: SEND_BACK,
}


def _asked(record: tuple[object, ...], headers: int = _FIRST) -> int:
    return headers + _GRPC + len(protobuf.encode(record))


def _told(record: tuple[object, ...]) -> int:
    return _ANSWERED + _GRPC + len(protobuf.encode(record))


def handle_length(broker: str, handle: Handle) -> int:
    """Letters of a receipt handle."""
    point = handle.check_point
    offset = point.start + handle.position
    kind = 1 if point.of_retry_topic else 0
    text = f"{point.start} {_EPOCH} {int(point.invisible)} {point.revive_queue} {kind} {broker} {point.number} {offset}"
    return len(text) + 1 + _IN_LOG


@lru_cache(maxsize=65_536)
def _of_member(code: int, group: str, topic: str, letters: int, seconds: int) -> int:
    """A client's request about a record."""
    handle, its_group, its_topic = "0" * letters, Resource(name=group), Resource(name=topic)
    if code == ACK:
        entries = (requests.AckMessageEntry(_ID, handle),)
        return _asked(requests.AckMessageRequest(its_group, its_topic, entries), _FURTHER)
    if code == CHANGE:
        lasts = Duration(seconds)
        return _asked(requests.ChangeInvisibleDurationRequest(its_group, its_topic, handle, lasts, _ID))
    return _asked(requests.ForwardRequest(its_group, its_topic, handle, _ID, 17, 17))


@lru_cache(maxsize=65_536)
def _over_remoting(
    code: int, group: str, topic: str, broker: str, letters: int, digits: tuple[int, int], seconds: int
) -> int:
    """The request about it to a broker, of the proxy, which names no ``broker``, or a classic client. ``digits``: of
    its number, and of the offset."""
    fields = {"queueId": "0", "offset": "0" * digits[1], "topic": topic, "consumerGroup": group}
    fields["extraInfo"] = "0" * letters
    if broker:
        fields["bname"] = broker
    if code == CHANGE:
        fields |= {"invisibleTime": f"{seconds}000", "suspend": "false"}
    return len(encode(Frame(code, 10 ** (digits[0] - 1), fields, b"", language="JAVA")))


@lru_cache(maxsize=65_536)
def _done(digits: int, renewed: bool) -> int:
    fields = {"invisibleTime": "60000", "popTime": str(_EPOCH), "reviveQid": "0"} if renewed else {}
    size = len(encode(Frame(0, 10 ** (digits - 1), fields, b"", flag=RESPONSE, language="JAVA")))
    return size if fields else size - len(NO_FIELDS)


_ACKED: Final = _told(requests.AckMessageResponse(OK, (requests.AckMessageResultEntry(_ID, "0" * 48, OK),)))
_HEARD: Final = _told(requests.StatusResponse(OK))
_CHANGED: Final = _told(requests.ChangeInvisibleDurationResponse(OK, "0" * 48))


def _request(told: OfRecord, client: str, server: str) -> int:
    letters, code = handle_length(told.broker, told.handle), _CODES[type(told)]
    invisible: Time = told.invisible if isinstance(told, messages.ChangeInvisibleDuration) else 0.0
    seconds = int(invisible / 1000)
    if server == PROXY:
        return _of_member(code, told.group, told.topic, letters, seconds)
    digits = len(str(told.correlation)), len(str(told.handle.record.offset))
    named = "" if client == PROXY else told.broker
    return _over_remoting(code, told.group, told.topic, named, letters, digits, seconds)


def _answer(told: messages.Done, client: str, server: str) -> int:
    renewed = told.handle is not None
    if server != PROXY:
        return _done(len(str(told.correlation)), renewed)
    return _CHANGED if renewed else _ACKED


def _assignment(told: messages.Assignment, client: str, server: str) -> int:
    topic = Resource(name=told.topic)
    queues = [
        Assignment(MessageQueue(topic, -1, Permission.READ_WRITE, Broker(broker, 0, _ENDPOINTS)))
        for broker, _ in told.brokers or ()
    ]
    return _told(requests.QueryAssignmentResponse(OK, tuple(queues)))


def _route(told: messages.TopicRoute, client: str, server: str) -> int:
    topic = Resource(name=told.topic)
    queues = [
        MessageQueue(topic, number, Permission.READ_WRITE, Broker(broker, 0, _ENDPOINTS), (MessageType.NORMAL,))
        for broker, count in told.brokers or ()
        for number in range(count)
    ]
    return _told(requests.QueryRouteResponse(OK, tuple(queues)))


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
    messages.ClientHeartbeat: lambda told, client, server: _asked(
        requests.HeartbeatRequest(Resource(name=told.group), ClientType.PUSH_CONSUMER)
    ),
    messages.NotifyClientTermination: lambda told, client, server: _asked(requests.StatusResponse()),
    messages.QueryAssignment: lambda told, client, server: _asked(
        requests.QueryAssignmentRequest(Resource(name=told.topic), Resource(name=told.group), _ENDPOINTS)
    ),
    messages.Assignment: _assignment,
    messages.QueryRoute: lambda told, client, server: _asked(
        requests.QueryRouteRequest(Resource(name=told.topic), _ENDPOINTS)
    ),
    messages.TopicRoute: _route,
    asked.QueryAssignment: _question,
    asked.QueuesToAsk: _queues,
    messages.AckMessage: _request,
    messages.ChangeInvisibleDuration: _request,
    messages.ForwardToDeadLetterQueue: _request,
    messages.Done: _answer,
    Answer: lambda told, client, server: _HEARD if server == PROXY else frame_size(told, client, server),
}
"""Message to the bytes of its frame, by the message and the names of client (before brokers the proxy, too) and
server."""

REQUESTS: Final = frozenset(SIZES) - {
    messages.Assignment,
    messages.TopicRoute,
    asked.QueuesToAsk,
    messages.Done,
    Answer,
}
"""Messages that clients send, and the proxy before brokers."""
