"""A consumer as a node: each answer, command and timer is handed to the file that handles it.

In Kafka `ClassicKafkaConsumer` with its `ConsumerCoordinator`, and `AsyncKafkaConsumer`. The real client is several
threads around one state; here the user's loop, the heartbeat thread and the network are callers of one node, and
what one of them blocks is said by the state: a loop that handles records answers no rebalance, while heartbeats go
on. That difference is behind most surprises of Kafka's consumers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafka_coordinator import messages
from kafka_coordinator.consumer import (
    by_hand,
    commits,
    connections,
    heartbeats,
    joining,
    leaving,
    lookup,
    membership,
    metadata,
    operator,
    polling,
    positions,
    reading,
    states,
)
from kafka_coordinator.consumer import polling as standing_still
from kafka_coordinator.consumer.commands import Close
from kafka_coordinator.consumer.kip848 import heartbeats as kip848_heartbeats
from kafka_coordinator.consumer.kip848 import membership as kip848_membership
from kafka_coordinator.consumer.kip848 import polling as kip848_answers
from kafka_coordinator.consumer.kip848 import polling as kip848_polling
from kafka_coordinator.consumer.kip848 import reconciliation
from kafka_coordinator.consumer.settings import ConsumerConfig
from kafka_coordinator.consumer.state import ConsumerState
from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.node_state import NodeState


@dataclass(slots=True, init=False, eq=False)
class Consumer(NodeState):
    """Kafka's consumer with its user's loop. Commands: `kafka_coordinator.consumer.commands`."""

    state: ConsumerState
    _successor: ConsumerConfig | None

    def __init__(self, config: ConsumerConfig) -> None:
        self.state = ConsumerState.of(config)
        self._successor = None

    @property
    def is_over(self) -> bool:
        """Whether it has closed for good: nothing happens here any more."""
        return self.state.user.closed

    def start(self, now: Time, out: Outbox) -> None:
        """The user's loop begins: metadata and coordinator are asked for."""
        metadata.refresh(self.state, now, out)
        self._settle(now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        c = self.state
        if sender == OPERATOR:
            if not c.user.closed:
                self._obey(now, message, out)
                self._settle(now, out)
            return
        waiting = c.requests.in_flight.pop(message[0], None)
        if waiting is None:
            return
        c.connections.answered(sender)
        kind = type(message)
        in_poll = _IN_POLL.get(kind)
        if c.kip848 is not None and in_poll is not None:
            in_poll(c, now, message, waiting.about, out)  # by the background thread
        elif in_poll is None:
            _AT_ONCE[kind](c, now, message, waiting.about, out)
        elif not c.user.closing and not _waits_for(c, message, waiting.about) and polling.is_elsewhere(c, now, out):
            c.user.deferred.append((message, waiting.about))
            return
        else:
            in_poll(c, now, message, waiting.about, out)
        if c.kip848 is not None:
            kip848_membership.oversleep(c, now, out)
        self._settle(now, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        _DUE[timer](self.state, now, out)
        self._settle(now, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing waits for a connection: requests are sent as soon as there is something to ask."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        connections.refused(self.state, now, peer, out)
        self._settle(now, out)

    def _settle(self, now: Time, out: Outbox) -> None:
        """After every event: the user's loop continues, if it is in poll()."""
        c = self.state
        user = c.user
        while True:
            if c.connections.to_close:
                connections.drop(c, now, out)
                continue
            if c.kip848 is not None:
                kip848_heartbeats.hurry(c, now, out)
            if user.closing:
                break
            if c.config.by_hand:
                by_hand.begin_reading(c, now, out)
            has_work = polling.has_work if c.kip848 is None else kip848_polling.has_work
            if not (user.deferred or has_work(c)) or polling.is_elsewhere(c, now, out):
                return
            if user.deferred:
                message, about = user.deferred.pop(0)
                _IN_POLL[type(message)](c, now, message, about, out)
                continue
            again = _poll(c, now, out)
            if not again and not c.connections.to_close and not user.closing:
                return
        if user.closed and self._successor is not None:
            successor, self._successor = self._successor, None
            self.state = ConsumerState.of(successor)
            self.start(now, out)

    def _obey(self, now: Time, message: Message, out: Outbox) -> None:
        if isinstance(message, Close):
            self._successor = message.successor
        operator.COMMANDS[type(message)](self.state, now, message, out)


def _poll(c: ConsumerState, now: Time, out: Outbox) -> bool:
    """poll(), by the rules of the protocol; whether the user's thread looks again at once."""
    if c.kip848 is not None:
        again = kip848_polling.poll(c, now, out)
        kip848_heartbeats.hurry(c, now, out)
        return again
    polling.poll(c, now, out)
    return False


_Handler = Callable[[ConsumerState, Time, Any, Any, Outbox], None]


def _metadata(
    c: ConsumerState, now: Time, answer: messages.MetadataAnswer, about: tuple[str, ...] | None, out: Outbox
) -> None:
    metadata.answered(c, now, answer, about, out)
    if not c.metadata.refreshing:
        joining.metadata_arrived(c)
        if c.kip848 is not None:
            c.kip848.waits_for_metadata = False


def _committed(
    c: ConsumerState, now: Time, answer: messages.OffsetCommitAnswer, about: commits.About, out: Outbox
) -> None:
    connections.commit_finished(c, now, about, commits.outcome_of(c, now, answer, about, out), out)


def _waits_for(c: ConsumerState, answer: Message, about: object) -> bool:
    """Whether the answer is taken wherever the user's thread is: it waits in commitSync(), or has not to be asked."""
    if c.config.by_hand and type(answer) is messages.OffsetFetchAnswer:
        return c.user.listener_call is None
    return type(about) is commits.About and about.purpose == commits.USER


def _left(c: ConsumerState, now: Time, answer: messages.LeaveGroupAnswer, about: None, out: Outbox) -> None:
    if c.user.closing:
        leaving.finish(c, now, out)


def _consumer_heartbeat(
    c: ConsumerState, now: Time, answer: messages.ConsumerGroupHeartbeatAnswer, is_last: bool, out: Outbox
) -> None:
    kip848_answers.answered(c, now, answer, is_last, out)
    if is_last and c.user.closing:
        leaving.finish(c, now, out)


_AT_ONCE: Final[Mapping[type[Message], _Handler]] = {
    messages.CoordinatorFound: lookup.found,
    messages.MetadataAnswer: _metadata,
    messages.HeartbeatAnswer: heartbeats.answered,
    messages.LeaveGroupAnswer: _left,
    messages.ConsumerGroupHeartbeatAnswer: _consumer_heartbeat,
}
"""Answers that the network and the heartbeat thread deal with."""

_IN_POLL: Final[Mapping[type[Message], _Handler]] = {
    messages.JoinGroupAnswer: joining.join_answered,
    messages.SyncGroupAnswer: joining.sync_answered,
    messages.OffsetCommitAnswer: _committed,
    messages.OffsetFetchAnswer: positions.answered,
}
"""Answers that the user's thread deals with, in poll()."""


def _commit_again(c: ConsumerState, now: Time, out: Outbox) -> None:
    if c.user.closing:
        leaving.commit(c, now, out)
    elif c.commits.by_user is not None:
        commits.commit_for_user(c, now, out)


def _resume(c: ConsumerState, now: Time, out: Outbox) -> None:
    c.user.resume_at = None
    c.user.polled_at = now
    if c.kip848 is not None and c.kip848.overslept:
        polling.in_time(c, out)


def _poll_expired(c: ConsumerState, now: Time, out: Outbox) -> None:
    if not c.user.away and c.user.listener_call is None:
        c.user.resume_at = c.user.batch_end
        out.set_timer(states.RESUME, c.user.batch_end)
    if c.kip848 is None:
        membership.poll_expired(c, now, out)
    else:
        kip848_membership.poll_expired(c, now, out)


def _heartbeat_due(c: ConsumerState, now: Time, out: Outbox) -> None:
    if c.kip848 is None:
        heartbeats.due(c, now, out)
    else:
        kip848_heartbeats.due(c, now, out)
        kip848_membership.oversleep(c, now, out)


def _rejoin(c: ConsumerState, now: Time, out: Outbox) -> None:
    if c.kip848 is None:
        joining.backoff_over(c)
    else:
        reconciliation.commit(c, now, out)


def _auto_commit_due(c: ConsumerState, now: Time, out: Outbox) -> None:
    c.commits.auto_due = True


_DUE: Final[Mapping[TimerName, Callable[[ConsumerState, Time, Outbox], None]]] = {
    states.REQUESTS: connections.overdue,
    states.LOOKUP: lookup.retry,
    states.METADATA: lambda c, now, out: metadata.refresh(c, now, out),
    states.HEARTBEAT: _heartbeat_due,
    states.POLL: _poll_expired,
    states.RESUME: _resume,
    states.SHARE: lambda c, now, out: reading.share_anew(c, now, out),
    states.POISON: standing_still.begin,
    states.SKIP: standing_still.skip,
    states.REJOIN: _rejoin,
    states.RECONCILE: lambda c, now, out: reconciliation.looks(c),
    states.POSITIONS: lambda c, now, out: positions.retry(c),
    states.AUTO_COMMIT: _auto_commit_due,
    states.COMMIT_AGAIN: _commit_again,
    states.CLOSE: lambda c, now, out: leaving.finish(c, now, out),
}
