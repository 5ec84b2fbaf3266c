"""Arguments of the clients' calls, checked as confluent-kafka checks them: the same exceptions for what cannot be."""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from compare.testing.clock import in_ticks
from compare.testing.confluent import errors
from compare.testing.confluent.messages import MESSAGES, Message
from compare.testing.contents import Headers
from compare.testing.transactions import Membership
from kafka_coordinator.cluster import ASSIGNED, LOST, REVOKED
from protocols.engine.nodes import Time

MOST_MESSAGES: Final = 1_000_000
ENDLESS_MS: Final[Time] = 3_600_000.0
"""A call without a timeout waits for so long: poll() of a consumer gives up then (`RuntimeError`)."""
NOT_GIVEN: Final[Any] = object()
"""An argument that was left out: None is refused where a callable is expected."""


def seconds(given: object) -> float | None:
    """A timeout; None: without an end."""
    if not isinstance(given, int | float):
        raise TypeError(f"must be real number, not {type(given).__name__}")
    return None if given < 0 else float(given)


def timeout(given: object) -> float | None:
    """The same where the call itself may say None."""
    return None if given is None else seconds(given)


def end_of(timeout: float | None, now: Time) -> Time:
    """When a timeout of so many seconds is over, in milliseconds."""
    return now + (ENDLESS_MS if timeout is None else in_ticks(timeout))


def _type(given: object) -> str:
    return "None" if given is None else type(given).__name__


# Of consumers.


def partitions(given: object) -> list[errors.Partitioned]:
    if not isinstance(given, list):
        raise TypeError("requires list of TopicPartition")
    return [partition(element) for element in given]


def partition(given: object) -> errors.Partitioned:
    if not isinstance(given, errors.TopicPartition | errors.TopicPartitionDouble):
        raise TypeError("expected cimpl.TopicPartition")
    return given


def message(given: object) -> Message:
    if not isinstance(given, MESSAGES):
        raise TypeError("expected confluent_kafka.cimpl.Message")
    return cast(Message, given)


def topics(given: object) -> list[str]:
    if not isinstance(given, list):
        raise TypeError("expected list of topic unicode strings")
    if not given:
        raise errors.exception("_INVALID_ARG", "Failed to set subscription: Local: Invalid argument or configuration")
    return [str(topic) for topic in given]


def listeners(on_assign: object, on_revoke: object, on_lost: object) -> dict[str, Callable[..., object] | None]:
    """What is called to what; ``on_revoke`` stands in for ``on_lost``."""
    assign, revoke, lost = map(_listener, ("on_assign", "on_revoke", "on_lost"), (on_assign, on_revoke, on_lost))
    return {ASSIGNED: assign, REVOKED: revoke, LOST: lost or revoke}


def _listener(name: str, given: object) -> Callable[..., object] | None:
    """A callback of subscribe(); None where it was left out."""
    if given is NOT_GIVEN:
        return None
    if not callable(given):
        raise TypeError(f"{name} expects a callable")
    return given


def count(number: int) -> int:
    """How many messages are wanted at most; `ValueError` for more than there can be."""
    if not 0 <= number <= MOST_MESSAGES:
        raise ValueError(f"num_messages must be between 0 and {MOST_MESSAGES} (1M)")
    return number


def credentials(*given: object) -> None:
    for number, text in enumerate(given, start=1):
        if not isinstance(text, str):
            raise TypeError(f"argument {number} must be str, not {_type(text)}")


# Of producers.


def topic(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"argument 1 must be str, not {_type(given)}")
    return given


def content(given: object, number: int) -> bytes | None:
    """A value or a key, the argument of this number."""
    if isinstance(given, str):
        return given.encode()
    if given is None or isinstance(given, bytes):
        return given
    if isinstance(given, bytearray | memoryview):
        raise TypeError(f"argument {number} must be read-only bytes-like object, not {_type(given)}")
    raise TypeError(f"a bytes-like object is required, not '{_type(given)}'")


def headers(given: object) -> Headers | None:
    """A dictionary, or a list of pairs."""
    if given is None:
        return None
    if not isinstance(given, Mapping | list):
        raise TypeError(f"expected headers to be dict or list of (key, value) tuples, not {_type(given)}")
    found: list[tuple[str, bytes | None]] = []
    for pair in given.items() if isinstance(given, Mapping) else given:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Headers are expected to be a list of (key, value) tuples")
        name, value = pair
        if not isinstance(value, bytes | str | None):
            raise TypeError(f"expected header value to be None, binary, or unicode string, not {_type(value)}")
        found.append((str(name), value.encode() if isinstance(value, str) else value))
    return cast(Headers, found)


# What ``consumer_group_metadata`` answers is bytes that only a producer reads; librdkafka's own format.

_BEGINNING: Final = b"CGMDv2:"
_GENERATION_BYTES: Final = 4
_NO_INSTANCE, _INSTANCE = b"\x01", b"\x00"


def encoded(group_id: str, membership: Membership) -> bytes:
    """Group and membership as bytes."""
    generation = membership.generation.to_bytes(_GENERATION_BYTES, "little", signed=True)
    instance = membership.instance_id
    last = _NO_INSTANCE if instance is None else _INSTANCE + instance.encode() + b"\0"
    return _BEGINNING + generation + group_id.encode() + b"\0" + membership.member_id.encode() + b"\0" + last


def decoded(given: object) -> tuple[str, Membership]:
    """Group and membership from bytes. Raises `TypeError` for anything else, `KafkaException` for other bytes."""
    if not isinstance(given, bytes):
        raise TypeError(f"expected bytes, {type(given).__name__} found")
    texts = given[len(_BEGINNING) + _GENERATION_BYTES :].split(b"\0")
    if len(given) < len(_BEGINNING) + _GENERATION_BYTES or len(texts) < 3:
        raise errors.exception("_BAD_MSG", "Input buffer is too short")
    if not given.startswith(_BEGINNING):
        raise errors.exception("_BAD_MSG", "Input buffer is not a serialized consumer group metadata object")
    number = given[len(_BEGINNING) : len(_BEGINNING) + _GENERATION_BYTES]
    instance = None if texts[2] == _NO_INSTANCE else texts[3].decode()
    generation = int.from_bytes(number, "little", signed=True)
    return texts[0].decode(), Membership(texts[1].decode(), generation, instance)
