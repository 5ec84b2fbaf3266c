"""Numbered records: what is written to the brokers, and what became of it.

A program that prints a line ``topic partition offset`` for each record that it has handled is judged exactly. Of any
other we know what it fetched and what it committed: a record counts as handled there when it was fetched.
"""

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Final, cast

from crc32c import crc32c

from compare.conformance.clients.exchanges import Exchanges
from compare.conformance.clients.outcome import Outcome, counted, none_waits
from compare.conformance.clients.stage import PARTITIONS, TOPIC
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.errors import NONE
from kafka_coordinator.messages import OffsetCommit
from kafka_coordinator.wire.records.batches import Header, header_of
from kafka_coordinator.wire.records.waking import wake
from kafka_coordinator.wire.requests import Answer, Fetch
from kafka_coordinator.wire.served import ServedCluster

if TYPE_CHECKING:
    from kio.schema.fetch.v18.request import FetchRequest
    from kio.schema.fetch.v18.response import FetchResponse, PartitionData

_CHECKED: Final = Struct(">hiqqqhii")
_BEFORE: Final = Struct(">qiibI")
_FETCHED_BEFORE_LENGTH: Final = 12


def batch(value: bytes, unix_ms: int) -> tuple[bytes, Header]:
    """A batch of magic 2 with one record without a key (`kafka_coordinator.wire.records.batches` has the layout)."""
    record = b"\x00\x00\x00\x01" + _varint(len(value)) + value + b"\x00"
    content = _CHECKED.pack(0, 0, unix_ms, unix_ms, -1, -1, -1, 1) + _varint(len(record)) + record
    length = _BEFORE.size - _FETCHED_BEFORE_LENGTH + len(content)
    made = _BEFORE.pack(0, length, -1, 2, crc32c(content)) + content
    return made, header_of(made)


def _varint(number: int) -> bytes:
    """A number that is not negative, as a zigzag varint."""
    rest, found = number << 1, bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes((*found, rest))


def write(cluster: ServedCluster) -> None:
    """One more record to every partition; fetches that wait for it are answered."""
    now = cluster.world.tell_time()
    for number in range(PARTITIONS):
        log = cluster.storage.log(TOPIC, number)
        before = log.cost
        log.append(*batch(f"{TOPIC} {number} {log.end}".encode(), cluster.storage.unix_ms(now)))
        cluster.storage.change(log, before)
    for name, state in cluster.states.items():
        process = cluster.world.processes[name]
        wake(state, now, [(TOPIC, number) for number in range(PARTITIONS) if state.leads(TOPIC, number)], process)


def ends(cluster: ServedCluster) -> dict[int, int]:
    """Partition to the offset of the next record that would be written."""
    return {number: cluster.storage.log(TOPIC, number).end for number in range(PARTITIONS)}


def outcome(written: Mapping[int, int], exchanges: Exchanges, lines: Iterable[tuple[int, int]]) -> Outcome:
    """Of the records before these offsets of each partition; ``lines``: partition and offset that programs printed."""
    return counted(written, begun(exchanges), committed(exchanges), lines, fetched(exchanges))


def begun(exchanges: Exchanges) -> dict[int, int]:
    """Partition to the offset at which the group has begun to read: what stood before it was skipped by
    ``auto.offset.reset=latest``, and nobody wanted it."""
    found: dict[int, int] = {}
    for each in exchanges.all:
        if isinstance(each.request, Fetch):
            for number, offset in _positions(each.request.body).items():
                found.setdefault(number, offset)
    return found


def all_read(written: Mapping[int, int], exchanges: Exchanges, lines: Iterable[tuple[int, int]]) -> bool:
    """Whether no record waits: each was handled, as far as programs tell, or is committed."""
    return none_waits(written, begun(exchanges), committed(exchanges), lines)


def committed(exchanges: Exchanges) -> dict[int, int]:
    """Partition to the offset that was committed last, of commits that the coordinator has taken."""
    found: dict[int, int] = {}
    for each in exchanges.all:
        if isinstance(each.request, OffsetCommit) and each.answer is not None:
            errors: Mapping[Partition, str] = dict(getattr(each.answer, "errors", ()))
            for partition, offset, _ in each.request.offsets:
                if partition[0] == TOPIC and errors.get(partition) == NONE:
                    found[partition[1]] = offset
    return found


def fetched(exchanges: Exchanges) -> Iterator[tuple[int, int]]:
    """Partition and offset of every record from where a fetch asked for it to where its answer ended."""
    for each in exchanges.all:
        if isinstance(each.request, Fetch) and isinstance(each.answer, Answer) and each.answer.body is not None:
            asked = _positions(each.request.body)
            for topic in cast("FetchResponse", each.answer.body).responses:
                for part in topic.partitions:
                    yield from _offsets(part, asked)


def _positions(body: "FetchRequest") -> dict[int, int]:
    return {part.partition: int(part.fetch_offset) for topic in body.topics for part in topic.partitions}


def _offsets(part: "PartitionData", asked: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    content, at = part.records or b"", 0
    while at < len(content):
        header = header_of(content[at:])
        first = max(header.base_offset, asked.get(part.partition_index, 0))
        for offset in range(first, header.base_offset + header.last_offset_delta + 1):
            yield part.partition_index, offset
        at += _FETCHED_BEFORE_LENGTH + header.length
