"""AckMessage, ChangeInvisibleDuration, ForwardMessageToDeadLetterQueue (spec grpc 4)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from protocols.engine.nodes import Message, Outbox, Time
from rocketmq_selfbalance.codes import SUCCESS
from rocketmq_selfbalance.messages.popping import Ack, Changed, ChangeInvisible, Handle, ToDeadLetters
from rocketmq_selfbalance.proxy import checks, renewing
from rocketmq_selfbalance.proxy.checks import RefusedError
from rocketmq_selfbalance.proxy.definitions import OK, Code, Status
from rocketmq_selfbalance.proxy.receiving import gone
from rocketmq_selfbalance.proxy.requests import (
    AckMessageRequest,
    AckMessageResponse,
    AckMessageResultEntry,
    Call,
    ChangeInvisibleDurationRequest,
    ChangeInvisibleDurationResponse,
    ForwardRequest,
    StatusResponse,
)
from rocketmq_selfbalance.proxy.state import Kept, Proxy

_PARTS = 9
"""Of a receipt handle; one that lacks the commit log offset is none for a proxy."""


def handle_of(text: str) -> Handle:
    """The handle that a client names; `RefusedError` where it is none."""
    parts = text.split(" ")
    try:
        numbers = [int(part) for place, part in enumerate(parts[:_PARTS]) if place != 5]
        if len(parts) < _PARTS:
            raise IndexError
    except (ValueError, IndexError):
        why = f"Parse failed, dataList size {len(parts)}. IllegalArgumentException."
        if len(parts) >= _PARTS:
            why = f'For input string: "{text}". NumberFormatException.'
        where = "org.apache.rocketmq.common.consumer.ReceiptHandle.decode(ReceiptHandle.java:56)"
        raise RefusedError(Code.INTERNAL_SERVER_ERROR, f"{why} {where}") from None
    start, pop_time, invisible, revive_queue, kind, number, offset, position = numbers
    return Handle(start, pop_time, invisible, revive_queue, kind, parts[5], number, offset, position)


def _checked(proxy: Proxy, now: Time, topic: str, handle: Handle) -> Handle:
    """The handle, where it can still be used."""
    if handle.visible_at < proxy.wall(now):
        raise checks.proxy_exception(Code.INVALID_RECEIPT_HANDLE, "receipt handle is expired")
    view = proxy.routes.of(now, topic)
    if view is None or all(data.broker != handle.broker for data in view.route.queues):
        raise checks.proxy_exception(Code.INVALID_RECEIPT_HANDLE, f"cannot find broker {handle.broker}")
    return handle


@dataclass(slots=True)
class _Acks:
    """An AckMessage whose entries are answered one by one."""

    call: Call
    request: AckMessageRequest
    found: dict[int, Status] = field(default_factory=dict)

    def result(self) -> AckMessageResponse:
        entries = tuple(
            AckMessageResultEntry(entry.message_id, entry.receipt_handle, self.found[place])
            for place, entry in enumerate(self.request.entries)
        )
        found = {status.code for status in self.found.values()}
        if len(found) > 1:
            return AckMessageResponse(Status(Code.MULTIPLE_RESULTS, Code.MULTIPLE_RESULTS.name), entries)
        code = next(iter(found), Code.OK)
        return AckMessageResponse(OK if code == Code.OK else Status(code, code.name), entries)


def ack(proxy: Proxy, now: Time, call: Call, out: Outbox) -> AckMessageResponse | None:
    """Messages are done."""
    request = call.request
    assert isinstance(request, AckMessageRequest)
    topic, group = checks.topic_name(request.topic), checks.group_name(request.group)
    acks = _Acks(call, request)
    for place, entry in enumerate(request.entries):
        kept = Kept(call.client_id, group, entry.message_id, entry.receipt_handle)
        try:
            handle = renewing.newest(proxy, kept) or handle_of(entry.receipt_handle)
            make = partial(Ack, group=group, topic=topic, handle=_checked(proxy, now, topic, handle))
        except RefusedError as refused:
            acks.found[place] = refused.status
        else:
            proxy.ask(handle.broker, make, partial(_acked, proxy, acks, place), out)
    return acks.result() if len(acks.found) == len(request.entries) and call.correlation in proxy.open else None


def _acked(proxy: Proxy, acks: _Acks, place: int, now: Time, answer: Message | None, out: Outbox) -> None:
    acks.found[place] = _status(answer, "ack")
    if len(acks.found) == len(acks.request.entries):
        proxy.answer(acks.call, out, acks.result())


def _status(answer: Message | None, what: str) -> Status:
    if not isinstance(answer, Changed):
        return Status(Code.INTERNAL_SERVER_ERROR, gone())
    if answer.code == SUCCESS:
        return OK
    return Status(Code.INTERNAL_SERVER_ERROR, f"{what} failed: status is abnormal")


def change(proxy: Proxy, now: Time, call: Call, out: Outbox) -> None:
    """A message is to be invisible for another time."""
    request = call.request
    assert isinstance(request, ChangeInvisibleDurationRequest)
    topic, group = checks.topic_name(request.topic), checks.group_name(request.group)
    wanted = request.invisible_duration.ms if request.invisible_duration is not None else 0
    invisible = checks.invisible_time(proxy.settings, wanted, 0)
    kept = Kept(call.client_id, group, request.message_id, request.receipt_handle)
    handle = renewing.newest(proxy, kept) or handle_of(request.receipt_handle)
    _checked(proxy, now, topic, handle)
    make = partial(ChangeInvisible, group=group, topic=topic, handle=handle, invisible=invisible)

    def changed(now: Time, answer: Message | None, out: Outbox) -> None:
        new = answer.handle if isinstance(answer, Changed) else None
        status = _status(answer, "changeInvisibleDuration")
        response = ChangeInvisibleDurationResponse(status, str(new) if new is not None else "")
        proxy.answer(call, out, response)

    proxy.ask(handle.broker, make, changed, out)


def forward(proxy: Proxy, now: Time, call: Call, out: Outbox) -> None:
    """A message goes to the dead letters of its group."""
    request = call.request
    assert isinstance(request, ForwardRequest)
    topic, group = checks.topic_name(request.topic), checks.group_name(request.group)
    kept = Kept(call.client_id, group, request.message_id, request.receipt_handle)
    handle = renewing.newest(proxy, kept) or handle_of(request.receipt_handle)
    make: Callable[[int], Message] = partial(ToDeadLetters, group=group, topic=topic, handle=handle)

    def forwarded(now: Time, answer: Message | None, out: Outbox) -> None:
        status = _status(answer, "forward")
        proxy.answer(call, out, StatusResponse(Status(Code.OK, "0") if status is OK else status))

    proxy.ask(handle.broker, make, forwarded, out)
