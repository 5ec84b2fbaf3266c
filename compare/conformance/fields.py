"""Fields of recorded cases, read and compared. Whatever is not as the format has it is a `MalformedCase`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar, overload

from compare.conformance.cases import MalformedCase
from compare.json_types import Json
from protocols import Queue

NO_FIELD = "no such field"

T = TypeVar("T")

MOST_COUNT = 1_000_000
"""Of whatever is counted; a case with more is damaged rather than recorded."""

MOST_VIRTUAL_NODES = 10_000
"""Of each client on the ring of consistent hashing."""


@overload
def get(record: Mapping[str, Json], name: str, kind: type[dict[str, Json]], /) -> dict[str, Json]: ...
@overload
def get(record: Mapping[str, Json], name: str, kind: type[list[Json]], /) -> list[Json]: ...
@overload
def get(record: Mapping[str, Json], name: str, *types: type[T]) -> T: ...
def get(record: Mapping[str, Json], name: str, *types: type[object]) -> object:
    """The value of a field, which has one of these types."""
    value = record.get(name, NO_FIELD)
    # In Python a truth value is a number; in JSON it is not.
    if name not in record or not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        names = {type(None): "null", dict: "an object", list: "a list", str: "a text", int: "a number"}
        raise MalformedCase(name, " or ".join(names.get(each, each.__name__) for each in types), value)
    return value


def count(record: Mapping[str, Json], name: str, most: int = MOST_COUNT) -> int:
    """The value of a field that says how many there are."""
    value = get(record, name, int)
    if value > most:
        raise MalformedCase(name, f"a number, at most {most}", value)
    return value


def only(record: Json, path: str, names: Iterable[str]) -> dict[str, Json]:
    """The record, refused if it has fields that nobody would compare."""
    if not isinstance(record, dict):
        raise MalformedCase(path, "an object", record)
    for name in record:
        if name not in names:
            raise MalformedCase(f"{path}.{name}" if path else name, NO_FIELD, record[name])
    return record


def numbers(record: Mapping[str, Json], name: str) -> list[int]:
    """A list of whole numbers."""
    listed = get(record, name, list)
    found = [each for each in listed if isinstance(each, int) and not isinstance(each, bool)]
    if len(found) < len(listed):
        raise MalformedCase(name, "a list of numbers", listed)
    return found


def counted(record: Mapping[str, Json], name: str, what: str, path: str = "") -> list[tuple[Json, int]]:
    """A list of pairs, each of something (``what`` names it) and a whole number."""
    found: list[tuple[Json, int]] = []
    for pair in get(record, name, list):
        match pair:
            case [something, int(number)] if not isinstance(number, bool):
                found.append((something, number))
            case _:
                raise MalformedCase(name, f"[{what}, number]", pair)
    return found


def queues(record: Mapping[str, Json], name: str) -> list[Queue] | None:
    """A list of ``[topic, broker, number]``, or null."""
    listed = get(record, name, list, type(None))
    return None if listed is None else [queue(name, each) for each in listed]


def queue(path: str, value: Json, of_topic: str | None = None) -> Queue:
    """``[topic, broker, number]``, or ``[broker, number]`` of a given topic."""
    whole = value if of_topic is None or not isinstance(value, list) else [of_topic, *value]
    match whole:
        case [str(topic), str(broker), int(number)] if not isinstance(number, bool):
            return Queue(topic, broker, number)
    raise MalformedCase(path, "[topic, broker, number]" if of_topic is None else "[broker, number]", value)


def texts(record: Mapping[str, Json], name: str, nullable: bool = False) -> list[str] | None:
    """A list of texts, or, where allowed, null."""
    listed = get(record, name, list, type(None)) if nullable else get(record, name, list)
    if listed is None:
        return None
    found: list[str] = []
    for each in listed:
        if not isinstance(each, str):
            raise MalformedCase(name, "a list of texts", each)
        found.append(each)
    return found


def differing(path: str, expected: object, got: object, missing: str) -> Iterator[tuple[str, object, object]]:
    """The smallest parts in which two JSON values differ, with their paths; ``missing`` stands for a field that one of
    them does not have."""
    if isinstance(expected, dict) and isinstance(got, dict):
        for name in dict.fromkeys([*expected, *got]):
            yield from differing(f"{path}.{name}", expected.get(name, missing), got.get(name, missing), missing)
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for number, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from differing(f"{path}[{number}]", one, other, missing)
    # In JSON true is no number, in Python True == 1.
    elif expected != got or isinstance(expected, bool) != isinstance(got, bool):
        yield path, expected, got
