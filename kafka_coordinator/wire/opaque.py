"""What consumers tell each other through the coordinator, to which it is opaque: subscriptions and assignments.

The bytes pass untouched. They are read, too, for those who want to know what is in them: the facts about grants, the
metadata of a group that changes its protocol. So a value is the tuple that the simulation has in its place, and holds
the bytes from which it was read; two are equal if their bytes are. What cannot be read stays plain bytes.

In Kafka `ConsumerProtocol`.
"""

import io
from collections.abc import Iterable
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, cast

from kio.index import load_entity_schema
from kio.serial import entity_writer
from kio.static.constants import EntityType
from kio.static.protocol import Entity

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.messages import ConsumerMetadata, Opaque
from kafka_coordinator.wire.entities import Kind, part
from kafka_coordinator.wire.lengths import reader

if TYPE_CHECKING:
    from kio.schema.consumer_protocol_subscription.v3.data import TopicPartition

_VERSION: Final = Struct(">h")
_HIGHEST: Final = 3
"""Versions of both records; readers take a higher one for this."""


class Subscription(ConsumerMetadata):
    """A consumer's subscription with the bytes that it came in (without the user data of an assignor)."""

    raw: bytes

    def __eq__(self, other: object) -> bool:
        return self.raw == other.raw if isinstance(other, Subscription) else tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.raw)


class Assignment(tuple[Partition, ...]):
    """Assigned partitions, sorted, with the bytes that they came in."""

    raw: bytes

    def __eq__(self, other: object) -> bool:
        return self.raw == other.raw if isinstance(other, Assignment) else tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.raw)


@lru_cache(maxsize=4096)
def subscription(raw: bytes) -> Opaque:
    """The subscription that a consumer sends with a JoinGroup."""
    read = _read("consumer_protocol_subscription", raw)
    if read is None:
        return raw
    owned = _partitions(getattr(read, "owned_partitions", ()) or ())
    generation = getattr(read, "generation_id", -1)
    topics = tuple(sorted(read.topics))
    made = Subscription(topics, owned, generation, getattr(read, "rack_id", None) or None)
    made.raw = raw
    return made


@lru_cache(maxsize=4096)
def assignment(raw: bytes) -> Opaque:
    """The assignment that a group's leader sends with a SyncGroup."""
    read = _read("consumer_protocol_assignment", raw)
    if read is None:
        return raw
    made = Assignment(_partitions(read.assigned_partitions))
    made.raw = raw
    return made


def bytes_of(value: Opaque, version: int = 0) -> bytes:
    """The bytes of an opaque value: those it came in, or written anew where the coordinator has made it; an assignment
    in this version, which are all alike."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, Subscription | Assignment):
        return value.raw
    return (
        _subscription_bytes(value)
        if isinstance(value, ConsumerMetadata)
        else _assignment_bytes(tuple(value), min(version, _HIGHEST))
    )


@lru_cache(maxsize=4096)
def _assignment_bytes(partitions: tuple[Partition, ...], version: int) -> bytes:
    kind = cast(Kind, load_entity_schema("consumer_protocol_assignment", version, EntityType.data))
    item = part(kind, "assigned_partitions")
    assigned = tuple([item(topic=topic, partitions=numbers) for topic, numbers in by_topic(partitions)])
    return _written(kind(assigned_partitions=assigned, user_data=None), version)


def _subscription_bytes(value: ConsumerMetadata) -> bytes:
    kind = cast(Kind, load_entity_schema("consumer_protocol_subscription", _HIGHEST, EntityType.data))
    item = part(kind, "owned_partitions")
    owned = tuple([item(topic=topic, partitions=numbers) for topic, numbers in by_topic(value.owned)])
    made = kind(
        topics=value.topics, user_data=None, owned_partitions=owned, generation_id=value.generation, rack_id=value.rack
    )
    return _written(made, _HIGHEST)


def version_of(value: Opaque) -> int:
    """The version in which a subscription came; 0 where it says none."""
    raw = bytes_of(value)
    return max(0, _VERSION.unpack_from(raw)[0]) if len(raw) >= _VERSION.size else 0


def by_topic(partitions: Iterable[Partition]) -> list[tuple[str, tuple[int, ...]]]:
    """Topics in the order in which they come, each with the numbers of its partitions."""
    found: dict[str, list[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, []).append(number)
    return [(topic, tuple(numbers)) for topic, numbers in found.items()]


def _written(entity: Entity, version: int) -> bytes:
    buffer = io.BytesIO()
    buffer.write(_VERSION.pack(version))
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def _read(name: str, raw: bytes) -> Any:
    """None for bytes that are none of these."""
    if len(raw) < _VERSION.size:
        return None
    (version,) = _VERSION.unpack_from(raw)
    if version < 0:
        return None
    kind = load_entity_schema(name, min(version, _HIGHEST), EntityType.data)
    try:
        return reader(kind)(raw, _VERSION.size)
    except Exception:  # whatever the codec raises: other protocols put bytes of their own here
        return None


def _partitions(read: "Iterable[TopicPartition]") -> tuple[Partition, ...]:
    return tuple(sorted({(each.topic, number) for each in read for number in each.partitions}))
