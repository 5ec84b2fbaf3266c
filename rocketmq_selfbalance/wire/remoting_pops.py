"""Frames of clients that pop over remoting, and of those who let brokers compute their queues: requests to messages,
answers to frames (spec pop 1, 2, 5).

A handle is written without the place in the commit log, which only the proxy adds. A record that came back is named by
its retry topic in requests, and stands in answers under its own topic, with its handle among its properties.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from protocols.engine.nodes import Message
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.messages import popping as asked
from rocketmq_selfbalance.pop import retry_topic_of
from rocketmq_selfbalance.remoting import Frame
from rocketmq_selfbalance.wire import messages, stored_messages

_MIN = 0
"""``ConsumeInitMode``: a queue without an offset is popped from its beginning."""
_POP_CK = "POP_CK"
_MOST_POLLING_MS = 15 * 60 * 1000
_MOST_ACKS = 10_000
"""Records that one request acks at most."""
_FOUND, _NOTHING, _UNSET = "FOUND", "NO_MESSAGE_IN_QUEUE", "not set any response code"


def _pop(number: int, frame: Frame, server: str) -> Message:
    fields = messages.Fields(frame.fields)
    return asked.Pop(
        number,
        fields.text("consumerGroup"),
        fields.text("topic"),
        fields.whole("maxMsgNums"),
        max(fields.whole("invisibleTime"), 0),
        float(min(max(fields.whole("pollTime"), 0), _MOST_POLLING_MS)),
        fields.text("exp", "*"),
        fields.flag("order"),
        fields.told.get("attemptId"),
        fields.whole("queueId"),
        fields.whole("initMode", 1) == _MIN,
    )


def _handle(fields: messages.Fields, group: str, topic: str) -> tuple[str, asked.Handle]:
    """The topic, and the handle with queue and offset as the request has them."""
    parts = fields.text("extraInfo").split(" ")
    if len(parts) < 7:
        raise messages.FieldError(f"a handle of {len(parts)} parts, expected 7 at least")
    start, pop_time, invisible, revive_queue = (messages.whole("extraInfo", part) for part in parts[:4])
    number, offset = fields.whole("queueId"), fields.whole("offset")
    plain, kind = _kind(group, topic)
    return plain, asked.Handle(start, pop_time, invisible, revive_queue, kind, parts[5], number, offset, 0)


def _kind(group: str, topic: str) -> tuple[str, int]:
    """The topic of which a record was popped, and whether it had come back."""
    retry = retry_topic_of(group, "")
    return (topic.removeprefix(retry), asked.OF_RETRY) if topic.startswith(retry) else (topic, asked.OF_TOPIC)


def _ack(number: int, frame: Frame, server: str) -> Message:
    fields = messages.Fields(frame.fields)
    group = fields.text("consumerGroup")
    return asked.Ack(number, group, *_handle(fields, group, fields.text("topic")))


def _batch_ack(number: int, frame: Frame, server: str) -> Message:
    """Each entry acks records of one check point: those whose bits are set, counted from its start."""
    acks: list[asked.Ack] = []
    for entry in messages.objects(messages.body_of(frame).get("acks")):
        group, topic = messages.text(entry, "c"), messages.text(entry, "t")
        plain, kind = _kind(group, topic)
        start, queue, revive_queue, pop_time, invisible = (
            messages.whole(name, entry.get(name)) for name in ("so", "q", "rq", "pt", "it")
        )
        if entry.get("r") == "1":
            kind = asked.OF_RETRY
        handle = asked.Handle(start, pop_time, invisible, revive_queue, kind, server, queue, start, 0)
        acks += [
            asked.Ack(number, group, plain, handle._replace(offset=start + bit))
            for bit in _bits(messages.text(entry, "b"))
        ]
        if len(acks) > _MOST_ACKS:
            raise messages.FieldError(f"more than {_MOST_ACKS} acks in one request")
    return asked.BatchAck(number, tuple(acks))


def _bits(text: str) -> Iterator[int]:
    """The bits that are set in a ``SerializableBitSet``: base64, the least first."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raise messages.FieldError("a bit set that is no base64") from None
    for place, byte in enumerate(raw):
        yield from (place * 8 + bit for bit in range(8) if byte >> bit & 1)


