"""A broker as a node: its clock, its connections (spec 2). What it knows is in `state`; what it does on a request is in
`requests` (clients), `pulls` and `administration`; what it tells by itself in `registering` and `notifying`."""

from collections.abc import Callable, Mapping
from typing import Any, Self

from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.engine.quiet import Exchange, Rest, Stretch
from protocols.load import Production
from rocketmq_selfbalance.broker import administration, following, notifying, pulls, registering, requests, resting
from rocketmq_selfbalance.broker.consumers import CLIENT_UNREGISTER
from rocketmq_selfbalance.broker.notifying import NOTIFY
from rocketmq_selfbalance.broker.registering import REGISTER
from rocketmq_selfbalance.broker.state import DELIVER, IDLE, Broker
from rocketmq_selfbalance.messages.pulling import PullMessage

SCAN, FLUSH = "scan", "flush"
"""Names of timers, beside `DELIVER`; `IDLE` and `pulls.HELD` have the peer or the queue as a second part."""


class BrokerNode:
    """A broker in the engine: what it does by the clock, on messages, when connections open and close."""

    __slots__ = ("broker",)

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    def start(self, now: Time, out: Outbox) -> None:
        settings, store = self.broker.settings, self.broker.disk.store
        self.broker.offsets.load(self.broker.disk.offsets)
        store.running = True
        for config in self.broker.disk.topics.configs.values():
            self.broker.open(now, config)
        registering.register(self.broker, self.broker.disk.topics.told(), out)
        out.set_timer(REGISTER, now + settings.register_first_ms)
        out.set_timer(SCAN, now + settings.scan_channels_interval_ms)
        out.set_timer(FLUSH, now + settings.flush_first_ms)
        if not settings.real_time_notify_consumer_change:
            out.set_timer(NOTIFY, now + settings.collected_notify_first_ms)
        self.broker.schedule_delivery(now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        self.broker.busy(now, sender)
        handle = _COMMANDS[type(message)] if sender == OPERATOR else _REQUESTS[type(message)]
        handle(self.broker, now, sender, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if isinstance(timer, tuple):
            if timer[0] == IDLE:
                self._idle(now, timer[1], out)
            elif timer[0] == pulls.HELD:
                pulls.held_due(self.broker, now, timer[1], out)
            else:
                pulls.wake(self.broker, now, timer[1].topic, timer[1].number, out)
        else:
            _TIMERS[timer](self, now, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        if peer not in self.broker.name_servers:
            self.broker.active[peer] = now
            out.set_timer((IDLE, peer), now + self.broker.settings.server_channel_max_idle_ms)

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self.broker.active.pop(peer, None)
        out.cancel_timer((IDLE, peer))
        self.broker.heartbeats.pop(peer, None)
        pulls.forget(self.broker, peer, out)
        notifying.tell(self.broker, now, self.broker.consumers.channel_closed(peer), out)

    def _idle(self, now: Time, peer: str, out: Outbox) -> None:
        """A connection may have been idle for too long: it is closed, or looked at again when it would be."""
        due = self.broker.active[peer] + self.broker.settings.server_channel_max_idle_ms
        if due > now:
            out.set_timer((IDLE, peer), due)
        else:
            self._hang_up(now, peer, out)

    # The clock.

    def _scan(self, now: Time, out: Outbox) -> None:
        silent, events = self.broker.consumers.scan(now)
        notifying.tell(self.broker, now, events, out)
        for channel in silent:
            self._hang_up(now, channel, out)
        for event in events:
            # The end of the connection, which is noticed on another thread, may be quicker than the removal.
            if event.kind == CLIENT_UNREGISTER and out.choose("the end is noticed first", (False, True)):
                notifying.tell(self.broker, now, self.broker.consumers.change(event.group), out)
        out.set_timer(SCAN, now + self.broker.settings.scan_channels_interval_ms)

    def _hang_up(self, now: Time, peer: str, out: Outbox) -> None:
        out.close(peer)
        self.closed(now, peer, out)

    def _flush(self, now: Time, out: Outbox) -> None:
        following.drop_past(self.broker, now)
        following.write_offsets(self.broker, now)
        out.set_timer(FLUSH, now + self.broker.settings.flush_consumer_offset_interval_ms)

    def _deliver(self, now: Time, out: Outbox) -> None:
        for topic, number in self.broker.disk.store.deliver(now):
            pulls.wake(self.broker, now, topic, number, out)
        self.broker.schedule_delivery(now, out)

    # Quiet times (`protocols.engine.quiet`).

    def rest(self, now: Time) -> Rest | None:
        settings = self.broker.settings
        exchanges = [
            registering.exchange(self.broker),
            Exchange(SCAN, settings.scan_channels_interval_ms),
            Exchange(FLUSH, settings.flush_consumer_offset_interval_ms),
        ]
        if not settings.real_time_notify_consumer_change and not self.broker.changed_groups:
            exchanges.append(Exchange(NOTIFY, settings.collected_notify_interval_ms))
        return resting.rest(self.broker, tuple(exchanges), IDLE)

    def passed(self, now: Time, sender: str, kind: type[Message], out: Outbox) -> None:
        self.broker.busy(now, sender)
        resting.passed(self.broker, now, sender, kind, out)

    def passed_about(self, now: Time, sender: str, kind: type[Message], about: Any, out: Outbox) -> None:
        self.broker.busy(now, sender)
        resting.passed_about(self.broker, now, sender, kind, about)

    def round_passed(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        if timer == FLUSH:
            following.write_offsets(self.broker, begun)

    def leads(self, now: Time, sender: str, request: Message) -> Production | None:
        return following.leads(self.broker, now, sender, request)

    def flow_led(self, now: Time, sender: str, stretch: Stretch, out: Outbox) -> None:
        following.led(self.broker, now, sender, stretch, out)

    def copy(self) -> Self:
        return type(self)(self.broker.copy())

    def key(self, now: Time) -> tuple[Any, ...]:
        return (
            self.broker.disk.key(now),
            self.broker.consumers.key(now),
            self.broker.offsets.key(),
            self.broker.locks.key(now),
            pulls.key(self.broker.held, now),
            self.broker.watches.key(now),
            tuple(sorted((peer, last - now) for peer, last in self.broker.active.items())),
            tuple(self.broker.changed_groups),
            self.broker.unflushed,
        )


_TIMERS: Mapping[str, Callable[[BrokerNode, Time, Outbox], None]] = {
    REGISTER: lambda node, now, out: registering.register_again(node.broker, now, out),
    SCAN: BrokerNode._scan,
    FLUSH: BrokerNode._flush,
    NOTIFY: lambda node, now, out: notifying.tell_collected(node.broker, now, out),
    DELIVER: BrokerNode._deliver,
}

_REQUESTS: Mapping[type[Message], Callable[[Broker, Time, str, Any, Outbox], None]] = {
    PullMessage: pulls.pull,
    **requests.REQUESTS,
}

_COMMANDS: Mapping[type[Message], Callable[[Broker, Time, str, Any, Outbox], None]] = administration.COMMANDS
