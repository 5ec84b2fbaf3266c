"""Share groups of a running cluster: their coordinators tell members and offsets, and librdkafka asks for neither.

ShareGroupDescribe (version 1) and DescribeShareGroupOffsets (version 1, since 4.2; version 0 of 4.1 tells no lag) are
asked over a connection of ours, as `compare.reading.kafka_live.epochs` asks for epochs.
"""

import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress

from compare.reading.kafka.facts import ShareGroup
from compare.reading.kafka_live.epochs import FAILURES, Cursor, Nodes, UnknownError, answering, asked, varint
from compare.reading.observed import ObservedMember
from protocols import Queue

_DESCRIBE, _OFFSETS = 77, 90
_GROUP_ID_NOT_FOUND = 69


def share_groups(
    of_nodes: Nodes, settings: Mapping[str, str], wait_s: float, ends: float, source: str
) -> Iterator[ShareGroup]:
    """What the nodes tell of these groups, which they coordinate; arguments as of `epochs.epochs`. A group of which a
    node does not tell its members is left out."""
    for node, groups in answering(of_nodes, settings, wait_s, ends):
        at = "{}:{}".format(*node.getpeername()[:2])
        with suppress(*FAILURES):
            for number, group in enumerate(groups):
                with suppress(UnknownError):
                    yield _described(node, 2 * number, source, group, at)
                    yield _offsets(node, 2 * number + 1, source, group)


def gone(of_nodes: Nodes, settings: Mapping[str, str], wait_s: float, ends: float) -> set[str]:
    """Groups of which a node says that there are none, as their coordinator alone does."""
    found = set()
    for node, groups in answering(of_nodes, settings, wait_s, ends):
        with suppress(*FAILURES):
            for number, group in enumerate(groups):
                cursor = _answer(node, _DESCRIBE, 1, number, _describe(group))
                if cursor.varint() == 2 and cursor.number(2) == _GROUP_ID_NOT_FOUND:
                    found.add(group)
    return found


def _describe(group: str) -> bytes:
    return b"\x00" + varint(2) + _text(group) + b"\x00\x00"


def _text(text: str) -> bytes:
    data = text.encode()
    return varint(len(data) + 1) + data


def _described(node: socket.socket, number: int, source: str, group: str, at: str) -> ShareGroup:
    cursor = _answer(node, _DESCRIBE, 1, number, _describe(group))
    if cursor.varint() != 2 or cursor.number(2):
        raise UnknownError
    cursor.text()  # message
    cursor.text()  # group
    state, epoch = cursor.text(), cursor.number(4)
    cursor.number(4)  # assignment epoch
    cursor.text()  # assignor
    members = tuple(_member(cursor) for _ in range(cursor.varint() - 1))
    return ShareGroup(source, group, members=members, state=state, count=len(members), coordinator=at, epoch=epoch)


def _member(cursor: Cursor) -> ObservedMember:
    id, _ = cursor.text(), cursor.text()  # and its rack
    cursor.number(4)  # epoch
    client, host = cursor.text(), cursor.text()
    topics = tuple(cursor.text() for _ in range(cursor.varint() - 1))
    queues = []
    for _ in range(cursor.varint() - 1):
        cursor.take(16)  # topic id
        topic = cursor.text()
        queues += [Queue(topic, "", cursor.number(4)) for _ in range(cursor.varint() - 1)]
        cursor.tags()
    cursor.tags()
    cursor.tags()
    return ObservedMember(id, tuple(queues), client or None, None, host or None, topics)


def _offsets(node: socket.socket, number: int, source: str, group: str) -> ShareGroup:
    """Start offset and lag of all partitions that the group has."""
    request = b"\x00" + varint(2) + _text(group) + b"\x00\x00\x00"
    cursor = _answer(node, _OFFSETS, 1, number, request)
    if cursor.varint() != 2:
        raise UnknownError
    cursor.text()  # group
    starts: dict[Queue, int | None] = {}
    lag: dict[Queue, int | None] = {}
    for _ in range(cursor.varint() - 1):
        topic = cursor.text()
        cursor.take(16)  # topic id
        for _ in range(cursor.varint() - 1):
            queue, start = Queue(topic, "", cursor.number(4)), cursor.number(8)
            cursor.number(4)  # leader epoch
            left = cursor.number(8)
            is_told = not cursor.number(2)
            cursor.text()  # message
            cursor.tags()
            starts[queue] = start if is_told and start >= 0 else None
            lag[queue] = left if is_told and left >= 0 else None
        cursor.tags()
    return ShareGroup(source, group, starts=starts, lag=lag)


def _answer(node: socket.socket, key: int, version: int, number: int, request: bytes) -> Cursor:
    cursor = Cursor(asked(node, key, version, number, request))
    cursor.tags()
    try:
        cursor.number(4)  # throttle time
    except struct.error:
        raise UnknownError from None
    return cursor
