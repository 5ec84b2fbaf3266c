"""The text of ``offsets.json``, where a BROADCASTING consumer keeps how far it has come (``LocalFileOffsetStore``
with its ``OffsetSerializeWrapper``; spec 6.8).

It is no valid JSON, as the keys of its map are objects: ``{"offsetTable":{{"brokerName":..,"queueId":..,
"topic":..}:5}}``. Entries stand in the order of Java's ConcurrentHashMap.
"""

import json
from collections.abc import Mapping

from protocols.java import Queue, entry_order, string_hash

_MASK = 0xFFFFFFFF


class UnreadableOffsets(ValueError):  # noqa: N818 - what it is, not what to do
    """The text is not what a client writes."""


def queue_hash(queue: Queue) -> int:
    """``hashCode`` of RocketMQ's MessageQueue as an unsigned 32-bit number (spec 9.3)."""
    return (31 * (31 * (31 + string_hash(queue.broker)) + queue.number) + string_hash(queue.topic)) & _MASK


def write_offsets(offsets: Mapping[Queue, int]) -> str:
    """The file's text."""
    ordered = _concurrent_order(list(offsets))
    entries = ",".join(_entry(queue, offsets[queue]) for queue in ordered)
    return f'{{\n\t"offsetTable":{{{entries}\n\t}}\n}}' if entries else '{\n\t"offsetTable":{}\n}'


def read_offsets(text: str) -> dict[Queue, int]:
    """Queue to offset, in the order of the text. Raises `UnreadableOffsets`."""
    try:
        return _parsed(text)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UnreadableOffsets(str(error)) from None


def _concurrent_order(queues: list[Queue]) -> list[Queue]:
    # A ConcurrentHashMap grows as soon as it is three quarters full, a HashMap only when it would be more than that.
    size = 16
    while len(queues) >= size - (size >> 2):
        size *= 2
    return entry_order(queues, queue_hash, size)


def _entry(queue: Queue, offset: int) -> str:
    broker, topic = (json.dumps(name, ensure_ascii=False) for name in (queue.broker, queue.topic))
    return f'{{\n\t\t\t"brokerName":{broker},\n\t\t\t"queueId":{queue.number},\n\t\t\t"topic":{topic}\n\t\t}}:{offset}'


def _parsed(text: str) -> dict[Queue, int]:
    decoder = json.JSONDecoder()
    at = _past(text, 0, "{")
    name, at = decoder.raw_decode(text, _blank(text, at))
    if name != "offsetTable":
        raise UnreadableOffsets(f"expected offsetTable, got {name!r}")
    at = _past(text, _past(text, at, ":"), "{")
    offsets: dict[Queue, int] = {}
    while text[_blank(text, at)] != "}":
        if offsets:
            at = _past(text, at, ",")
        key, at = decoder.raw_decode(text, _blank(text, at))
        offset, at = decoder.raw_decode(text, _blank(text, _past(text, at, ":")))
        offsets[Queue(str(key["topic"]), str(key["brokerName"]), int(key["queueId"]))] = int(offset)
    _past(text, _past(text, at, "}"), "}")
    return offsets


def _blank(text: str, at: int) -> int:
    while text[at].isspace():
        at += 1
    return at


def _past(text: str, at: int, expected: str) -> int:
    at = _blank(text, at)
    if text[at] != expected:
        raise UnreadableOffsets(f"expected {expected!r} at character {at}, got {text[at]!r}")
    return at + 1
