"""Probes: small functions that make calls in a world and tell what they answered, as plain values."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from confluent_kafka import KafkaError, Message, TopicPartition

from tests.compare.testing.differential.worlds import World

Run: TypeAlias = Callable[[World], Any]


@dataclass(frozen=True, slots=True)
class Probe:
    """``mock``: why the mock cluster answers unlike a broker (then nothing is compared); ``alone``: it harms the
    broker, and gets one of its own."""

    name: str
    run: Run
    mock: str = ""
    alone: bool = False


PROBES: dict[str, Probe] = {}
"""By name, in the order in which they were written."""


def add(name: str, run: Run, *, mock: str = "", alone: bool = False) -> None:
    """One more probe."""
    assert name not in PROBES, name
    PROBES[name] = Probe(name, run, mock, alone)


def probe(*, mock: str = "", alone: bool = False) -> Callable[[Run], Run]:
    """The function is a probe under its own name."""

    def added(run: Run) -> Run:
        add(run.__name__.replace("_", "-"), run, mock=mock, alone=alone)
        return run

    return added


def answer(probe: Probe, world: World) -> Any:
    """What a probe tells in a world; whatever it made is closed."""
    try:
        return told(lambda: probe.run(world))
    finally:
        world.close()


# Answers as plain values that can be compared: the real client's and the double's alike.

_MEMBER = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_LATE = re.compile(r"exceeded by \d+ms")
_CLIENT = re.compile(r"#consumer-\d+")
_POINTER = re.compile(r"0x[0-9a-f]+")


def plain(value: Any) -> Any:
    """A value, with its type where it is one of confluent-kafka's; ids that chance makes are left out."""
    if isinstance(value, KafkaError):
        return "KafkaError", value.name(), value.code(), _text(value.str()), value.fatal(), value.retriable()
    if isinstance(value, TopicPartition):
        fields = value.topic, value.partition, value.offset, value.leader_epoch, value.metadata
        return "TopicPartition", *fields, plain(value.error)
    if isinstance(value, Message):
        return message(value)
    if isinstance(value, BaseException):
        return "raises", type(value).__name__, [plain(each) for each in value.args]
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {plain(name): plain(each) for name, each in value.items()}
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, type):
        return value.__name__
    if value is None or isinstance(value, int | float | bytes):
        return value
    return type(value).__name__


def _text(text: str) -> str:
    text = _CLIENT.sub("#consumer", _LATE.sub("exceeded by some ms", text))
    return _POINTER.sub("<address>", _MEMBER.sub("<id>", text))


def message(value: Message) -> Any:
    """A message's fields; of its times only the kind, of its value also the length."""
    content = value.topic(), value.partition(), value.offset(), value.key(), value.headers(), value.leader_epoch()
    said = value.value()  # the length of which depends on what chance has made of ids and times
    return (
        "Message",
        *content,
        _text(said.decode()) if said else said,
        value.latency(),
        value.timestamp()[0],
        plain(value.error()),
    )


def told(call: Callable[[], Any]) -> Any:
    """What a call answers, or what it raises."""
    try:
        return plain(call())
    except Exception as error:
        return plain(error)


# What the stories have in common.


def offsets(world: World, consumer: Any) -> list[int]:
    """The committed offsets of both partitions."""
    return [each.offset for each in consumer.committed([world.partition(0), world.partition(1)], timeout=2)]


def alone(world: World, records: int = 5, **config: Any) -> Any:
    """A consumer to which a partition with so many records was assigned by hand."""
    world.produce(0, records)
    consumer = world.consumer(**config)
    consumer.assign([world.partition(0)])
    return consumer


def seen(messages: list[Any]) -> list[Any]:
    """Where messages come from, and errors among them."""
    return [(each.partition(), each.offset(), each.error()) for each in messages]
