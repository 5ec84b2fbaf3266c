"""Records as confluent-kafka hands them out, and what stands in them."""

from collections.abc import Callable
from typing import TypeAlias

from compare.testing import kafka_errors as errors
from protocols.engine.nodes import TICK, Time
from protocols.load import Production

TIMESTAMP_CREATE_TIME = 1

MakeValue: TypeAlias = Callable[[str, int, int], bytes | None]
"""From topic, partition and offset to the value (or the key) of a record."""

Headers: TypeAlias = list[tuple[str, bytes]]
MakeHeaders: TypeAlias = Callable[[str, int, int], Headers | None]
"""The same for its headers."""


def value_of(topic: str, partition: int, offset: int) -> bytes:
    """What stands in a record if nobody says otherwise: ``orders-3/17``."""
    return f"{topic}-{partition}/{offset}".encode()


def key_of(topic: str, partition: int, offset: int) -> bytes | None:
    """Records have no key if nobody says otherwise."""
    return None


def headers_of(topic: str, partition: int, offset: int) -> Headers | None:
    """Records have no headers if nobody says otherwise."""
    return None


def written_at(production: Production, offset: int) -> Time | None:
    """When a record was or will be written, in milliseconds; None where nobody ever writes it."""
    if offset < production.before:
        return 0.0
    even, come = production._replace(bursts=()), 0
    for at, count in production.bursts:
        earlier = _evenly(even, offset - come)
        if earlier is not None and earlier <= at:
            return earlier
        come += count
        if even.end_offset(at) + come > offset:
            return at
    return _evenly(even, offset - come)


def _evenly(production: Production, offset: int) -> Time | None:
    """The same where records come evenly only."""
    if production.per_second <= 0:
        return None
    at = round((production.since + (offset + 1 - production.before) * 1000 / production.per_second) / TICK) * TICK
    while production.end_offset(at) <= offset:
        at += TICK
    return at


class Message:
    """A record, or an error that poll() returns: what `confluent_kafka.Message` answers."""

    __slots__ = ("_error", "_headers", "_key", "_offset", "_partition", "_timestamp", "_topic", "_value", "handed_to")

    def __init__(
        self,
        topic: str | None,
        partition: int | None,
        offset: int | None,
        value: bytes | None = None,
        key: bytes | None = None,
        timestamp: Time = 0.0,
        error: errors.KafkaErrorDouble | None = None,
        handed_to: str = "",
        headers: Headers | None = None,
    ) -> None:
        self._topic, self._partition, self._offset = topic, partition, offset
        self._value, self._key, self._timestamp, self._error = value, key, timestamp, error
        self._headers = headers
        self.handed_to = handed_to
        """The member whose poll() returned it."""

    def __repr__(self) -> str:
        what = self._error if self._error is not None else f"{self._topic}-{self._partition}/{self._offset}"
        return f"<Message {what}>"

    def __len__(self) -> int:
        return len(self._value or b"")

    def topic(self) -> str | None:
        """Its topic."""
        return self._topic

    def partition(self) -> int | None:
        """Its partition."""
        return self._partition

    def offset(self) -> int | None:
        """Its offset."""
        return self._offset

    def value(self) -> bytes | None:
        """What stands in it."""
        return self._value

    def key(self) -> bytes | None:
        """Its key."""
        return self._key

    def headers(self) -> Headers | None:
        """Its headers; None for a record without."""
        return self._headers

    def error(self) -> errors.KafkaErrorDouble | None:
        """The error that this is instead of a record; None for a record."""
        return self._error

    def timestamp(self) -> tuple[int, int]:
        """The kind of the time, and milliseconds of virtual time when it was written."""
        return TIMESTAMP_CREATE_TIME, int(self._timestamp)

    def latency(self) -> float | None:
        """None: only what was produced here has one."""
        return None

    def leader_epoch(self) -> int | None:
        """None: nobody tells."""
        return None


def error_message(name: str, reason: str, where: tuple[str, int, int] | None = None, *, fatal: bool = False) -> Message:
    """An error that poll() returns; ``where``: the topic, partition and offset that it is about."""
    topic, partition, offset = where or (None, None, None)
    return Message(topic, partition, offset, reason.encode(), error=errors.error(name, reason, fatal=fatal))
