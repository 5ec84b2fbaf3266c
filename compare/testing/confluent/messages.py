"""Records as confluent-kafka hands them out, and what stands in them."""

from typing import Any, Final, cast

from compare.testing.confluent import errors as errors
from compare.testing.contents import Headers
from protocols.engine.nodes import Time

TIMESTAMP_NOT_AVAILABLE, TIMESTAMP_CREATE_TIME = 0, 1
EPOCH: Final = 0
"""The leader's epoch of every partition: it never changes here."""


class Message:
    """A record, or an error that poll() returns: what `confluent_kafka.Message` answers."""

    def __init__(
        self,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: Headers | None = None,
        error: errors.KafkaErrorDouble | None = None,
        timestamp: tuple[int, int] | None = None,
        latency: float | None = None,
        leader_epoch: int | None = None,
    ) -> None:
        self._topic, self._partition, self._offset = topic, partition, offset
        self._key, self._value, self._headers, self._error = key, value, headers, error
        self._timestamp, self._latency, self._leader_epoch = timestamp, latency, leader_epoch
        self.handed_to = ""
        """The member whose poll() returned it."""

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
        return self._timestamp or (TIMESTAMP_NOT_AVAILABLE, 0)

    def latency(self) -> float | None:
        """None: only what was produced here has one."""
        return self._latency

    def leader_epoch(self) -> int | None:
        """The epoch of the partition's leader."""
        return self._leader_epoch

    def set_key(self, key: bytes | None) -> None:
        """Another key."""
        self._key = key

    def set_value(self, value: bytes | None) -> None:
        """Another value."""
        self._value = value

    def set_headers(self, headers: Headers | None) -> None:
        """Other headers."""
        self._headers = headers

    def set_topic(self, topic: str | None) -> None:
        """Another topic."""
        self._topic = topic

    def set_error(self, error: errors.KafkaErrorDouble | None) -> None:
        """Another error."""
        self._error = error


def _installed() -> Any:
    """confluent-kafka's own class, where it is installed and can be made by anybody; else None."""
    try:
        from confluent_kafka import Message as Real

        Real()
    except (ImportError, TypeError):
        return None

    class HandedOut(Real):  # type: ignore[misc]
        handed_to = ""

    HandedOut.__name__ = HandedOut.__qualname__ = "Message"
    return HandedOut


_REAL = _installed()
MESSAGES: Final[tuple[type, ...]] = (Message,) if _REAL is None else (Message, _REAL.__mro__[1])
"""What counts as a message."""


def made(handed_to: str, **fields: Any) -> Message:
    """A message for this member: of confluent-kafka's class where it can be."""
    given = {name: value for name, value in fields.items() if value is not None}
    message = cast(Message, (Message if _REAL is None else _REAL)(**given))
    message.handed_to = handed_to
    return message


def error_message(
    name: str, reason: str, where: tuple[str, int | None, int | None] | None = None, *, fatal: bool = False
) -> Message:
    """An error that poll() returns; ``where``: the topic, partition and offset that it is about. Of no offset: an error
    of the client itself."""
    topic, partition, offset = where or (None, None, None)
    return made(
        "",
        topic=topic,
        partition=0 if partition is None else partition,
        offset=offset,
        value=reason.encode(),
        error=errors.error(name, reason, fatal=fatal),
        timestamp=(TIMESTAMP_NOT_AVAILABLE, 0),
        leader_epoch=None if offset is None else EPOCH,
    )


def unknown_topic(topic: str) -> Message:
    """What poll() returns for a topic that was subscribed to and is not there."""
    reason = f"Subscribed topic not available: {topic}: {errors.said('UNKNOWN_TOPIC_OR_PART')}"
    return error_message("UNKNOWN_TOPIC_OR_PART", reason, (topic, None, None))


def polled_too_late(after: Time, limit: Time) -> Message:
    """What the first poll() after too long a pause returns."""
    late = int(after - limit)
    reason = f"Application maximum poll interval ({limit:.0f}ms) exceeded by {late}ms"
    return error_message("_MAX_POLL_EXCEEDED", reason)
