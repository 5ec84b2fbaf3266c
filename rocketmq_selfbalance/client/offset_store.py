"""How far a consumer has come, queue by queue, and how that is kept: at the brokers (CLUSTERING) or in a file of the
machine (BROADCASTING): RocketMQ's ``OffsetStore`` (spec 6.8).

Neither store talks to anybody: what has to be sent to a broker is returned to the caller, and a value that the caller
got from a broker is handed back by `RemoteOffsets.found`. The file ``offsets.json`` (``OffsetSerializeWrapper``) is no
valid JSON, as the keys of its map are objects: ``{"offsetTable":{{"brokerName":..,"queueId":..,"topic":..}:5}}``.
Entries stand in the order of Java's ConcurrentHashMap.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from protocols.java import Queue, entry_order, string_hash
from protocols.node_state import Apart, NodeState
from rocketmq_selfbalance.client.threads import Failure
from rocketmq_selfbalance.versions import DEFAULT, Version

_MASK = 0xFFFFFFFF


class UnreadableOffsets(ValueError):  # noqa: N818 - what it is, not what to do
    """The text is not what a client writes."""


def queue_hash(queue: Queue) -> int:
    """``hashCode`` of RocketMQ's MessageQueue as an unsigned 32-bit number (spec 9.3)."""
    return (31 * (31 * (31 + string_hash(queue.broker)) + queue.number) + string_hash(queue.topic)) & _MASK


def write_offsets(offsets: Mapping[Queue, int], version: Version = DEFAULT) -> str:
    ordered = _concurrent_order(list(offsets))
    begin = "\n\t\t" if version.local_entries_have_lines else ""
    entries = ",".join(f"{begin}{_entry(queue, offsets[queue])}" for queue in ordered)
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


NONE = -1
"""What reading answers where there is no offset."""

_CODES = {Failure.NOT_FOUND: -1, Failure.FAILED: -2}
NO_QUEUE = -3


class ReadFrom(Enum):
    """Where an offset is read, under the real names."""

    MEMORY = "READ_FROM_MEMORY"
    STORE = "READ_FROM_STORE"
    MEMORY_FIRST = "MEMORY_FIRST_THEN_STORE"


@dataclass(slots=True, eq=False)
class Table(NodeState):
    """``offsetTable``: offsets in memory. A frozen one takes no ordinary update until it is removed."""

    offsets: dict[Queue, int] = field(default_factory=dict)
    frozen: set[Queue] = field(default_factory=set)

    def update(self, queue: Queue | None, offset: int, increase_only: bool) -> None:
        """Set the offset; where there is one already, only to a greater one if ``increase_only``."""
        if queue is None or (self.frozen and queue in self.frozen):
            return
        before = self.offsets.get(queue) if increase_only else None
        if before is None or offset > before:
            self.offsets[queue] = offset

    def update_and_freeze(self, queue: Queue | None, offset: int) -> None:
        """Set the offset whatever it was, and keep it: late results of consumption shall not overwrite a repair."""
        if queue is not None:
            self.offsets[queue] = offset
            self.frozen.add(queue)

    def remove(self, queue: Queue | None) -> None:
        if queue is not None:
            self.offsets.pop(queue, None)
            self.frozen.discard(queue)

    def clone(self, topic: str | None) -> dict[Queue, int]:
        """A copy of the entries of a topic; of all where it is blank."""
        wanted = (topic or "").strip()
        return {queue: offset for queue, offset in self.offsets.items() if not wanted or queue.topic == topic}


@dataclass(slots=True, eq=False)
class RemoteOffsets(NodeState):
    """``RemoteBrokerOffsetStore``: kept at the brokers."""

    table: Table = field(default_factory=Table)

    def load(self) -> None:
        """Nothing to load."""

    def read(self, queue: Queue | None, source: ReadFrom) -> int | None:
        """The offset, `NONE`, or `NO_QUEUE`; None where the queue's broker has to be asked (see `found`)."""
        if queue is None:
            return NO_QUEUE
        if source is not ReadFrom.STORE and queue in self.table.offsets:
            return self.table.offsets[queue]
        return NONE if source is ReadFrom.MEMORY else None

    def found(self, queue: Queue, answer: int | Failure) -> int:
        """What a broker answered, put into memory: the offset, -1 where it has none, -2 for any other failure."""
        if isinstance(answer, Failure):
            return _CODES[answer]
        self.table.update(queue, answer, False)
        return answer

    def persist(self, queue: Queue) -> int | None:
        return self.table.offsets.get(queue)

    def persist_all(self, queues: Iterable[Queue]) -> list[tuple[Queue, int]]:
        """What is to be sent. Queues in memory that are not among ``queues`` are forgotten unsent; an empty
        ``queues`` does nothing at all."""
        kept = set(queues)
        if not kept:
            return []
        table = self.table
        for queue in [queue for queue in table.offsets if queue not in kept]:
            table.remove(queue)
        return list(table.offsets.items())


@dataclass(slots=True, eq=False)
class OffsetsFile(NodeState):
    """A file ``offsets.json`` with its ``.bak``, as texts; None where there is no file. It outlives the client."""

    text: str | None = None
    backup: str | None = None

    def read(self) -> dict[Queue, int] | None:
        """Its offsets, those of the backup where it is empty or unreadable; None where there is nothing.

        Raises `UnreadableOffsets` where the backup is unreadable, too.
        """
        if self.text:
            try:
                return read_offsets(self.text)
            except UnreadableOffsets:
                pass
        return read_offsets(self.backup) if self.backup else None

    def write(self, offsets: dict[Queue, int], version: Version) -> None:
        if self.text is not None:
            self.backup = self.text
        self.text = write_offsets(offsets, version)


@dataclass(slots=True, eq=False)
class LocalOffsets(NodeState):
    """``LocalFileOffsetStore``: kept in a file of the machine, which outlives the client."""

    file: OffsetsFile
    version: Apart[Version] = DEFAULT
    table: Table = field(default_factory=Table)

    def load(self) -> None:
        """Read the file into memory. Raises `UnreadableOffsets`."""
        self.table.offsets.update(self.file.read() or {})

    def read(self, queue: Queue | None, source: ReadFrom) -> int | None:
        """The offset or `NONE`; what is read from the file is put into memory."""
        if queue is None:
            return NONE
        if source is not ReadFrom.STORE and queue in self.table.offsets:
            return self.table.offsets[queue]
        if source is ReadFrom.MEMORY:
            return NONE
        try:
            offset = (self.file.read() or {}).get(queue)
        except UnreadableOffsets:
            return NONE
        if offset is None:
            return NONE
        self.table.update(queue, offset, False)
        return offset

    def persist(self, queue: Queue) -> None:
        if queue in self.table.offsets:
            self._write([queue])

    def persist_all(self, queues: Iterable[Queue]) -> list[tuple[Queue, int]]:
        """Write the offsets of these queues into the file, others stay there. Nothing is to be sent."""
        kept = set(queues)
        if kept:
            self._write([queue for queue in self.table.offsets if queue in kept])
        return []

    def _write(self, queues: Iterable[Queue]) -> None:
        try:
            offsets = self.file.read() or {}
        except UnreadableOffsets:
            return
        offsets.update((queue, self.table.offsets[queue]) for queue in queues)
        self.file.write(offsets, self.version)


OffsetStore: TypeAlias = RemoteOffsets | LocalOffsets
