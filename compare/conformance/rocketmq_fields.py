"""Reads the fields of RocketMQ's recorded strategy cases. Whatever is not as FORMAT.md has it is a `MalformedCase`."""

from collections.abc import Iterable, Mapping
from typing import Any

from compare.conformance.cases import MalformedCase
from protocols import Queue

NO_FIELD = "no such field"

MOST_COUNT = 1_000_000
"""Of whatever is counted; a case with more is damaged rather than recorded."""

MOST_VIRTUAL_NODES = 10_000
"""Of each client on the ring of consistent hashing."""


def get(record: Mapping[str, Any], name: str, *types: type) -> Any:
    """The value of a field, which has one of these types."""
    value = record.get(name, NO_FIELD)
    # In Python a truth value is a number; in JSON it is not.
    if name not in record or not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        names = {type(None): "null", dict: "an object", list: "a list", str: "a text", int: "a number"}
        raise MalformedCase(name, " or ".join(names.get(each, each.__name__) for each in types), value)
    return value


def count(record: Mapping[str, Any], name: str, most: int = MOST_COUNT) -> int:
    """The value of a field that says how many there are."""
    value = get(record, name, int)
    if value > most:
        raise MalformedCase(name, f"a number, at most {most}", value)
    return int(value)


def only(record: object, path: str, names: Iterable[str]) -> None:
    """Refuse fields that nobody would compare."""
    if not isinstance(record, dict):
        raise MalformedCase(path, "an object", record)
    for name in record:
        if name not in names:
            raise MalformedCase(f"{path}.{name}" if path else name, NO_FIELD, record[name])


def queues(record: Mapping[str, Any], name: str) -> list[Queue] | None:
    """A list of ``[topic, broker, number]``, or null."""
    listed = get(record, name, list, type(None))
    return None if listed is None else [queue(name, each) for each in listed]


def queue(path: str, value: object, of_topic: str | None = None) -> Queue:
    """``[topic, broker, number]``, or ``[broker, number]`` of a given topic."""
    whole = value if of_topic is None or not isinstance(value, list) else [of_topic, *value]
    match whole:
        case [str(topic), str(broker), int(number)] if not isinstance(number, bool):
            return Queue(topic, broker, number)
    raise MalformedCase(path, "[topic, broker, number]" if of_topic is None else "[broker, number]", value)


def texts(record: Mapping[str, Any], name: str, nullable: bool = False) -> list[str] | None:
    """A list of texts, or, where allowed, null."""
    listed: list[str] | None = get(record, name, list, *([type(None)] if nullable else []))
    for each in listed or ():
        if not isinstance(each, str):
            raise MalformedCase(name, "a list of texts", each)
    return listed
