"""RocketMQ's proxy as a node: its clients' calls go to what the proxy does on them (spec grpc).

- `telling`: settings, heartbeats, leaving; `renewing`: what it keeps invisible for its clients
- `routes`: where queues are; `receiving`, `acking`, `sending`: what it asks brokers for its clients
- `transactions`: how they end, and what brokers ask its clients about them
- `checks`: what it refuses by itself

It knows neither bytes nor sockets (`rocketmq_selfbalance.grpc` makes calls of bytes), and is told the time.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from rocketmq_selfbalance.messages.nameserver import Route
from rocketmq_selfbalance.proxy import acking, checks, receiving, renewing, sending, telling, transactions
from rocketmq_selfbalance.proxy.checks import RefusedError
from rocketmq_selfbalance.proxy.definitions import (
    OK,
    Address,
    AddressScheme,
    Assignment,
    Broker,
    Code,
    Endpoints,
    MessageQueue,
    Permission,
    Resource,
)
from rocketmq_selfbalance.proxy.requests import (
    METHODS,
    Call,
    Cancelled,
    QueryAssignmentRequest,
    QueryAssignmentResponse,
    QueryRouteRequest,
    QueryRouteResponse,
    ReceiveMessageResponse,
    Response,
    StreamClosed,
    Telemetry,
)
from rocketmq_selfbalance.proxy.routes import View, readable, told_queues
from rocketmq_selfbalance.proxy.state import Proxy
from rocketmq_selfbalance.wire.messages import CheckHalf

RENEW, SCAN, TELL = "renew", "scan", "tell of producers"
"""Names of timers."""

NAME = "proxy"
"""Of its node."""


class ProxyNode:
    """A running proxy."""

    __slots__ = ("proxy",)

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy

    def start(self, now: Time, out: Outbox) -> None:
        out.set_timer(RENEW, now + self.proxy.settings.renew_scan_ms)
        out.set_timer(SCAN, now + self.proxy.settings.channel_scan_ms)
        out.set_timer(TELL, now + self.proxy.settings.transaction_heartbeat_ms)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        proxy = self.proxy
        if isinstance(message, Call):
            self._called(now, sender, message, out)
        elif isinstance(message, Telemetry):
            telling.telemetry(proxy, now, sender, message, out)
        elif isinstance(message, Cancelled):
            proxy.open.pop(message.correlation, None)
        elif isinstance(message, StreamClosed):
            telling.stream_closed(proxy, message.correlation)
        elif isinstance(message, CheckHalf):
            transactions.ask_producer(proxy, now, sender, message, out)
        else:
            proxy.answered(now, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        settings = self.proxy.settings
        if timer == RENEW:
            renewing.renew(self.proxy, now, out)
            out.set_timer(RENEW, now + settings.renew_scan_ms)
        elif timer == SCAN:
            telling.drop_silent(self.proxy, now, out)
            transactions.forget_expired(self.proxy, now)
            out.set_timer(SCAN, now + settings.channel_scan_ms)
        elif timer == TELL:
            transactions.tell_groups(self.proxy, now, out)
            out.set_timer(TELL, now + settings.transaction_heartbeat_ms)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Connections need no care."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self.proxy.gone(now, peer, out)

    def _called(self, now: Time, sender: str, call: Call, out: Outbox) -> None:
        proxy = self.proxy
        proxy.open[call.correlation] = sender
        try:
            if not call.client_id:
                raise RefusedError(Code.CLIENT_ID_REQUIRED, "client id cannot be empty")
            response = _METHODS[call.method](proxy, now, call, out)
        except RefusedError as refused:
            response = METHODS[call.method].response(refused.status)
        if response is not None:
            if isinstance(response, ReceiveMessageResponse):
                receiving.end(proxy, now, call, response.status or OK, out)
            else:
                proxy.answer(call, out, response)


def _route(proxy: Proxy, now: Time, topic: str) -> View:
    view = proxy.routes.of(now, topic)
    if view is None:
        raise RefusedError(Code.TOPIC_NOT_FOUND, receiving.no_route(topic))
    return view


def query_route(proxy: Proxy, now: Time, call: Call, out: Outbox) -> QueryRouteResponse:
    """Which queues a topic has, and where."""
    request = call.request
    assert isinstance(request, QueryRouteRequest)
    topic = checks.topic_name(request.topic)
    view = _route(proxy, now, topic)
    endpoints = _endpoints(proxy, request.endpoints)
    takes = checks.accepted(proxy.directory.topic_kind(topic) or "NORMAL")
    name, brokers = Resource(name=topic), _brokers(view.route, endpoints)
    told = [
        MessageQueue(name, number, permission, brokers[broker], takes)
        for broker, number, permission in told_queues(view.route)
    ]
    return QueryRouteResponse(OK, tuple(told))


def _brokers(route: Route, endpoints: Endpoints) -> Mapping[str, Broker]:
    """One object per broker, which is encoded once, however many queues it has."""
    return {data.broker: Broker(data.broker, endpoints=endpoints) for data in route.queues}


def query_assignment(proxy: Proxy, now: Time, call: Call, out: Outbox) -> QueryAssignmentResponse:
    """Where a member is to ask for messages: every member is told the same."""
    request = call.request
    assert isinstance(request, QueryAssignmentRequest)
    topic, name = checks.topic_name(request.topic), checks.group_name(request.group)
    route = _route(proxy, now, topic).route
    found = readable(route)
    if not found:
        raise RefusedError(Code.FORBIDDEN, "no readable queue")
    group = proxy.directory.group(name)
    brokers, resource = _brokers(route, _endpoints(proxy, request.endpoints)), Resource(name=topic)
    ordered = group is not None and group.consume_message_orderly
    queues = [(data.broker, number) for data in found for number in (range(data.read) if ordered else (-1,))]
    return QueryAssignmentResponse(
        OK,
        tuple(
            Assignment(MessageQueue(resource, number, Permission.READ_WRITE, brokers[broker]))
            for broker, number in queues
        ),
    )


def _endpoints(proxy: Proxy, asked: Endpoints | None) -> Endpoints:
    """The proxy's own address, at the host that the client has asked at."""
    address = asked.addresses[0] if asked is not None and asked.addresses else Address("127.0.0.1", proxy.port)
    port = address.port if proxy.settings.port_of_request else proxy.port
    scheme = asked.scheme if asked is not None and asked.addresses else AddressScheme.IPv4
    return Endpoints(scheme, (Address(address.host, port),))


def _not_served(proxy: Proxy, now: Time, call: Call, out: Outbox) -> Response:
    raise RefusedError(Code.UNSUPPORTED, f"{call.method}: lite topics are not served here")


_Handle: TypeAlias = Callable[[Proxy, Time, Call, Outbox], Response | None]

_METHODS: Mapping[str, _Handle] = {
    "QueryRoute": query_route,
    "QueryAssignment": query_assignment,
    "Heartbeat": telling.heartbeat,
    "NotifyClientTermination": telling.termination,
    "ReceiveMessage": receiving.receive,
    "AckMessage": acking.ack,
    "ChangeInvisibleDuration": acking.change,
    "ForwardMessageToDeadLetterQueue": acking.forward,
    "SendMessage": sending.send,
    "EndTransaction": transactions.end,
    "RecallMessage": sending.recall,
    "SyncLiteSubscription": _not_served,
}
