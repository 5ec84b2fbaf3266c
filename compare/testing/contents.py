"""What stands in a record: as a producer of the test writes it, or as the group's plan says of simulated production."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

MakeValue: TypeAlias = Callable[[str, int, int], bytes | None]
"""From topic, queue number and offset to the value (or the key) of a record."""

Headers: TypeAlias = list[tuple[str, bytes]]
MakeHeaders: TypeAlias = Callable[[str, int, int], Headers | None]
"""The same for its headers."""


class Content(NamedTuple):
    """What stands in a record. RocketMQ's clients say body and keys for value and key, and put their properties (tags
    among them) into the headers.

    ``timestamp``: milliseconds of virtual time; None: when it is written.
    """

    value: bytes | None = None
    key: bytes | None = None
    headers: Headers | None = None
    timestamp: int | None = None


def value_of(topic: str, number: int, offset: int) -> bytes:
    """What stands in a record if nobody says otherwise: ``orders-3/17``."""
    return f"{topic}-{number}/{offset}".encode()


def key_of(topic: str, number: int, offset: int) -> bytes | None:
    """Records have no key if nobody says otherwise."""
    return None


def headers_of(topic: str, number: int, offset: int) -> Headers | None:
    """Records have no headers if nobody says otherwise."""
    return None
