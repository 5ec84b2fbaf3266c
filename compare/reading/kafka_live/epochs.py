"""How often a group has been rebalanced, and of which type it is: nodes tell it, and librdkafka does not hand it out.

A group of the consumer protocol has an epoch: ConsumerGroupDescribe tells it, and librdkafka reads past it. So its
coordinator is asked once more over a connection of ours, secured by the same settings. A classic group's generation is
told by no request of administrators; but Java's clients and most others say, in what they send to join
(ConsumerProtocolSubscription, from version 2 on), which generation they come from, and from version 3 on their rack
(``client.rack``). The types are in ListGroups from
version 5 on (Kafka 3.8, KIP-848); librdkafka reads an older one, in which a share group has no protocol.
"""

import base64
import hashlib
import hmac
import os
import socket
import ssl
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from compare.reading.sources import left_s

_HANDSHAKE, _AUTHENTICATE, _DESCRIBE, _LIST = 17, 36, 69, 16
_TYPES_SINCE = 5
"""The version of ListGroups that tells types."""
_LARGEST = 100 * 1024 * 1024
_CLIENT = b"equipoise"
_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_OLDEST_WITH_GENERATION, _OLDEST_WITH_RACK = 2, 3
_MOST_ROUNDS = 1_000_000
"""Kafka allows 16,384 hashes of a password; a server that asks for ever more would keep us busy."""

_Exchange = Callable[[bytes], bytes]
"""Sends the bytes of a login and gives the server's."""


class UnknownError(Exception):
    """The node tells no epoch, in whatever way."""


FAILURES = (OSError, ValueError, LookupError, struct.error, UnknownError)


Nodes = Mapping[tuple[str, int], Sequence[str]]
"""Host and port of nodes to groups there."""


def epochs(of_coordinators: Nodes, settings: Mapping[str, str], wait_s: float, ends: float) -> dict[str, int]:
    """Group to its epoch. ``of_coordinators``: to the groups of the consumer protocol there; ``settings``:
    librdkafka's. Groups of a node that does not tell them, not in time, or to which these settings lead only librdkafka
    (a key store of PKCS#12), are left out."""
    found: dict[str, int] = {}
    for node, groups in answering(of_coordinators, settings, wait_s, ends):
        with suppress(*FAILURES):
            for number, group in enumerate(groups):
                if left_s(ends) > 0:
                    with suppress(UnknownError):
                        found[group] = _epoch(asked(node, _DESCRIBE, 0, number, _describe(group)))
    return found


def types(of_nodes: Nodes, settings: Mapping[str, str], wait_s: float, ends: float) -> dict[str, str]:
    """Group to its type as the node that lists it calls it (``share``, ``streams``, ...); those are left out that
    `epochs` would leave out, and groups of a node before Kafka 3.8."""
    found: dict[str, str] = {}
    for node, groups in answering(of_nodes, settings, wait_s, ends):
        with suppress(*FAILURES):
            listed = _types(asked(node, _LIST, _TYPES_SINCE, 0, b"\x00\x01\x01\x00"))
            found |= {group: listed[group] for group in groups if listed.get(group)}
    return found


def answering(
    nodes: Nodes, settings: Mapping[str, str], wait_s: float, ends: float
) -> Iterator[tuple[socket.socket, Sequence[str]]]:
    """A connection to each node that can be reached, with the groups there."""
    for (host, port), groups in nodes.items():
        limit = min(wait_s, left_s(ends))
        if limit > 0:
            with suppress(*FAILURES), _connected(host, port, settings, limit) as node:
                yield node, groups


class Joined(NamedTuple):
    """What the members of a classic group sent to join. ``generation``: one above the highest from which one comes,
    None where none says so; ``racks``: theirs, sorted, each once."""

    generation: int | None
    racks: tuple[str, ...]


def joined(metadata: Iterable[bytes]) -> Joined:
    """``metadata``: of every member, as its client sent it (ConsumerProtocolSubscription)."""
    told = [found for each in metadata if (found := _joined_from(each)) is not None]
    generations = [generation for generation, _ in told if generation >= 0]
    racks = tuple(sorted({rack for _, rack in told if rack}))
    return Joined(1 + max(generations) if generations else None, racks)


class Cursor:
    """Reads Kafka's fields one after the other; `struct.error` or `IndexError` where the bytes end too early."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, size: int) -> int:
        """A signed one of ``size`` bytes."""
        (found,) = struct.unpack_from({2: ">h", 4: ">i", 8: ">q"}[size], self._data, self._at)
        self._at += size
        return int(found)

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def take(self, size: int) -> bytes:
        """The next bytes; none for a size below 0, which means null."""
        found = self._data[self._at : self._at + max(size, 0)]
        self._at += max(size, 0)
        return found

    def text(self) -> str:
        """A compact one; empty for null."""
        return self.take(self.varint() - 1).decode()

    def tags(self) -> None:
        """Tagged fields, passed over."""
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())


def _joined_from(metadata: bytes) -> tuple[int, str] | None:
    """Generation and rack, -1 and empty where there is none; None for what tells neither."""
    cursor = Cursor(metadata)
    try:
        version = cursor.number(2)
        if version < _OLDEST_WITH_GENERATION:
            return None
        for _ in range(cursor.number(4)):
            cursor.take(cursor.number(2))  # a topic that it subscribes to
        cursor.take(cursor.number(4))  # data of its assignor
        for _ in range(cursor.number(4)):
            cursor.take(cursor.number(2))  # a topic that it owns partitions of
            cursor.take(4 * cursor.number(4))
        generation = cursor.number(4)
    except struct.error:
        return None
    with suppress(struct.error, UnicodeDecodeError):
        return generation, cursor.take(cursor.number(2)).decode() if version >= _OLDEST_WITH_RACK else ""
    return generation, ""


def _describe(group: str) -> bytes:
    """ConsumerGroupDescribe, version 0: one group, without its permitted operations."""
    name = group.encode()
    return b"\x00" + varint(2) + varint(len(name) + 1) + name + b"\x00\x00"


def _epoch(answer: bytes) -> int:
    """The group's epoch of an answer that holds one group."""
    cursor = Cursor(answer)
    cursor.varint()  # tags of the header
    cursor.number(4)
    if cursor.varint() != 2 or cursor.number(2):
        raise UnknownError
    for _ in ("message", "group", "state"):
        cursor.text()
    return cursor.number(4)


