"""How requests and answers of Kafka's coordinator traces are read and written, field by field."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from compare.json_types import Json
from kafka_coordinator.catalogue import Partition

Request: TypeAlias = Mapping[str, Any]
"""A recorded request."""


class Field(NamedTuple):
    """A field of a recorded request: the message's attribute (empty: of the same name), and how it is read and written.
    Without ``read`` it is only written; an ``optional`` one may be missing."""

    name: str
    attribute: str = ""
    read: Callable[[Any], Any] | None = lambda value: value
    write: Callable[[Any], Json] = lambda value: value
    optional: bool = False

    @property
    def of_message(self) -> str:
        """The message's attribute."""
        return self.attribute or self.name


def named(partitions: Iterable[Partition] | None) -> tuple[Partition, ...] | None:
    return None if partitions is None else tuple((topic, number) for topic, number in partitions)


def pairs(partitions: Iterable[Partition] | None) -> Json:
    return None if partitions is None else [list(partition) for partition in partitions]


def fields_of(of: object, *names: str) -> dict[str, Json]:
    return {name: getattr(of, name) for name in names}


def sorted_pairs(partitions: Iterable[Partition]) -> Json:
    return [[topic, number] for topic, number in sorted(partitions)]
