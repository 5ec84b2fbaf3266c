"""SendMessage, RecallMessage: what producers ask (spec grpc 7); EndTransaction is in `transactions`."""

import base64
from dataclasses import dataclass, field
from functools import partial

from protocols.engine.nodes import Message as BrokerMessage
from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.proxy import checks
from rocketmq_selfbalance.proxy.checks import RefusedError
from rocketmq_selfbalance.proxy.definitions import (
    OK,
    Code,
    Encoding,
    Message,
    MessageType,
    Status,
    SystemProperties,
)
from rocketmq_selfbalance.proxy.receiving import gone, no_route
from rocketmq_selfbalance.proxy.requests import (
    Call,
    RecallMessageRequest,
    SendMessageRequest,
    SendMessageResponse,
    SendResultEntry,
)
from rocketmq_selfbalance.proxy.state import Proxy
from rocketmq_selfbalance.proxy.transactions import remember
from rocketmq_selfbalance.wire.messages import Reply, SendHalf, SendMessage
from rocketmq_selfbalance.wire.stored_messages import properties_text

_COMPRESSED, _PREPARED = 1, 4
PRODUCER_GROUP = "PROXY_PRODUCER"


@dataclass(slots=True)
class _Sends:
    """A SendMessage whose messages are answered one by one."""

    call: Call
    count: int
    found: dict[int, SendResultEntry] = field(default_factory=dict)

    def result(self) -> SendMessageResponse:
        entries = tuple(self.found[place] for place in range(self.count))
        found = {entry.status.code: entry.status for entry in entries if entry.status is not None}
        if len(found) > 1:
            return SendMessageResponse(Status(Code.MULTIPLE_RESULTS, Code.MULTIPLE_RESULTS.name), entries)
        return SendMessageResponse(next(iter(found.values())), entries)


def send(proxy: Proxy, now: Time, call: Call, out: Outbox) -> None:
    """A producer sends messages of one topic."""
    request = call.request
    assert isinstance(request, SendMessageRequest)
    if not request.messages:
        raise RefusedError(Code.MESSAGE_CORRUPTED, "no message to send")
    topic = checks.topic_name(request.messages[0].topic)
    if any(given.topic is None or given.topic.name != topic for given in request.messages):
        raise RefusedError(Code.MESSAGE_CORRUPTED, "topic in message is not same")
    systems = [checks.message(proxy.settings, proxy.wall(now), given) for given in request.messages]
    kind = MessageType.NORMAL
    for system in systems:
        kind = checks.kind_of(system)
        checks.topic_takes(proxy.directory.topic_kind(topic), kind)
    view = proxy.routes.of(now, topic)
    if view is None:
        raise RefusedError(Code.TOPIC_NOT_FOUND, no_route(topic))
    sends = _Sends(call, len(systems))
    for place, (given, system) in enumerate(zip(request.messages, systems, strict=True)):
        queue = view.choose_write(system.message_group, out)
        if queue is None:
            raise RefusedError(Code.FORBIDDEN, "no writable queue")
        number = queue.number
        if system.priority is not None:
            count = next(data.write for data in view.route.queues if data.broker == queue.broker)
            number = min(max(system.priority, 0), count - 1)
        make = partial(_numbered, _message(topic, number, given, system), prepared=kind == MessageType.TRANSACTION)
        proxy.ask(queue.broker, make, partial(_sent, proxy, sends, place, system, queue.broker, topic), out)


def _numbered(message: SendMessage, correlation: int, *, prepared: bool) -> SendMessage | SendHalf:
    numbered = message._replace(correlation=correlation)
    return SendHalf(correlation, numbered) if prepared else numbered


