"""RocketMQ's proxy in the engine: it asks brokers for its clients, and keeps what they have invisible (spec pop 5; the
rules are those of ``ReceiveMessageActivity``, ``DefaultReceiptHandleManager`` and ``ClientActivity``).

Why messages of a killed client stay hidden for two minutes: a closed connection ends its open requests, but not what
the proxy renews for it. Only a client that says nothing for ``channelExpiredTimeout`` is dropped, and what it had is
given back then.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, NamedTuple, TypeAlias

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.node_state import Apart, NodeState
from rocketmq_selfbalance.codes import SUCCESS
from rocketmq_selfbalance.messages.nameserver import GetRouteInfo, Route, RouteInfoAnswer
from rocketmq_selfbalance.messages.requests import Answer
from rocketmq_selfbalance.pop import Handle
from rocketmq_selfbalance.pop.renewing import renewal
from rocketmq_selfbalance.popping.messages import (
    AckMessage,
    Assignment,
    ChangeInvisibleDuration,
    ClientHeartbeat,
    Done,
    ForwardToDeadLetterQueue,
    NotifyClientTermination,
    OfRecord,
    QueryAssignment,
    QueryRoute,
    Received,
    ReceiveMessage,
    TopicRoute,
)
from rocketmq_selfbalance.popping.settings import PopSettings
from rocketmq_selfbalance.proxy.settings import ProxySettings

PROXY: Final = "proxy"
"""Name of its node."""

RENEW, SCAN, ROUTES = "renew", "scan", "routes"
_RULES: Final = ProxySettings()
"""Times that the variant's settings do not change."""

Place: TypeAlias = tuple[str, str, int, int]
"""Topic, broker, number of the queue, and offset, that a record had at first."""


class Asked(NamedTuple):
    """A request to a broker: for whose node (empty: for the proxy itself), under which number, and what it was.
    ``until``: then nobody waits any more for the answer; ``renews``: the client whose record is renewed."""

    client: str
    number: int
    broker: str
    request: ReceiveMessage | OfRecord
    until: Time = inf
    renews: str = ""


class Client(NamedTuple):
    """One process of a member; ``node`` is where it lives, or lived."""

    group: str
    member: str
    node: str
    heard: Time


@dataclass(slots=True)
class Kept(NodeState):
    """A record that is renewed for a client; ``handle`` is the newest."""

    handle: Handle
    delivered: Time
    renewals: int = 0
    busy: bool = False
    failures: int = 0


