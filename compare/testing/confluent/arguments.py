"""Arguments of a consumer's calls, checked as confluent-kafka checks them: the same exceptions for what cannot be."""

from collections.abc import Callable
from typing import Any, Final, cast

from compare.testing.confluent import errors as errors
from compare.testing.confluent.messages import MESSAGES, Message
from kafka_coordinator.consumer.callbacks import ASSIGNED, LOST, REVOKED

MOST_MESSAGES: Final = 1_000_000
NOT_GIVEN: Final[Any] = object()
"""An argument that was left out: None is refused where a callable is expected."""


def partitions(given: object) -> list[errors.Partitioned]:
    """A list of partitions; `TypeError` for anything else."""
    if not isinstance(given, list):
        raise TypeError("requires list of TopicPartition")
    return [partition(each) for each in given]


def partition(given: object) -> errors.Partitioned:
    """One partition; `TypeError` for anything else."""
    if not isinstance(given, errors.TopicPartition | errors.TopicPartitionDouble):
        raise TypeError("expected cimpl.TopicPartition")
    return given


def message(given: object) -> Message:
    """A message; `TypeError` for anything else."""
    if not isinstance(given, MESSAGES):
        raise TypeError("expected confluent_kafka.cimpl.Message")
    return cast(Message, given)


def topics(given: object) -> list[str]:
    """Names of topics, or patterns; numbers are taken for names."""
    if not isinstance(given, list):
        raise TypeError("expected list of topic unicode strings")
    if not given:
        raise errors.exception("_INVALID_ARG", "Failed to set subscription: Local: Invalid argument or configuration")
    return [str(each) for each in given]


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


def timeout(given: object) -> float | None:
    """Seconds; None: without an end."""
    if given is None:
        return None
    if not isinstance(given, int | float):
        raise TypeError(f"must be real number, not {type(given).__name__}")
    return None if given < 0 else float(given)


def count(number: int) -> int:
    """How many messages are wanted at most; `ValueError` for more than there can be."""
    if not 0 <= number <= MOST_MESSAGES:
        raise ValueError(f"num_messages must be between 0 and {MOST_MESSAGES} (1M)")
    return number
