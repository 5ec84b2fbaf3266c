"""Between clients and a real Kafka: hands everything on, but puts an error into the next answers of an API.

The broker must advertise the proxy's address. Requests are kept as they were read.
"""

import io
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from struct import pack, unpack
from threading import Lock, Thread
from time import monotonic
from typing import Any, NamedTuple

from kio.serial import entity_reader, entity_writer

from kafka_coordinator.wire.conversation import header_of
from kafka_coordinator.wire.entities import code, has, response
from kafka_coordinator.wire.lengths import after_tags
from kafka_coordinator.wire.schemas import request_schema

READ = {8: "OffsetCommit", 9: "OffsetFetch", 10: "FindCoordinator", 11: "JoinGroup", 12: "Heartbeat", 14: "SyncGroup"}
"""APIs whose requests are read: key to name."""


class Seen(NamedTuple):
    """A request; ``at`` are seconds of the monotonic clock."""

    at: float
    api: str
    body: Any


class ErrorProxy:
    """Listens from the beginning; ``target`` is set before the first client comes."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.target = ("127.0.0.1", 0)
        self._rules: dict[int, str] = {}
        self._lock = Lock()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        Thread(target=self._accept, daemon=True).start()

    def before(self, target: str) -> str:
        """Stand before the broker that listens there; the address that it shall advertise."""
        host, port = target.split(":")
        self.target = (host, int(port))
        return self.address

    def fail(self, api: str, error: str) -> None:
        """Put an error of Kafka's into the next answer of an API."""
        key = next(key for key, name in READ.items() if name == api)
        with self._lock:
            self._rules[key] = error

    def requests(self, api: str, since: float = 0.0) -> list[Seen]:
        """What clients have asked."""
        return [each for each in self.seen if each.api == api and each.at >= since]

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                broker = socket.create_connection(self.target)
                asked: dict[int, tuple[int, int]] = {}
                Thread(target=_pump, args=(client, broker, lambda f, a=asked: self._request(f, a)), daemon=True).start()
                Thread(target=_pump, args=(broker, client, lambda f, a=asked: self._answer(f, a)), daemon=True).start()

    def _request(self, frame: bytes, asked: dict[int, tuple[int, int]]) -> bytes:
        header = header_of(frame)
        asked[header.correlation] = (header.key, header.version)
        if header.key in READ:
            schema = request_schema(header.key, header.version)
            at = after_tags(frame, header.end) if schema.__header_schema__.__version__ >= 2 else header.end
            body, _ = entity_reader(schema)(frame, at)
            self.seen.append(Seen(monotonic(), READ[header.key], body))
        return frame

    def _answer(self, frame: bytes, asked: dict[int, tuple[int, int]]) -> bytes:
        (correlation,) = unpack(">i", frame[:4])
        key, version = asked.pop(correlation)
        with self._lock:
            error = self._rules.pop(key, None)
        return frame if error is None else _with_error(frame, response(key, version), error)


def _with_error(frame: bytes, kind: Any, error: str) -> bytes:
    head = 5 if kind.__header_schema__.__version__ >= 1 else 4
    entity, _ = entity_reader(kind)(frame, head)
    if not has(kind, "error_code") and has(kind, "topics"):
        entity = replace(entity, topics=tuple([_topic_with_error(each, error) for each in entity.topics]))
    elif has(kind, "groups"):
        entity = replace(
            entity, groups=tuple([replace(each, error_code=code(error), topics=()) for each in entity.groups])
        )
    else:
        entity = replace(entity, error_code=code(error), **({"topics": ()} if has(kind, "topics") else {}))
    buffer = io.BytesIO(frame[:head])
    buffer.seek(head)
    entity_writer(kind)(buffer, entity)
    return buffer.getvalue()


def _topic_with_error(topic: Any, error: str) -> Any:
    return replace(topic, partitions=tuple([replace(each, error_code=code(error)) for each in topic.partitions]))


def _pump(source: socket.socket, target: socket.socket, change: Callable[[bytes], bytes]) -> None:
    with suppress(OSError), source, target:
        while True:
            length = _exactly(source, 4)
            if length is None:
                return
            frame = _exactly(source, unpack(">i", length)[0])
            if frame is None:
                return
            changed = change(frame)
            target.sendall(pack(">i", len(changed)) + changed)


def _exactly(source: socket.socket, count: int) -> bytes | None:
    found = bytearray()
    while len(found) < count:
        part = source.recv(count - len(found))
        if not part:
            return None
        found += part
    return bytes(found)
