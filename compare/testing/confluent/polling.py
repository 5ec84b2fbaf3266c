"""What poll() and consume() do: errors that are due, callbacks, then records until the timeout is over."""

import json
from collections.abc import Callable, Mapping
from logging import CRITICAL, ERROR, INFO, WARNING
from math import inf

from compare.testing.clock import Clock
from compare.testing.confluent import errors
from compare.testing.confluent.arguments import end_of
from compare.testing.confluent.configuration import Configuration
from compare.testing.confluent.member import KafkaMember
from compare.testing.confluent.messages import Message, error_message
from compare.testing.confluent.offsets import Commits
from compare.testing.faults import NothingCame
from compare.testing.handling import HandlingGroup
from compare.testing.watching import LatePoll
from kafka_coordinator.cluster import ListenerCall
from protocols.engine.nodes import Time

_CLOSED = "Disconnected: connection closed by peer: receive 0 after POLLIN"


class Callbacks:
    """What is told in poll() beside records."""

    def __init__(self, inner: KafkaMember, configuration: Configuration, clock: Clock) -> None:
        self._inner, self._configuration = inner, configuration
        self._statistics_due: Time = clock.time + configuration.statistics_ms
        self._down: set[str] = set()
        """Brokers that were told to be down."""

    def serve(self, now: Time) -> None:
        """Call whatever is due."""
        statistics = self._configuration.callbacks.get("stats_cb")
        every = self._configuration.statistics_ms
        if statistics is not None and every and now >= self._statistics_due:
            self._statistics_due = now + every
            self._inner.lend(statistics, json.dumps(self._statistics(now)))
        self._serve_brokers()

    def _serve_brokers(self) -> None:
        """Tell of brokers to which the connection broke."""
        if self._inner.node is None:
            return
        brokers = list(self._inner.cluster.scenario.brokers)
        down = [broker for broker in brokers if broker not in self._inner.cluster.controller.state.brokers]
        new = [broker for broker in down if broker not in self._down]
        self._down = set(down)
        for broker in new:
            name = f"{broker}:9092/{brokers.index(broker) + 1}"
            refused = f"{name}: Connect to {broker}:9092 failed: Connection refused (after 0ms in state CONNECT)"
            self._inner.log.note(INFO, "FAIL", f"{name}: {_CLOSED}", name)
            self._inner.log.note(ERROR, "FAIL", refused, name)
            self._error("_TRANSPORT", refused)
        if new and len(down) == len(brokers):
            self._error("_ALL_BROKERS_DOWN", f"{len(down)}/{len(brokers)} brokers are down")

    def _error(self, name: str, reason: str) -> None:
        """Tell ``error_cb``."""
        heard = self._configuration.callbacks.get("error_cb")
        if heard is not None:
            self._inner.lend(heard, errors.error(name, reason))

    def _statistics(self, now: Time) -> Mapping[str, object]:
        """The fields of librdkafka's statistics that the double knows."""
        inner = self._inner
        topics: dict[str, dict[str, object]] = {}
        for partition in sorted(inner.read):
            topic, number = partition
            end, position = inner.end_offset(partition), inner.position.get(partition, errors.OFFSET_INVALID)
            partitions = topics.setdefault(topic, {})
            partitions[str(number)] = {"partition": number, "app_offset": position, "hi_offset": end, "lo_offset": 0}
        return {
            "name": inner.name,
            "type": "consumer",
            "ts": int(now * 1000),
            "time": int(now / 1000),
            "topics": {topic: {"topic": topic, "partitions": partitions} for topic, partitions in topics.items()},
        }


class Polling:
    """The poll() of one consumer."""

    def __init__(
        self, group: HandlingGroup, inner: KafkaMember, configuration: Configuration, commits: Commits
    ) -> None:
        self._group, self._inner, self._clock, self._commits = group, inner, group.clock, commits
        self._callbacks = Callbacks(inner, configuration, group.clock)
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
            self._inner.log.serve()
            return [late]
        until = min(end_of(timeout, self._clock.time), max(self._clock.limit, self._clock.time))
        self._serve()
        found = self._unknown_topic(until, run_listener) or self._until(most, until, run_listener)
        self._serve()
        if self._inner.node is None or not self._inner.is_alive:
            return found
        if self._inner.state.user.fatal and not self.is_over:
            return [*found, self._end(self._inner.state.user.fatal)]
        if timeout is None and not found and self._clock.time < self._clock.limit:
            raise NothingCame(f"{self._inner.name}: poll() without a timeout, and no record came for an hour")
        return found

    def _until(self, most: int, until: Time, run_listener: Callable[[ListenerCall], None]) -> list[Message]:
        if self._inner.node is None:
            self._clock.run(until, self._group.world)
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
        if waiting:
            return waiting
        topic = self.unknown.pop(0)
        reason = f"Subscribed topic not available: {topic}: {errors.said('UNKNOWN_TOPIC_OR_PART')}"
        return [error_message("UNKNOWN_TOPIC_OR_PART", reason, (topic, None, None))]

    def _late(self, subscribed: bool) -> Message | None:
        """The error of a poll() that comes after ``max.poll.interval.ms``; None for one in time."""
        if self._inner.node is None or self._polled_at is None:
            return None
        limit = self._inner.state.config.settings.max_poll_interval_ms if subscribed else inf
        after = self._clock.time - self._polled_at
        if after <= limit:
            return None
        self._group.handling.late_polls.append(LatePoll(self._polled_at, self._clock.time, self._inner.name, limit))
        self._polled_at = self._clock.time
        reason = f"Application maximum poll interval ({limit:.0f}ms) exceeded by {int(after - limit)}ms"
        advice = "(adjust max.poll.interval.ms for long-running message processing): leaving group"
        self._inner.log.note(WARNING, "MAXPOLL", f"{reason} {advice}")
        return error_message("_MAX_POLL_EXCEEDED", reason)

    def _serve(self) -> None:
        """Everything that is told beside records."""
        if self._inner.node is None or self._inner.is_alive:
            self._callbacks.serve(self._clock.time)
            if self._inner.node is not None:
                self._commits.serve()
            self._inner.log.serve()

    def _end(self, name: str) -> Message:
        """The client has failed for good: nothing is read any more."""
        self.is_over = True
        self._inner.forget_read()
        said = f"Fatal error: {errors.said(name)}: Fatal consumer error: {errors.said(name)}"
        self._inner.log.note(CRITICAL, "FATAL", said)
        self._inner.log.serve()
        return error_message("_FATAL", said)
