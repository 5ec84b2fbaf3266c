"""How many bytes the frames of POP have: between client and proxy as gRPC writes them (the protobuf message, 5 bytes
before it and the 9 of its HTTP/2 frame; headers are not counted), between proxy and broker as remoting does in JSON.

Requests for records and their answers are left out, as pulls and fetches are of other variants. Sizes depend on texts
and on how many digits numbers have, so that most are looked up.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from protocols.engine.nodes import Message, Time
from rocketmq_selfbalance.pop import Handle
from rocketmq_selfbalance.popping import messages
from rocketmq_selfbalance.popping.messages import OfRecord
from rocketmq_selfbalance.popping.proxy import PROXY
from rocketmq_selfbalance.proxy import protobuf, requests
from rocketmq_selfbalance.proxy.definitions import OK, Assignment, Broker, Duration, MessageQueue, Permission, Resource
from rocketmq_selfbalance.remoting import RESPONSE, Frame, encode

_GRPC: Final = 5 + 9
_ID: Final = "0" * 34
"""A message's id as clients make it has so many letters."""
_EPOCH: Final = 1_700_000_000_000
"""Handles have times since 1970, of 13 digits; the simulation's times begin at 0."""
ACK, CHANGE, SEND_BACK = 200_051, 200_053, 36
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
def _of_proxy(
    code: int, group: str, topic: str, broker: str, letters: int, digits: tuple[int, int], seconds: int
) -> int:
    """The proxy's request to a broker about it. ``digits``: of the request's number, and of the offset."""
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


def _request(told: OfRecord, client: str) -> int:
    letters, code = handle_length(told.broker, told.handle), _CODES[type(told)]
    invisible: Time = told.invisible if isinstance(told, messages.ChangeInvisibleDuration) else 0.0
    seconds = int(invisible / 1000)
    if client != PROXY:
        return _of_member(code, told.group, told.topic, letters, seconds)
    digits = len(str(told.correlation)), len(str(told.handle.record.offset))
    return _of_proxy(code, told.group, told.topic, told.broker, letters, digits, seconds)


def _answer(told: messages.Done, client: str) -> int:
    renewed = told.handle is not None
    if client == PROXY:
        return _done(len(str(told.correlation)), renewed)
    return _CHANGED if renewed else _ACKED


def _assignment(told: messages.Assignment, client: str) -> int:
    topic = Resource(name=told.topic)
    queues = [
        Assignment(MessageQueue(topic, -1, Permission.READ_WRITE, Broker(broker))) for broker, _ in told.brokers or ()
    ]
    return _grpc(requests.QueryAssignmentResponse(OK, tuple(queues)))


SIZES: Final[Mapping[type[Message], Callable[[Any, str], int]]] = {
    messages.ClientHeartbeat: lambda told, client: _grpc(requests.HeartbeatRequest(Resource(name=told.group))),
    messages.NotifyClientTermination: lambda told, client: _GRPC,
    messages.QueryAssignment: lambda told, client: _grpc(requests.QueryAssignmentRequest(Resource(name=told.topic))),
    messages.Assignment: _assignment,
    messages.AckMessage: _request,
    messages.ChangeInvisibleDuration: _request,
    messages.ForwardToDeadLetterQueue: _request,
    messages.Done: _answer,
}
"""Message to the bytes of its frame, by the message and the name of the client (the proxy before brokers)."""

REQUESTS: Final = frozenset(SIZES) - {messages.Assignment, messages.Done}
"""Messages that clients, and the proxy before brokers, send."""
