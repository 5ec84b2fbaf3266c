"""ReceiveMessage: a pop at one broker for one client (``ReceiveMessageActivity``; spec grpc 3)."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from ipaddress import ip_address

from protocols.engine.connection import SMALL
from protocols.engine.nodes import Message as BrokerMessage
from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.messages.popping import Ack, Handle, Pop, Popped, PoppedRecord, ToDeadLetters
from rocketmq_selfbalance.proxy import checks, renewing
from rocketmq_selfbalance.proxy.checks import RefusedError
from rocketmq_selfbalance.proxy.definitions import (
    OK,
    Code,
    Digest,
    DigestType,
    Encoding,
    FilterType,
    Message,
    MessageType,
    Resource,
    Status,
    SystemProperties,
    timestamp,
)
from rocketmq_selfbalance.proxy.requests import Call, ReceiveMessageRequest, ReceiveMessageResponse
from rocketmq_selfbalance.proxy.routes import readable
from rocketmq_selfbalance.proxy.state import Client, Kept, Proxy
from rocketmq_selfbalance.wire.pulling import tags_of
from rocketmq_selfbalance.wire.stored_messages import Stored, decode, message_id, parse_properties

_NO_SETTINGS = (
    'Cannot invoke "apache.rocketmq.v2.Settings.getClientType()" because "settings" is null. NullPointerException.'
    " org.apache.rocketmq.proxy.grpc.v2.consumer.ReceiveMessageActivity.receiveMessage(ReceiveMessageActivity.java:68)"
)
_TOO_LATE = "The deadline time remaining is not enough for polling, please check network condition"
NO_NEW, NO_MATCH = "no new message", "no match message"


def receive(proxy: Proxy, now: Time, call: Call, out: Outbox) -> None:
    """A client asks for messages."""
    request = call.request
    assert isinstance(request, ReceiveMessageRequest)
    try:
        pop, broker = _pop(proxy, now, call, request)
    except RefusedError as refused:
        end(proxy, now, call, refused.status, out)
        return
    client = proxy.clients[call.client_id]
    proxy.ask(broker, pop, partial(_popped, proxy, call, request, client), out)


def _pop(proxy: Proxy, now: Time, call: Call, request: ReceiveMessageRequest) -> tuple[partial[Pop], str]:
    settings, client = proxy.settings, proxy.clients.get(call.client_id)
    if client is None:
        raise RefusedError(Code.INTERNAL_SERVER_ERROR, _NO_SETTINGS)
    polling = _polling(proxy, call, request, client)
    queue = request.message_queue
    topic = checks.topic_name(queue.topic if queue is not None else None)
    group = checks.group_name(request.group)
    asked = request.invisible_duration.ms if request.invisible_duration is not None else 0
    invisible = int(settings.default_invisible_ms)
    if not (request.auto_renew and settings.auto_renew):
        invisible = checks.invisible_time(settings, asked, settings.least_invisible_ms)
    filter_by = request.filter_expression
    if filter_by is not None and filter_by.type == FilterType.SQL:
        raise RefusedError(Code.INTERNAL_SERVER_ERROR, "parse the consumer's subscription failed")
    broker = _broker(proxy, now, topic, queue.broker.name if queue is not None and queue.broker is not None else "")
    pop = partial(
        Pop,
        group=group,
        topic=topic,
        most=min(max(request.batch_size, 1), settings.receive_batch_size),
        invisible=invisible,
        polling=polling,
        tags=filter_by.expression if filter_by is not None else "*",
        in_order=client.fifo,
        attempt_id=request.attempt_id,
    )
    return pop, broker


def _polling(proxy: Proxy, call: Call, request: ReceiveMessageRequest, client: Client) -> Time:
    """For how long the request waits at the broker."""
    settings = proxy.settings
    if request.long_polling_timeout is not None:
        polling: Time = request.long_polling_timeout.ms
    else:
        timeout = client.settings.request_timeout
        polling = call.deadline - (timeout.ms if timeout is not None else settings.request_timeout_ms) / 2
    polling = min(max(polling, settings.least_polling_ms), settings.most_polling_ms)
    if polling > call.deadline:
        if call.deadline < settings.least_polling_ms:
            raise RefusedError(Code.ILLEGAL_POLLING_TIME, _TOO_LATE)
        polling = call.deadline
    return polling


def _broker(proxy: Proxy, now: Time, topic: str, wanted: str) -> str:
    """The broker that the client names, or the next one."""
    view = proxy.routes.of(now, topic)
    if view is None:
        raise RefusedError(Code.TOPIC_NOT_FOUND, no_route(topic))
    names = [data.broker for data in readable(view.route)]
    if not names:
        raise RefusedError(Code.FORBIDDEN, "no readable queue")
    if wanted in names:
        return wanted
    view.next_read += 1
    return names[view.next_read % len(names)]


def no_route(topic: str) -> str:
    """The text of an unknown topic."""
    return (
        f"CODE: 17  DESC: No topic route info in name server for the topic: {topic}\nFor more information, please visit"
        " the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ"
    )


_REFUSALS = {
    codes.SUBSCRIPTION_GROUP_NOT_EXIST: Code.CONSUMER_GROUP_NOT_FOUND,
    codes.TOPIC_NOT_EXIST: Code.TOPIC_NOT_FOUND,
    codes.POLLING_FULL: Code.TOO_MANY_REQUESTS,
}


def _popped(
    proxy: Proxy,
    call: Call,
    request: ReceiveMessageRequest,
    client: Client,
    now: Time,
    answer: BrokerMessage | None,
    out: Outbox,
) -> None:
    if not isinstance(answer, Popped):
        end(proxy, now, call, Status(Code.INTERNAL_SERVER_ERROR, gone()), out)
        return
    if answer.code not in (codes.SUCCESS, codes.POLLING_TIMEOUT):
        code = _REFUSALS.get(answer.code, Code.INTERNAL_SERVER_ERROR)
        end(proxy, now, call, Status(code, answer.remark or ""), out)
        return
    passed = [record for record in answer.records if _passes(proxy, request, client, record, out)]
    if not passed:
        end(proxy, now, call, Status(Code.MESSAGE_NOT_FOUND, NO_MATCH if answer.records else NO_NEW), out)
        return
    assert request.message_queue is not None
    assert request.message_queue.topic is not None
    assert request.group is not None
    topic, group = request.message_queue.topic.name, request.group.name
    if call.correlation not in proxy.open:  # a long poll whose client is gone
        for record in passed:
            renewing.give_back_one(proxy, group, topic, record.handle, out, suspend=True)
        return
    if request.auto_renew and proxy.settings.auto_renew and call.client_id in proxy.clients:
        for record in passed:
            stored = decode(record.content)
            name = _id(stored, parse_properties(stored.record.properties))
            renewing.keep(
                proxy,
                now,
                Kept(call.client_id, group, name, str(record.handle)),
                topic,
                record.handle,
                record.times + 1,
            )
    said = partial(_said, proxy, now, OK, topic, passed)
    proxy.stream(call, out, said if sum(len(record.content) for record in passed) > SMALL else tuple(said()))


def gone() -> str:
    """The text where a broker does not answer."""
    return "send request to broker failed"


def _passes(proxy: Proxy, request: ReceiveMessageRequest, client: Client, record: PoppedRecord, out: Outbox) -> bool:
    """Whether the client gets the message; one that does not match its tags is done, one that came back too often goes
    to the dead letters."""
    queue, group = request.message_queue, request.group
    assert queue is not None
    assert queue.topic is not None
    assert group is not None
    topic, tags = queue.topic.name, tags_of(request.filter_expression.expression if request.filter_expression else "*")
    if tags and parse_properties(decode(record.content).record.properties).get("TAGS") not in tags:
        act: type[Ack] | type[ToDeadLetters] = Ack
    elif record.times >= client.max_attempts:
        act = ToDeadLetters
    else:
        return True
    make = partial(act, group=group.name, topic=topic, handle=record.handle)
    proxy.ask(record.handle.broker, make, lambda now, answer, out: None, out)
    return False


def end(proxy: Proxy, now: Time, call: Call, status: Status, out: Outbox) -> None:
    """There are no messages for the client."""
    proxy.answer(call, out, *_said(proxy, now, status))


def _said(
    proxy: Proxy, now: Time, status: Status, topic: str = "", records: Sequence[PoppedRecord] = ()
) -> Iterator[ReceiveMessageResponse]:
    yield ReceiveMessageResponse(status)
    for record in records:
        message = message_of(topic, decode(record.content), record.handle, record.times)
        yield ReceiveMessageResponse(message=message)
    yield ReceiveMessageResponse(delivery_timestamp=timestamp(proxy.wall(now)))


_COMPRESSED = 1
_DIGITS = 19
"""Of the least number that has no place in 64 bits."""


def message_of(topic: str, stored: Stored, handle: Handle | None, times: int) -> Message:
    """A stored message as clients are given it; ``handle``: None where it is not given out; ``times``: how often it has
    come back."""
    record, properties = stored.record, parse_properties(stored.record.properties)
    delivered = _whole(properties.get("TIMER_DELIVER_MS"))
    keys = properties.get("KEYS", "")
    system = SystemProperties(
        tag=properties.get("TAGS"),
        keys=tuple(keys.split(" ")) if keys else (),
        message_id=_id(stored, properties),
        body_digest=Digest(DigestType.MD5, hashlib.md5(record.body, usedforsecurity=False).hexdigest().upper()),
        body_encoding=Encoding.GZIP if record.sys_flag & _COMPRESSED else Encoding.IDENTITY,
        message_type=_kind(properties),
        born_timestamp=timestamp(record.born),
        born_host=properties.get("__BORNHOST") or _address(record.born_host),
        store_timestamp=timestamp(stored.stored),
        store_host=_address(stored.store_host),
        delivery_timestamp=timestamp(delivered) if delivered is not None else None,
        receipt_handle=str(handle) if handle is not None else None,
        queue_id=record.queue_number if handle is None else handle.number,
        queue_offset=stored.offset if handle is None else handle.offset,
        delivery_attempt=times + 1,
        message_group=properties.get("__SHARDINGKEY"),
        trace_context=properties.get("__TRACE_CONTEXT"),
        priority=_whole(properties.get("_SYS_MSG_PRIORITY_")),
    )
    user = {name: value for name, value in properties.items() if name not in checks.SYSTEM_PROPERTIES}
    return Message(Resource(name=topic), user, system, record.body)


def _id(stored: Stored, properties: Mapping[str, str]) -> str:
    return properties.get("UNIQ_KEY") or message_id(stored.store_host, stored.position)


def _whole(text: str | None) -> int | None:
    """What a property says, where that is a number: clients of the older line write what they like."""
    return int(text) if text is not None and len(text) < _DIGITS and text.isdecimal() else None


def _kind(properties: dict[str, str]) -> MessageType:
    if properties.get("TRAN_MSG") == "true":
        return MessageType.TRANSACTION
    if any(name in properties for name in ("TIMER_DELIVER_MS", "DELAY", "TIMER_DELAY_SEC", "TIMER_DELAY_MS")):
        return MessageType.DELAY
    if "__SHARDINGKEY" in properties:
        return MessageType.FIFO
    if "_SYS_MSG_PRIORITY_" in properties:
        return MessageType.PRIORITY
    return MessageType.NORMAL


def _address(host: bytes) -> str:
    return f"{ip_address(host[:-4])}:{int.from_bytes(host[-4:])}"