def _types(answer: bytes) -> dict[str, str]:
    """Group to type of an answer to ListGroups, version 5."""
    cursor = Cursor(answer)
    cursor.varint()  # tags of the header
    cursor.number(4)
    if cursor.number(2):
        raise UnknownError
    found = {}
    for _ in range(cursor.varint() - 1):
        group, _, _, kind = (cursor.text() for _ in ("group", "protocol", "state", "type"))
        cursor.tags()
        found[group] = kind.lower()
    return found


def varint(value: int) -> bytes:
    found = b""
    while value > 0x7F:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def asked(node: socket.socket, key: int, version: int, number: int, body: bytes) -> bytes:
    """What follows the correlation id of the node's answer."""
    head = struct.pack(">hhih", key, version, number, len(_CLIENT)) + _CLIENT
    node.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
    (length,) = struct.unpack(">i", _exactly(node, 4))
    if not 4 <= length <= _LARGEST:
        raise UnknownError
    answer = _exactly(node, length)
    if struct.unpack_from(">i", answer) != (number,):
        raise UnknownError
    return answer[4:]


def _exactly(node: socket.socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        piece = node.recv(min(count - len(found), 1 << 16))
        if not piece:
            raise UnknownError
        found += piece
    return bytes(found)


def _connected(host: str, port: int, settings: Mapping[str, str], wait_s: float) -> socket.socket:
    """A connection to the node, logged in as the settings say."""
    protocol = settings.get("security.protocol", "PLAINTEXT")
    node = socket.create_connection((host, port), wait_s)
    try:
        if protocol.endswith("SSL"):
            node = _tls(settings).wrap_socket(node, server_hostname=host)
        if protocol.startswith("SASL_"):
            _log_in(node, settings)
    except BaseException:
        node.close()
        raise
    return node


def _tls(settings: Mapping[str, str]) -> ssl.SSLContext:
    if "ssl.keystore.location" in settings:
        raise UnknownError  # PKCS#12, which Python's library does not read
    context = ssl.create_default_context(
        cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem") or None
    )
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm") == "https"
    password = settings.get("ssl.key.password", "")
    if "ssl.certificate.location" in settings:
        context.load_cert_chain(settings["ssl.certificate.location"], settings["ssl.key.location"], password)
    elif "ssl.certificate.pem" in settings:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "client.pem")
            file.touch(0o600)
            file.write_text(settings["ssl.key.pem"] + settings["ssl.certificate.pem"], encoding="ascii")
            context.load_cert_chain(file, password=password)
    return context


def _log_in(node: socket.socket, settings: Mapping[str, str]) -> None:
    mechanism = settings["sasl.mechanism"]
    name = mechanism.encode()
    answer = asked(node, _HANDSHAKE, 1, 0, struct.pack(">h", len(name)) + name)
    if struct.unpack_from(">h", answer) != (0,):
        raise UnknownError

    def exchange(told: bytes) -> bytes:
        cursor = Cursor(asked(node, _AUTHENTICATE, 0, 0, struct.pack(">i", len(told)) + told))
        if cursor.number(2):
            raise UnknownError
        cursor.take(cursor.number(2))
        return cursor.take(cursor.number(4))

    user, password = settings["sasl.username"], settings["sasl.password"]
    if mechanism == "PLAIN":
        exchange(b"\0" + user.encode() + b"\0" + password.encode())
    else:
        _scram(exchange, _HASHES[mechanism], user, password)


def _scram(exchange: _Exchange, algorithm: str, user: str, password: str) -> None:
    """RFC 5802, without channel binding; the server has to prove that it knows the password, too."""
    nonce = base64.b64encode(os.urandom(24)).decode()
    first = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
    challenge = exchange(f"n,,{first}".encode()).decode()
    told = dict(part.split("=", 1) for part in challenge.split(","))
    rounds = int(told["i"])
    if not told["r"].startswith(nonce) or rounds > _MOST_ROUNDS:
        raise UnknownError
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), base64.b64decode(told["s"]), rounds)
    without_proof = f"c=biws,r={told['r']}"
    signed = f"{first},{challenge},{without_proof}".encode()
    key = hmac.digest(salted, b"Client Key", algorithm)
    signature = hmac.digest(hashlib.new(algorithm, key).digest(), signed, algorithm)
    proof = base64.b64encode(bytes(one ^ other for one, other in zip(key, signature, strict=True))).decode()
    last = exchange(f"{without_proof},p={proof}".encode()).decode()
    server_key = hmac.digest(salted, b"Server Key", algorithm)
    expected = base64.b64encode(hmac.digest(server_key, signed, algorithm)).decode()
    if not hmac.compare_digest(last, f"v={expected}"):
        raise UnknownError
