"""Transactions (``ClusterTransactionService``, ``AbstractTransactionService``; spec grpc 7): what producers end, and
what brokers ask about those that nobody has ended. A producer's group is its topic: any producer of it may be asked.
"""

from functools import partial

from protocols.engine.nodes import Message, Outbox, Time
from rocketmq_selfbalance import codes
from rocketmq_selfbalance.messages.membership import HeartBeat
from rocketmq_selfbalance.proxy import checks
from rocketmq_selfbalance.proxy.checks import RefusedError
from rocketmq_selfbalance.proxy.definitions import OK, Code, MessageType, Resolution, Status
from rocketmq_selfbalance.proxy.receiving import gone, message_of
from rocketmq_selfbalance.proxy.requests import (
    Call,
    EndTransactionRequest,
    RecoverOrphanedTransactionCommand,
    StatusResponse,
    TelemetryCommand,
    Told,
)
from rocketmq_selfbalance.proxy.state import HalfMessage, Proxy
from rocketmq_selfbalance.wire.messages import CheckHalf, ClientHeartbeat, EndHalf, Reply

_CLIENT_ID = "rmq-proxy-producer-client"
_LOOKED_AT = 4
"""Producers that are looked at for one that has a stream."""


def remember(proxy: Proxy, now: Time, topic: str, id: str, broker: str, number: int) -> None:
    """From now on the transaction can be ended, for a while."""
    proxy.halves[topic, id] = HalfMessage(broker, number, now + proxy.settings.transaction_expires_ms)


def forget_expired(proxy: Proxy, now: Time) -> None:
    """Transactions that nobody can end any more."""
    proxy.halves = {name: half for name, half in proxy.halves.items() if half.until >= now}


def end(proxy: Proxy, now: Time, call: Call, out: Outbox) -> None:
    """A producer decides on the first half that it has sent."""
    request = call.request
    assert isinstance(request, EndTransactionRequest)
    topic = checks.topic_name(request.topic)
    if not request.transaction_id.strip():
        raise RefusedError(Code.INVALID_TRANSACTION_ID, "transaction id cannot be empty")
    half = proxy.halves.pop((topic, request.transaction_id), None)
    if half is None or half.until < now:
        raise checks.proxy_exception(Code.INTERNAL_SERVER_ERROR, "cannot found transaction data")
    make = partial(EndHalf, half=half.number, commit=_decided(request.resolution), id=request.transaction_id)

    def ended(now: Time, answer: Message | None, out: Outbox) -> None:
        known = isinstance(answer, Reply) and answer.code == codes.SUCCESS
        proxy.answer(call, out, StatusResponse(OK if known else Status(Code.INTERNAL_SERVER_ERROR, gone())))

    proxy.ask(half.broker, make, ended, out)


def _decided(resolution: Resolution) -> bool | None:
    return {Resolution.COMMIT: True, Resolution.ROLLBACK: False}.get(resolution)


def tell_groups(proxy: Proxy, now: Time, out: Outbox) -> None:
    """Tell the brokers of each topic of transactions whose producers are here: without that they ask nobody."""
    groups: dict[str, list[str]] = {}
    for topic in dict.fromkeys(topic for client in proxy.clients.values() for topic in client.publishes):
        kind, view = proxy.directory.topic_kind(topic), proxy.routes.of(now, topic)
        if view is not None and kind is not None and MessageType.TRANSACTION in checks.accepted(kind):
            for queues in view.route.queues:
                groups.setdefault(queues.broker, []).append(topic)
    for broker, names in groups.items():
        beat = HeartBeat(0, _CLIENT_ID, ())
        proxy.ask(broker, partial(_heartbeat, beat, tuple(names)), lambda now, answer, out: None, out)


def _heartbeat(beat: HeartBeat, groups: tuple[str, ...], correlation: int) -> ClientHeartbeat:
    beat = beat._replace(correlation=correlation)
    return ClientHeartbeat(correlation, beat, groups, 0, without_subscriptions=False, language="JAVA", version=0)


def ask_producer(proxy: Proxy, now: Time, broker: str, asked: CheckHalf, out: Outbox) -> None:
    """A broker asks what became of a half: the next of the topic's producers is asked, whether it has sent the half or
    not. One whose stream is over is found out only thereby: the question is lost."""
    producers = [id for id, client in proxy.clients.items() if asked.group in client.publishes]
    proxy.next_asked += 1
    for place in range(min(len(producers), _LOOKED_AT)):
        client_id = producers[(proxy.next_asked + place) % len(producers)]
        stream = proxy.streams.get(client_id)
        if stream is None:
            continue
        if not stream.is_open:
            del proxy.streams[client_id]
            return
        remember(proxy, now, asked.group, asked.id, broker, asked.half)
        message = message_of(asked.group, asked.stored, None, 0)
        command = RecoverOrphanedTransactionCommand(message, asked.id)
        out.send(stream.peer, Told(stream.number, TelemetryCommand(recover_orphaned_transaction_command=command)))
        return
