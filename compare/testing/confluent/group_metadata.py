"""What ``consumer_group_metadata`` answers, in librdkafka's own format: bytes that only a producer reads."""

from typing import Final

from compare.testing.confluent import errors as errors
from compare.testing.transactions import Membership

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