def _message(topic: str, number: int, given: Message, system: SystemProperties) -> SendMessage:
    prepared = system.message_type == MessageType.TRANSACTION
    flag = (_COMPRESSED if system.body_encoding == Encoding.GZIP else 0) | (_PREPARED if prepared else 0)
    return SendMessage(
        correlation=0,
        producer_group=PRODUCER_GROUP,
        topic=topic,
        default_topic="",
        default_queues=0,
        queue_number=number,
        sys_flag=flag,
        born=system.born_timestamp.ms if system.born_timestamp is not None else 0,
        flag=0,
        properties=properties_text(_properties(topic, given, system)),
        reconsume_times=0,
        max_reconsume_times=None,
        body=given.body,
        batch=False,
        oneway=False,
    )


def _properties(topic: str, given: Message, system: SystemProperties) -> dict[str, str]:
    properties = dict(given.user_properties)
    if system.tag is not None:
        properties["TAGS"] = system.tag
    if system.keys:
        properties["KEYS"] = " ".join(system.keys)
    properties["UNIQ_KEY"] = system.message_id
    if system.message_type == MessageType.TRANSACTION:
        properties |= {"TRAN_MSG": "true", "PGROUP": topic}
        recovery = system.orphaned_transaction_recovery_duration
        if recovery is not None:
            properties["CHECK_IMMUNITY_TIME_IN_SECONDS"] = str(recovery.seconds)
    if system.delivery_timestamp is not None:
        properties["TIMER_DELIVER_MS"] = str(system.delivery_timestamp.ms)
    if system.message_group is not None:
        properties["__SHARDINGKEY"] = system.message_group
    if system.priority is not None:
        properties["_SYS_MSG_PRIORITY_"] = str(system.priority)
    if system.trace_context is not None:
        properties["__TRACE_CONTEXT"] = system.trace_context
    if system.born_host:
        properties["__BORNHOST"] = system.born_host
    return properties


def _sent(
    proxy: Proxy,
    sends: _Sends,
    place: int,
    system: SystemProperties,
    broker: str,
    topic: str,
    now: Time,
    answer: BrokerMessage | None,
    out: Outbox,
) -> None:
    sends.found[place] = _entry(proxy, system, broker, topic, now, answer)
    if len(sends.found) == sends.count:
        proxy.answer(sends.call, out, sends.result())


def _entry(
    proxy: Proxy, system: SystemProperties, broker: str, topic: str, now: Time, answer: BrokerMessage | None
) -> SendResultEntry:
    if not isinstance(answer, Reply):
        return SendResultEntry(Status(Code.INTERNAL_SERVER_ERROR, gone()))
    if answer.code != codes.SUCCESS:
        code = {codes.TOPIC_NOT_EXIST: Code.TOPIC_NOT_FOUND}.get(answer.code, Code.INTERNAL_SERVER_ERROR)
        return SendResultEntry(Status(code, answer.remark or ""))
    id, offset = system.message_id, int(answer.fields.get("queueOffset", "0"))
    if system.message_type == MessageType.TRANSACTION:
        remember(proxy, now, topic, id, broker, int(answer.fields.get("half", "0")))
    recall = ""
    if system.delivery_timestamp is not None:
        recall = recall_handle(topic, broker, system.delivery_timestamp.ms, id)
    return SendResultEntry(OK, id, id, offset, recall)


def recall_handle(topic: str, broker: str, delivery: int, id: str) -> str:
    """What a delayed message could be recalled by: the second before its own, in the wheel of whole seconds."""
    text = f"v1 {topic} {broker} {(delivery - 1) // 1000 * 1000 + 1} {id}"
    return base64.urlsafe_b64encode(text.encode()).decode()


def recall(proxy: Proxy, now: Time, call: Call, out: Outbox) -> None:
    """A producer takes a delayed message back, which brokers forbid unless they are told otherwise."""
    request = call.request
    assert isinstance(request, RecallMessageRequest)
    topic = checks.topic_name(request.topic)
    checks.topic_takes(proxy.directory.topic_kind(topic), MessageType.DELAY)
    raise RefusedError(Code.INTERNAL_SERVER_ERROR, "recall failed, operation is forbidden")
