"""What nodes answer and say, to the frames that RocketMQ's servers write: code, fields, body and remark. Their JSON has
objects as keys of objects."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Final, TypeAlias

from protocols.engine.nodes import Message
from protocols.java import Queue
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.messages.membership import ConsumerList, GetConsumerListByGroup, NotifyConsumerIdsChanged
from rocketmq_selfbalance.messages.offsets import (
    OffsetAnswer,
    QueryConsumerOffset,
    ResetConsumerClientOffset,
    UpdateConsumerOffset,
)
from rocketmq_selfbalance.messages.popping import Changed, Popped, QueuesToAsk
from rocketmq_selfbalance.messages.requests import Answer, LockBatchMqAnswer
from rocketmq_selfbalance.remoting import ONEWAY, RESPONSE, Frame, json_text
from rocketmq_selfbalance.wire import remoting_pops
from rocketmq_selfbalance.wire.messages import AskClient, ClientHeartbeat, Pulled, Reply


def queue_json(queue: Queue) -> dict[str, str | int]:
    """A ``MessageQueue``."""
    return {"brokerName": queue.broker, "queueId": queue.number, "topic": queue.topic}


_quoted: Final = lru_cache(maxsize=1024)(json_text)


def in_pieces(beside: Mapping[str, object], name: str, rows: Iterable[tuple[Queue | str, object]]) -> Iterator[bytes]:
    """An object with what stands beside, and under ``name`` an object whose keys are queues or texts. Its bytes come in
    pieces, and rows are taken when their piece is."""
    first = "".join(f"{json_text(key)}:{json_text(value)}," for key, value in beside.items())
    told, comma = [f"{{{first}{json_text(name)}:{{"], ""
    for count, (key, value) in enumerate(rows, 1):
        named = json_text(key) if isinstance(key, str) else _queue_key(key)
        told.append(f"{comma}{named}:{json_text(value)}")
        comma = ","
        if count % _TOGETHER == 0:
            yield "".join(told).encode()
            told.clear()
    yield "".join([*told, "}}"]).encode()


def _queue_key(queue: Queue) -> str:
    return f'{{"brokerName":{_quoted(queue.broker)},"queueId":{queue.number},"topic":{_quoted(queue.topic)}}}'


_TOGETHER: Final = 500
"""Rows of which is told in one turn."""

Answered: TypeAlias = tuple[int, Mapping[str, str], Sequence[bytes] | Iterator[bytes], str | None]
"""Code, fields, parts of the body, remark; an iterator of parts that take longer."""

_NONE: Mapping[str, str] = {}
_NOT_FOUND = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"


def to_json(value: object) -> bytes:
    return json_text(value).encode()


def _plain(request: Message, answer: Answer) -> Answered:
    if isinstance(request, ClientHeartbeat):
        changed = "false" if request.fingerprint else "true"
        return answer.code, {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": changed}, (), None
    return answer.code, _NONE, (), _refusal(request, answer.code)


def _refusal(request: Message, code: int) -> str | None:
    if isinstance(request, UpdateConsumerOffset):
        if code == codes.TOPIC_NOT_EXIST:
            return f"Topic {request.queue.topic} not exist!"
        if code == codes.SUBSCRIPTION_GROUP_NOT_EXIST:
            return f"Group {request.group} not exist!"
    return None


def _consumer_list(request: Message, answer: ConsumerList) -> Answered:
    if answer.code != codes.SUCCESS and isinstance(request, GetConsumerListByGroup):
        return codes.SYSTEM_ERROR, _NONE, (), f"no consumer for this group, {request.group}"
    return answer.code, _NONE, (to_json({"consumerIdList": answer.client_ids}),), None


def _offset(request: Message, answer: OffsetAnswer) -> Answered:
    if answer.code == codes.SUCCESS:
        return codes.SUCCESS, {"offset": str(answer.offset)}, (), None
    remark = _NOT_FOUND if answer.code == codes.QUERY_NOT_FOUND and isinstance(request, QueryConsumerOffset) else None
    return answer.code, _NONE, (), remark


def _locked(request: Message, answer: LockBatchMqAnswer) -> Answered:
    return answer.code, _NONE, (to_json({"lockOKMQSet": [queue_json(each) for each in answer.locked]}),), None


def _pulled(request: Message, answer: Pulled) -> Answered:
    found = answer.answer
    fields = {
        "suggestWhichBrokerId": "0",
        "groupSysFlag": "0",
        "nextBeginOffset": str(found.next_offset),
        "maxOffset": str(found.max_offset),
        "minOffset": str(found.min_offset),
        "topicSysFlag": "0",
    }
    return found.code, fields, answer.records, answer.remark


def _reply(request: Message, answer: Reply) -> Answered:
    if isinstance(answer.body, bytes):
        return answer.code, answer.fields, (answer.body,) if answer.body else (), answer.remark
    first = tuple(islice(answer.body, 2))
    return answer.code, answer.fields, first if len(first) < 2 else chain(first, answer.body), answer.remark


def _queues_to_ask(request: Message, answer: QueuesToAsk) -> Answered:
    """In the order of no meaning that a set has."""
    told = [{"messageQueue": queue_json(queue), "mode": answer.mode} for queue in answer.queues or ()]
    body = {} if answer.queues is None else {"messageQueueAssignments": told}
    return codes.SUCCESS, _NONE, (to_json(body),), None


_ANSWERS: Mapping[type[Message], Callable[[Message, Any], Answered]] = {
    Answer: _plain,
    ConsumerList: _consumer_list,
    OffsetAnswer: _offset,
    LockBatchMqAnswer: _locked,
    Pulled: _pulled,
    Reply: _reply,
    Popped: remoting_pops.popped,
    Changed: remoting_pops.changed,
    QueuesToAsk: _queues_to_ask,
}


def is_answer(message: Message) -> bool:
    return type(message) in _ANSWERS


def answered(request: Message, answer: Message) -> Answered:
    return _ANSWERS[type(answer)](request, answer)


def frame_of(opaque: int, told: Answered) -> tuple[Frame, Sequence[bytes] | Iterator[bytes]]:
    """The frame of an answer, without its body, and the parts of the body."""
    code, fields, body, remark = told
    return Frame(code, opaque, fields, remark=remark, flag=RESPONSE), body


def notice(message: Message, opaque: int, *, for_c: bool) -> Frame | None:
    """What a broker says of its own accord; None for a message that is none of this. ``for_c``: the client is none of
    Java's, and gets lists where Java has maps with objects as keys."""
    if isinstance(message, NotifyConsumerIdsChanged):
        return Frame(40, opaque, {"consumerGroup": message.group}, flag=ONEWAY)
    if isinstance(message, AskClient):
        return Frame(message.code, opaque, message.fields, message.body)
    if isinstance(message, ResetConsumerClientOffset):
        fields = {"topic": message.topic, "group": message.group, "timestamp": "-1", "isForce": "true"}
        return Frame(220, opaque, fields, _offsets(message.offsets, for_c=for_c), flag=ONEWAY)
    return None


def _offsets(offsets: Sequence[tuple[Queue, int]], *, for_c: bool) -> bytes:
    if for_c:
        return to_json({"offsetTable": [{**queue_json(queue), "offset": offset} for queue, offset in offsets]})
    return b"".join(in_pieces({}, "offsetTable", offsets))
