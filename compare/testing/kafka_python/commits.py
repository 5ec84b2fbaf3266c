"""Commits of a KafkaConsumer: synchronous ones, and those whose answers are told in a later call."""

from collections.abc import Callable, Mapping
from typing import Any

from compare.testing.handling import HandlingGroup
from compare.testing.kafka.reader import Reader
from compare.testing.kafka_python.classes import OffsetAndMetadata, TopicPartition, errors
from compare.testing.kafka_python.futures import Future
from kafka_coordinator.consumer.commits import FAILED, REBALANCING, RETRIABLE
from protocols.engine.nodes import Time

_NO_MEMBER = (
    "Offset commit cannot be completed since the consumer is not part of an active group for auto partition assignment;"
    " it is likely that the consumer was kicked out of the group."
)
_UNDER_WAY = (
    "Offset commit cannot be completed since the consumer is undergoing a rebalance for auto partition assignment."
)


class Commits:
    """Of one consumer; ``default``: who is told of a commit that names no callback."""

    def __init__(self, group: HandlingGroup, reader: Reader, default: Callable[..., object] | None) -> None:
        self._group, self._reader, self._default = group, reader, default
        self._sent: list[tuple[Any, Callable[..., object] | None, Future]] = []

    def commit(self, offsets: Mapping[Any, Any], until: Time) -> None:
        """Commit and wait for the answer. Raises `CommitFailedError` where the group has gone on without it, and
        `KafkaTimeoutError` where no answer came in time."""
        self.serve()
        if not offsets:
            return
        self._send(offsets)
        self._wait(until)
        error = self._error()
        if error is not None:
            raise error
        self._note(offsets)

    def send(self, offsets: Mapping[Any, Any], callback: Callable[..., object] | None, timeout: Time) -> Future:
        """Commit without waiting."""
        self.serve()
        future = Future(lambda seconds: self._until_done(timeout if seconds is None else seconds * 1000))
        if offsets:
            self._wait(self._group.clock.time + timeout)  # one commit at a time
            self.serve()
            self._send(offsets)
        self._sent.append((offsets, callback, future))
        if not offsets:
            self.serve()
        return future

    def serve(self) -> None:
        """Tell of the commits whose answers are there."""
        if self._reader.node is not None and self._reader.is_committing:
            return
        sent, self._sent = self._sent, []
        for offsets, callback, future in sent:
            error = self._error() if offsets else None
            if error is None:
                self._note(offsets)
                future.success(None)
            else:
                future.failure(error)
            tell = callback or self._default
            if tell is not None:
                tell(offsets, error)

    def _until_done(self, timeout: Time) -> None:
        self._wait(self._group.clock.time + timeout)
        self.serve()

    def _send(self, offsets: Mapping[Any, Any]) -> None:
        self._reader.commit({tuple(each): at.offset for each, at in offsets.items()})

    def _wait(self, until: Time) -> None:
        if self._reader.node is not None and self._reader.is_committing:
            self._reader.live(until, lambda: not self._reader.is_committing)
            if self._reader.is_alive and self._reader.is_committing:
                raise errors.KafkaTimeoutError()

    def _error(self) -> Exception | None:
        refusal = self._reader.refusal if self._reader.is_alive else ""
        if not refusal:
            return None
        if refusal == REBALANCING:
            return errors.RebalanceInProgressError(_UNDER_WAY)  # type: ignore[no-any-return]
        if refusal == RETRIABLE:
            return errors.KafkaTimeoutError()  # type: ignore[no-any-return]
        name = refusal.removeprefix(FAILED).removeprefix(": ")
        if name == "FENCED_INSTANCE_ID":
            return errors.FencedInstanceIdError()  # type: ignore[no-any-return]
        answered = {"UNKNOWN_MEMBER_ID": "UnknownMemberIdError", "ILLEGAL_GENERATION": "IllegalGenerationError"}
        if name in answered:
            return errors.CommitFailedError(getattr(errors, answered[name])())  # type: ignore[no-any-return]
        return errors.CommitFailedError(_NO_MEMBER)  # type: ignore[no-any-return]

    def _note(self, offsets: Mapping[Any, Any]) -> None:
        for each, at in offsets.items():
            self._group.handling.metadata[tuple(each)] = at.offset, at.metadata


def check(offsets: Mapping[Any, Any]) -> None:
    """Raises `TypeError` for offsets of another shape."""
    keys = all(isinstance(each, TopicPartition) for each in offsets)
    if not keys or not all(isinstance(each, OffsetAndMetadata) for each in offsets.values()):
        raise TypeError("offsets must be dict[TopicPartition, OffsetAndMetadata]")
