"""A share consumer as a node: answers, commands and timers are handed to the file that handles them.

Its membership is that of the consumer protocol with other messages, and without anything to revoke: a new assignment is
taken over at once by the background thread (`kafka_coordinator.consumer.kip848`). What the user's loop and the network
thread do for records is in `handling` and `fetching`.

In Kafka `ShareConsumerImpl`, `ShareMembershipManager` and `ShareHeartbeatRequestManager`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kafka_coordinator import messages
from kafka_coordinator.consumer import commands, leaving, lookup, metadata, requests, states
from kafka_coordinator.consumer.kip848 import heartbeats, membership
from kafka_coordinator.consumer.kip848 import polling as answers
from kafka_coordinator.consumer.kip848.states import FATAL, RECONCILED, RECONCILING, STALE, UNSUBSCRIBED
from kafka_coordinator.consumer.settings import ConsumerConfig
from kafka_coordinator.consumer.share import fetching, handling
from kafka_coordinator.consumer.share.settings import settings_of
from kafka_coordinator.consumer.share.state import ShareState
from kafka_coordinator.consumer.state import ConsumerState, InFlightRequest, protocol_member
from kafka_coordinator.consumer.state.membership import LocalAssignment
from kafka_coordinator.coordinator.share_groups.messages import ShareGroupHeartbeat, ShareGroupHeartbeatAnswer
from kafka_coordinator.share.messages import ShareAcknowledgeAnswer, ShareFetchAnswer
from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.facts import Noted
from protocols.node_state import NodeState

ACKNOWLEDGING, LEAVING = "acknowledge", "leave"
"""What close() waits for: the ends of the sessions, then the answer to the last heartbeat."""


@dataclass(slots=True, init=False, eq=False)
class ShareConsumer(NodeState):
    """Kafka's share consumer with its user's loop. Commands: `kafka_coordinator.consumer.commands`."""

    share: ShareState
    _successor: ConsumerConfig | None

    def __init__(self, config: ConsumerConfig) -> None:
        self.share = ShareState(ConsumerState.of(config))
        self._successor = None

    @property
    def state(self) -> ConsumerState:
        """What it has in common with every other consumer."""
        return self.share.base

    @property
    def is_over(self) -> bool:
        """Whether it has closed for good: nothing happens here any more."""
        return self.state.user.closed

    def start(self, now: Time, out: Outbox) -> None:
        metadata.refresh(self.state, now, out)
        self._settle(now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if sender == OPERATOR:
            if not self.is_over:
                if isinstance(message, commands.Close):
                    self._successor = message.successor
                _COMMANDS[type(message)](self.share, now, message, out)
                self._settle(now, out)
            return
        waiting = self.state.requests.in_flight.pop(message[0], None)
        if waiting is not None:
            self.state.connections.answered(sender)
            _ANSWERS[type(message)](self.share, now, waiting, message, out)
            membership.oversleep(self.state, now, out, _BUSY)
            self._settle(now, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if isinstance(timer, str):
            _DUE[timer](self.share, now, out)
        self._settle(now, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing waits for a connection."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        _refused(self.share, now, peer, out)
        self._settle(now, out)

    def _settle(self, now: Time, out: Outbox) -> None:
        """After every event: the background thread looks at everything, and the user's loop goes on, if it can."""
        s, c = self.share, self.state
        while not c.user.closed:
            if not c.user.closing and _is_in_poll(s):
                _poll(s, now, out)
            before = c.membership.state
            _reconcile(c, now, out)
            heartbeats.hurry(c, now, out)
            if c.membership.state != RECONCILING or c.membership.state == before:
                break
        if not c.user.closed:
            fetching.ask(s, now, out)
            if c.user.closing == ACKNOWLEDGING and not any(node.closing for node in s.nodes.values()):
                _leave(s, now, out)
        if c.user.closed and self._successor is not None:
            successor, self._successor = self._successor, None
            self.share = ShareState(ConsumerState.of(successor))
            self.start(now, out)


# The user's thread.


def _is_in_poll(s: ShareState) -> bool:
    return not (s.hand.records or s.base.user.away or s.base.user.frozen)


