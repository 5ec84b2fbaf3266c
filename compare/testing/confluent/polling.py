"""What poll() and consume() do: errors that are due, callbacks, then records until the timeout is over."""

from collections.abc import Callable
from math import inf

from compare.testing.clock import Clock, in_ticks
from compare.testing.confluent import errors as errors
from compare.testing.confluent.callbacks import Callbacks
from compare.testing.confluent.commits import Commits
from compare.testing.confluent.log import CRITICAL, WARNING
from compare.testing.confluent.member import KafkaMember
from compare.testing.confluent.messages import Message, error_message, polled_too_late, unknown_topic
from compare.testing.world import World
from kafka_coordinator.consumer.state import ListenerCall
from protocols.engine.nodes import Time

ENDLESS_MS: Time = 3_600_000.0
"""poll() without a timeout gives up (`RuntimeError`) when no record came for so long."""


class Polling:
    """The poll() of one consumer; ``world``: where it lives."""

    def __init__(
        self, inner: KafkaMember, clock: Clock, world: Callable[[], World], callbacks: Callbacks, commits: Commits
    ) -> None:
        self._inner, self._clock, self._world = inner, clock, world
        self._callbacks, self._commits = callbacks, commits
        self.unknown: list[str] = []
        """Topics that were subscribed to, are not there, and were not told yet."""
        self.is_over = False
        """Whether an error ended it for good."""
        self._polled_at: Time | None = None

    def take(
        self, most: int, timeout: float | None, run_listener: Callable[[ListenerCall], None], *, subscribed: bool
    ) -> list[Message]:
        """Up to so many records, or an error. ``timeout``: seconds; None: without an end."""
        late = self._late(subscribed)
        if late is not None:
            self._inner.log.serve(self._clock.turn.lent)
            return [late]
        until = self._clock.time + (ENDLESS_MS if timeout is None else in_ticks(timeout))
        until = min(until, max(self._clock.limit, self._clock.time))
        self._serve()
        found = self._unknown_topic(until, run_listener) or self._until(most, until, run_listener)
        self._serve()
        if self._inner.node is None or not self._inner.is_alive:
            return found
        if self._inner.state.user.fatal and not self.is_over:
            return [*found, self._end(self._inner.state.user.fatal)]
        if timeout is None and not found and self._clock.time < self._clock.limit:
            raise RuntimeError(f"{self._inner.name}: poll() without a timeout, and no record came for an hour")
        return found

    def _until(self, most: int, until: Time, run_listener: Callable[[ListenerCall], None]) -> list[Message]:
        if self._inner.node is None:
            self._clock.run(until, self._world())
            return []
        try:
            return self._inner.poll(most, until, run_listener, fatal_told=self.is_over)
        finally:
            self._polled_at = self._clock.time

    def _unknown_topic(self, until: Time, run_listener: Callable[[ListenerCall], None]) -> list[Message]:
        """What is told of a topic that is not there; after the records of what was assigned by hand before."""
        if not self.unknown or self._inner.node is None:
            return []
        waiting = self._inner.poll(1, self._clock.time, run_listener, fatal_told=self.is_over)
        return waiting or [unknown_topic(self.unknown.pop(0))]

    def _late(self, subscribed: bool) -> Message | None:
        """The error of a poll() that comes after ``max.poll.interval.ms``; None for one in time."""
        if self._inner.node is None or self._polled_at is None:
            return None
        limit = self._inner.state.config.settings.max_poll_interval_ms if subscribed else inf
        after = self._clock.time - self._polled_at
        if after <= limit:
            return None
        self._polled_at = self._clock.time
        message = polled_too_late(after, limit)
        said = (message.value() or b"").decode()
        advice = "(adjust max.poll.interval.ms for long-running message processing): leaving group"
        self._inner.log.note(WARNING, "MAXPOLL", f"{said} {advice}")
        return message

    def _serve(self) -> None:
        """Everything that is told beside records."""
        if self._inner.node is None or self._inner.is_alive:
            self._callbacks.serve(self._clock.time)
            if self._inner.node is not None:
                self._commits.serve()
            self._inner.log.serve(self._clock.turn.lent)

    def _end(self, name: str) -> Message:
        """The client has failed for good: nothing is read any more."""
        self.is_over = True
        self._inner.forget_read()
        said = f"Fatal error: {errors.said(name)}: Fatal consumer error: {errors.said(name)}"
        self._inner.log.note(CRITICAL, "FATAL", said)
        self._inner.log.serve(self._clock.turn.lent)
        return error_message("_FATAL", said)