def _change(number: int, frame: Frame, server: str) -> Message:
    fields = messages.Fields(frame.fields)
    group = fields.text("consumerGroup")
    plain, handle = _handle(fields, group, fields.text("topic"))
    invisible = max(fields.whole("invisibleTime"), 0)
    return asked.ChangeInvisible(number, group, plain, handle, invisible, fields.flag("suspend"))


def _query_assignment(number: int, frame: Frame, server: str) -> Message:
    body = messages.body_of(frame)
    client_id, strategy = body.get("clientId"), body.get("strategyName")
    return asked.QueryAssignment(
        number,
        messages.text(body, "topic"),
        messages.text(body, "consumerGroup"),
        client_id if isinstance(client_id, str) else None,
        strategy if isinstance(strategy, str) else None,
        messages.text(body, "messageModel", codes.CLUSTERING),
    )


def _set_mode(number: int, frame: Frame, server: str) -> Message:
    body = messages.body_of(frame)
    mode = body.get("mode")
    return asked.SetRequestMode(
        number,
        messages.text(body, "topic"),
        messages.text(body, "consumerGroup"),
        mode if isinstance(mode, str) else None,
        messages.whole("popShareQueueNum", body.get("popShareQueueNum") or 0),
    )


DECODERS = {
    400: _query_assignment,
    401: _set_mode,
    200050: _pop,
    200051: _ack,
    200053: _change,
    200151: _batch_ack,
}
"""Number of a request to what it says."""

Answered = tuple[int, Mapping[str, str], Sequence[bytes], str | None]
"""As in `answers`: code, fields, parts of the body, remark."""


def popped(request: Message, answer: asked.Popped) -> Answered:
    """The records of a pop: where each check point starts, and which offsets of it are here."""
    if not isinstance(request, asked.Pop) or answer.code not in (codes.SUCCESS, codes.POLLING_TIMEOUT):
        return answer.code, {}, (), answer.remark
    starts, offsets = [], []
    for (kind, number, start), records in groupby(answer.records, key=_point):
        starts.append(f"{kind} {number} {start}")
        offsets.append(f"{kind} {number} {','.join(str(record.handle.offset) for record in records)}")
    fields = {
        "popTime": str(answer.pop_time),
        "invisibleTime": str(request.invisible),
        "reviveQid": str(answer.revive_queue),
        "restNum": str(answer.rest),
        "startOffsetInfo": ";".join(starts),
        "msgOffsetInfo": ";".join(offsets),
    }
    in_order = [
        f"{kind} qo{number}%{record.handle.offset} {record.times}"
        for record in answer.records
        for kind, number, _ in [_point(record)]
        if request.in_order
    ]
    if in_order:
        fields["orderCountInfo"] = ";".join(in_order)
    content = [_content(request, record) for record in answer.records]
    return answer.code, fields, content, _FOUND if answer.records else _NOTHING


def _point(record: asked.PoppedRecord) -> tuple[int, int, int]:
    return record.handle.kind, record.handle.number, record.handle.start


def _content(request: asked.Pop, record: asked.PoppedRecord) -> bytes:
    if record.handle.kind != asked.OF_RETRY:
        return record.content
    stored = stored_messages.decode(record.content)
    properties = stored_messages.parse_properties(stored.record.properties)
    properties.setdefault(_POP_CK, " ".join(map(str, record.handle[:-1])))
    again = stored.record._replace(topic=request.topic, properties=stored_messages.properties_text(properties))
    return stored_messages.encode(again, stored.offset, stored.position, stored.stored, stored.store_host)


def changed(request: Message, answer: asked.Changed) -> Answered:
    """The answer to an ack, or to another invisible time with what is new of the handle."""
    new = answer.handle
    if new is None:
        return answer.code, {}, (), None
    fields = {
        "popTime": str(new.pop_time),
        "invisibleTime": str(new.invisible),
        "reviveQid": str(new.revive_queue),
    }
    return answer.code, fields, (), _UNSET