def _poll(s: ShareState, now: Time, out: Outbox) -> None:
    c = s.base
    if c.user.fatal:
        out.observe(Noted(f"poll() of {c.config.name} throws: {c.user.fatal}"))
        _close(s, now, commands.Close(), out)
        return
    wants = protocol_member(c).wants_to_join
    if c.membership.state == STALE or (c.membership.state == UNSUBSCRIBED and wants):
        membership.join(c, now, out)
    if c.lookup.coordinator is None and c.membership.state not in (UNSUBSCRIBED, FATAL):
        lookup.look_up(c, now, out)
    out.cancel_timer(states.POLL)
    protocol_member(c).overslept = False
    handling.poll(s, now, out)


def _poll_expired(s: ShareState, now: Time, out: Outbox) -> None:
    membership.poll_expired(s.base, now, out, _BUSY)


_BUSY: Final = "handling the records of one poll() takes longer"


def _heartbeat_due(s: ShareState, now: Time, out: Outbox) -> None:
    heartbeats.due(s.base, now, out)
    membership.oversleep(s.base, now, out, _BUSY)


# The background thread.


def _reconcile(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Take over the part of the target whose partitions the client knows."""
    m = protocol_member(c)
    if c.membership.state != RECONCILING or m.current == m.target or m.waits_for_metadata:
        return
    topics = c.metadata.topics
    known = tuple([each for each in m.target.partitions if each[1] < len(topics.get(each[0], ()))])
    resolved = LocalAssignment(m.target.number, known)
    if resolved != m.target:
        m.waits_for_metadata = True
        metadata.refresh(c, now, out)
    if resolved != m.current:
        m.current = resolved
        c.transition(RECONCILED, out)


def _metadata(s: ShareState, now: Time, waiting: InFlightRequest, answer: messages.MetadataAnswer, out: Outbox) -> None:
    c = s.base
    about: Any = waiting.about
    metadata.answered(c, now, answer, about, out)
    c.metadata.has_news = False
    s.leaderless.clear()
    if not c.metadata.refreshing:
        protocol_member(c).waits_for_metadata = False


def _heartbeat(
    s: ShareState, now: Time, waiting: InFlightRequest, answer: ShareGroupHeartbeatAnswer, out: Outbox
) -> None:
    answers.answered(s.base, now, answer, bool(waiting.about), out)
    if waiting.about and s.base.user.closing:
        _finish(s, now, out)


def _fetched(s: ShareState, now: Time, waiting: InFlightRequest, answer: ShareFetchAnswer, out: Outbox) -> None:
    about: Any = waiting.about
    fetching.fetched(s, now, waiting.to, answer, about, out)


def _acknowledged(
    s: ShareState, now: Time, waiting: InFlightRequest, answer: ShareAcknowledgeAnswer, out: Outbox
) -> None:
    about: Any = waiting.about
    fetching.acknowledged(s, now, waiting.to, answer, about, out)


_Answered = Callable[[ShareState, Time, InFlightRequest, Any, Outbox], None]

_ANSWERS: Final[Mapping[type[Message], _Answered]] = {
    messages.CoordinatorFound: lambda s, now, waiting, answer, out: lookup.found(s.base, now, answer, None, out),
    messages.MetadataAnswer: _metadata,
    ShareGroupHeartbeatAnswer: _heartbeat,
    ShareFetchAnswer: _fetched,
    ShareAcknowledgeAnswer: _acknowledged,
}


def _refused(s: ShareState, now: Time, broker: str, out: Outbox) -> None:
    """The connection was refused or has ended: its requests have failed."""
    c = s.base
    c.connections.refused(now, broker, c.config.settings)
    if c.lookup.coordinator == broker:
        c.lookup.coordinator = None
    for each in requests.lost(c, broker):
        about: Any = each.about
        if each.kind is messages.FindCoordinator:
            lookup.failed(c, now, out)
        elif each.kind is messages.MetadataRequest:
            metadata.failed(c, now, out)
        elif each.kind is ShareGroupHeartbeat:
            _heartbeat_failed(s, now, about, out)
        else:
            fetching.lost(s, now, broker, about, out)
    fetching.disconnected(s, now, broker, out)


def _heartbeat_failed(s: ShareState, now: Time, is_last: object, out: Outbox) -> None:
    if not is_last:
        heartbeats.failed(s.base, now, out, pause=True)
    elif s.base.user.closing:
        _finish(s, now, out)


def _overdue(s: ShareState, now: Time, out: Outbox) -> None:
    for broker in requests.overdue(s.base, now, out):
        out.close(broker)
        _refused(s, now, broker, out)


_DUE: Final[Mapping[str, Callable[[ShareState, Time, Outbox], None]]] = {
    states.REQUESTS: _overdue,
    states.LOOKUP: lambda s, now, out: lookup.retry(s.base, now, out),
    states.METADATA: lambda s, now, out: metadata.refresh(s.base, now, out),
    states.HEARTBEAT: _heartbeat_due,
    states.POLL: _poll_expired,
    states.RESUME: handling.handled,
    states.CLOSE: lambda s, now, out: _finish(s, now, out),
    handling.RENEWAL: handling.renew,
}


# The end.


def _close(s: ShareState, now: Time, command: commands.Close, out: Outbox) -> None:
    """close(): what was acknowledged is sent, with the ends of the sessions; what was only handed out is given back. An
    implicit acknowledgement comes with the next poll() alone, which there is none of."""
    c = s.base
    if c.user.closing:
        return
    handling.report(s, now, out)
    c.user.closing = ACKNOWLEDGING
    out.set_timer(states.CLOSE, now + c.config.settings.close_timeout_ms)
    for verdict in s.hand.verdicts if settings_of(c).acknowledges_explicitly else ():
        s.node(verdict.broker).alone.append(verdict)
    handling.clear(s)
    out.cancel_timer(states.RESUME)
    for node in s.nodes.values():
        node.alone += node.with_fetch
        node.with_fetch = []
        node.closing = node.epoch != 0 or node.busy


def _leave(s: ShareState, now: Time, out: Outbox) -> None:
    s.base.user.closing = LEAVING
    membership.prepare_leaving(s.base, now, out)
    if not membership.leave(s.base, now, out):
        _finish(s, now, out)


def _finish(s: ShareState, now: Time, out: Outbox) -> None:
    leaving.shut_down(s.base, out)
    out.cancel_timer(handling.RENEWAL)
    for broker in s.nodes:
        out.cancel_timer((fetching.RETRY, broker))


# Commands.


def _subscribe(s: ShareState, now: Time, command: commands.Subscribe, out: Outbox) -> None:
    c = s.base
    c.config = replace(c.config, topics=command.topics)
    c.subscription.topics = command.topics
    if command.topics:
        protocol_member(c).wants_to_join = c.membership.state in (UNSUBSCRIBED, FATAL)
        metadata.refresh(c, now, out)
    else:
        membership.prepare_leaving(c, now, out)
        membership.leave(c, now, out)


def _stop_polling(s: ShareState, now: Time, command: commands.StopPolling, out: Outbox) -> None:
    handling.hold(s, now, out)
    s.base.user.away = True
    out.set_timer(states.POLL, now + s.base.config.settings.max_poll_interval_ms)


def _go_on(s: ShareState, now: Time, command: commands.GoOn, out: Outbox) -> None:
    s.base.user.away = False
    handling.release(s, now, out)


def _take_for(s: ShareState, now: Time, command: commands.TakeFor, out: Outbox) -> None:
    handling.hold(s, now, out)
    s.hand.left = None
    s.base.config = replace(s.base.config, handle=command.handle)
    handling.go_on(s, now, out)


def _freeze(s: ShareState, now: Time, command: commands.Freeze, out: Outbox) -> None:
    handling.hold(s, now, out)
    s.base.user.frozen = True


def _thaw(s: ShareState, now: Time, command: commands.Thaw, out: Outbox) -> None:
    s.base.user.frozen = False
    if not s.base.user.away:
        handling.release(s, now, out)


def _new_load(s: ShareState, now: Time, command: commands.NewLoad, out: Outbox) -> None:
    s.base.load = command.load


_COMMANDS: Final[Mapping[type[Message], Callable[[ShareState, Time, Any, Outbox], None]]] = {
    commands.Close: _close,
    commands.Subscribe: _subscribe,
    commands.CommitNow: lambda s, now, command, out: handling.commit(s),
    commands.StopPolling: _stop_polling,
    commands.GoOn: _go_on,
    commands.TakeFor: _take_for,
    commands.Freeze: _freeze,
    commands.Thaw: _thaw,
    commands.NewLoad: _new_load,
    commands.ReportDelivered: lambda s, now, command, out: handling.report(s, now, out),
}