@dataclass(slots=True, eq=False)
class ProxyNode(NodeState):
    """A running proxy in cluster mode, before all brokers."""

    settings: Apart[PopSettings]
    name_server: str
    clients: dict[str, Client] = field(default_factory=dict)
    """By client id."""
    ids: dict[str, str] = field(default_factory=dict)
    """Node to the id of the client that lives there."""
    kept: dict[str, dict[Place, Kept]] = field(default_factory=dict)
    """Client to what is renewed for it."""
    routes: dict[str, Route | None] = field(default_factory=dict)
    """Topic to its route, None where the name server knows none."""
    wanting: dict[str, list[tuple[str, QueryAssignment | QueryRoute]]] = field(default_factory=dict)
    """Topic to the clients, with their questions, who wait for its first route."""
    looking: dict[int, str] = field(default_factory=dict)
    """Number of a request to the name server, and its topic."""
    asked: dict[int, Asked] = field(default_factory=dict)
    correlation: int = 0

    def start(self, now: Time, out: Outbox) -> None:
        out.set_timer(RENEW, now + _RULES.renew_scan_ms)
        out.set_timer(SCAN, now + _RULES.channel_scan_ms)
        out.set_timer(ROUTES, now + _RULES.route_refresh_ms)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        _HANDLERS[type(message)](self, now, sender, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if timer == RENEW:
            self._renew(now, out)
            out.set_timer(RENEW, now + _RULES.renew_scan_ms)
        elif timer == SCAN:
            for name in [
                name for name, client in self.clients.items() if now - client.heard > self.settings.channel_expired_ms
            ]:
                self._drop(name, out)
            out.set_timer(SCAN, now + _RULES.channel_scan_ms)
        else:
            for topic in self.routes:
                self._look_up(topic, out)
            out.set_timer(ROUTES, now + _RULES.route_refresh_ms)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing waits for a connection."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """A client: its open requests are over, though brokers go on with them. A broker: what it was asked has
        failed."""
        for number, asked in list(self.asked.items()):
            if asked.client == peer:
                self.asked[number] = asked._replace(client="")
            elif asked.broker == peer:
                del self.asked[number]
                self._failed(asked, out)
        if peer == self.name_server:
            self.looking.clear()

    # What clients ask.

    def _heartbeat(self, now: Time, sender: str, message: ClientHeartbeat, out: Outbox) -> None:
        self.ids[sender] = message.client_id
        self.clients[message.client_id] = Client(message.group, message.member, sender, now)
        out.send(sender, Answer(message.correlation, SUCCESS))

    def _terminate(self, now: Time, sender: str, message: NotifyClientTermination, out: Outbox) -> None:
        self._drop(self.ids.pop(sender, ""), out)
        out.send(sender, Answer(message.correlation, SUCCESS))

    def _asks_route(self, now: Time, sender: str, message: QueryAssignment | QueryRoute, out: Outbox) -> None:
        if message.topic in self.routes:
            self._tell_route(sender, message, out)
            return
        waiting = self.wanting.setdefault(message.topic, [])
        waiting.append((sender, message))
        if len(waiting) == 1:
            self._look_up(message.topic, out)

    def _tell_route(self, client: str, question: QueryAssignment | QueryRoute, out: Outbox) -> None:
        route = self.routes[question.topic]
        brokers = None
        if route is not None:
            with_master = {data.broker for data in route.brokers if data.addresses and data.addresses[0][0] == 0}
            brokers = tuple(
                (data.broker, data.read) for data in route.queues if data.read and data.broker in with_master
            )
        answer = Assignment if isinstance(question, QueryAssignment) else TopicRoute
        out.send(client, answer(question.correlation, question.topic, brokers))

    def _look_up(self, topic: str, out: Outbox) -> None:
        self.correlation += 1
        self.looking[self.correlation] = topic
        out.send(self.name_server, GetRouteInfo(self.correlation, topic))

    def _route(self, now: Time, sender: str, message: RouteInfoAnswer, out: Outbox) -> None:
        topic = self.looking.pop(message.correlation, None)
        if topic is None:
            return
        self.routes[topic] = message.route if message.code == SUCCESS else None
        for client, question in self.wanting.pop(topic, ()):
            self._tell_route(client, question, out)
        if self.routes[topic] is None:
            del self.routes[topic]  # asked anew by the next client

    def _receive(self, now: Time, sender: str, message: ReceiveMessage, out: Outbox) -> None:
        if self.ids.get(sender) not in self.clients:
            out.send(sender, Received(message.correlation, False))
        else:
            self._ask(sender, message, out, until=now + message.polling + _RULES.request_timeout_ms)

    def _of_member(self, now: Time, sender: str, message: OfRecord, out: Outbox) -> None:
        """The client names the handle that it got first; the newest one counts."""
        kept = self.kept.get(self.ids.get(sender, ""), {}).pop(_place(message), None)
        handle = message.handle if kept is None else kept.handle
        if handle.visible_at < now:
            out.send(sender, Done(message.correlation, False))
        else:
            self._ask(sender, message._replace(handle=handle), out)

    def _ask(
        self, client: str, request: ReceiveMessage | OfRecord, out: Outbox, *, until: Time = inf, renews: str = ""
    ) -> None:
        """The broker is asked under a number of the proxy's own."""
        self.correlation += 1
        address = self._address(request.topic, request.broker)
        self.asked[self.correlation] = Asked(client, request.correlation, address, request, until, renews)
        out.send(address, request._replace(correlation=self.correlation))

    def _address(self, topic: str, broker: str) -> str:
        route = self.routes.get(topic)
        for data in () if route is None else route.brokers:
            if data.broker == broker and data.addresses:
                return data.addresses[0][1]
        return broker

    # What brokers answer.

    def _received(self, now: Time, sender: str, message: Received, out: Outbox) -> None:
        asked = self.asked.pop(message.correlation, None)
        if asked is None or not isinstance(asked.request, ReceiveMessage):
            return
        request, passed = asked.request, list[Handle]()
        client = self.ids.get(asked.client, "") if now <= asked.until else ""
        for handle in message.handles:
            if handle.record.times > self.settings.retry_max_times:
                self._ask("", ForwardToDeadLetterQueue(0, *_whose(request), handle), out)
            elif client not in self.clients:  # nobody hears the answer
                self._give_back(_whose(request), handle, out, suspends=True)
            else:
                passed.append(handle)
        if asked.client:
            if self.settings.auto_renew and request.auto_renew and passed:
                kept = self.kept.setdefault(client, {})
                for handle in passed:
                    kept[request.topic, request.broker, handle.record.number, handle.record.offset] = Kept(handle, now)
            out.send(asked.client, Received(asked.number, message.ok, tuple(passed)))

    def _done(self, now: Time, sender: str, message: Done, out: Outbox) -> None:
        asked = self.asked.pop(message.correlation, None)
        if asked is None or isinstance(asked.request, ReceiveMessage):
            return
        if asked.client:
            out.send(asked.client, Done(asked.number, message.ok, message.handle))
            return
        kept = self.kept.get(asked.renews, {})
        found = kept.get(_place(asked.request))
        if found is not None and message.handle is not None:
            found.busy, found.handle, found.renewals, found.failures = False, message.handle, found.renewals + 1, 0
        elif found is not None:
            self._not_renewed(kept, asked.request)

    def _failed(self, asked: Asked, out: Outbox) -> None:
        if asked.client:
            answer = Received if isinstance(asked.request, ReceiveMessage) else Done
            out.send(asked.client, answer(asked.number, False))
        elif isinstance(asked.request, ChangeInvisibleDuration):
            self._not_renewed(self.kept.get(asked.renews, {}), asked.request)

    def _not_renewed(self, kept: dict[Place, Kept], request: OfRecord) -> None:
        found = kept.get(_place(request))
        if found is not None:
            found.busy, found.failures = False, found.failures + 1
            if found.failures >= _RULES.renew_most_failures:
                del kept[_place(request)]

    # What the proxy keeps invisible.

    def _renew(self, now: Time, out: Outbox) -> None:
        for name, kept in self.kept.items():
            client = self.clients[name]
            for place, record in list(kept.items()):
                left = record.handle.visible_at - now
                if record.busy or left >= _RULES.renew_ahead_ms:
                    continue
                age, times = now - record.delivered, record.handle.record.times
                invisible, ends = renewal(left, age, _RULES.renew_most_ms, record.renewals, times)
                if ends:
                    del kept[place]
                else:
                    record.busy = True
                if invisible is not None:
                    whose = client.group, client.member, place[0], place[1]
                    change = ChangeInvisibleDuration(0, *whose, record.handle, float(invisible))
                    self._ask("", change, out, renews=name)

    def _drop(self, name: str, out: Outbox) -> None:
        """The client is gone: what is renewed for it can be had again soon."""
        client = self.clients.pop(name, None)
        for place, record in self.kept.pop(name, {}).items():
            if client is not None:
                self._give_back((client.group, client.member, place[0], place[1]), record.handle, out)

    def _give_back(
        self, whose: tuple[str, str, str, str], handle: Handle, out: Outbox, *, suspends: bool = False
    ) -> None:
        change = ChangeInvisibleDuration(0, *whose, handle, _RULES.clear_invisible_ms, True, suspends)
        self._ask("", change, out)


def _place(message: OfRecord) -> Place:
    record = message.handle.record
    return message.topic, message.broker, record.number, record.offset


def _whose(request: ReceiveMessage) -> tuple[str, str, str, str]:
    return request.group, request.member, request.topic, request.broker


_HANDLERS: Final[Mapping[type[Message], Callable[[ProxyNode, Time, str, Any, Outbox], None]]] = {
    ClientHeartbeat: ProxyNode._heartbeat,
    NotifyClientTermination: ProxyNode._terminate,
    QueryAssignment: ProxyNode._asks_route,
    QueryRoute: ProxyNode._asks_route,
    ReceiveMessage: ProxyNode._receive,
    AckMessage: ProxyNode._of_member,
    ChangeInvisibleDuration: ProxyNode._of_member,
    ForwardToDeadLetterQueue: ProxyNode._of_member,
    RouteInfoAnswer: ProxyNode._route,
    Received: ProxyNode._received,
    Done: ProxyNode._done,
}
