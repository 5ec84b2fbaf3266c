"""What calls answer as plain values that can be compared: the real client's and the double's alike."""

import re
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, Message, TopicPartition

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
