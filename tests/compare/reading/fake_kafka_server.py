"""A server on loopback that answers Kafka's requests with whatever bytes a test gives it."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TypeAlias

API_VERSIONS, METADATA = 18, 3

Answerer: TypeAlias = Callable[[int, int, int], Iterator[bytes]]
"""The bytes to send, piece by piece, for a request's API key, version and correlation id."""
Take: TypeAlias = Callable[[int], bytes]
"""So many bytes of a connection."""


def serving(answer: Answerer) -> AbstractContextManager[str]:
    """The server's ``host:port``."""

    def answered(take: Take) -> Iterator[bytes]:
        (length,) = struct.unpack(">i", take(4))
        yield from answer(*struct.unpack_from(">hhi", take(length)))

    return answering(answered)


@contextmanager
def answering(answered: Callable[[Take], Iterator[bytes]]) -> Iterator[str]:
    """A server (``host:port``) that answers each request in pieces; ``answered`` takes the request's bytes."""
    over = threading.Event()

    def talk(connection: socket.socket) -> None:
        with connection, suppress(OSError, struct.error):
            while not over.is_set():
                for piece in answered(partial(_exactly, connection)):
                    connection.sendall(piece)
                    if over.is_set():
                        return

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            # A thread that waits in accept() would keep the port open.
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)


def framed(correlation: int, body: bytes) -> bytes:
    """An answer with its length and correlation id in front."""
    return struct.pack(">ii", 4 + len(body), correlation) + body


def versions(*ranges: tuple[int, int, int]) -> bytes:
    """The body of ApiVersions in its oldest form: API key, lowest and highest version."""
    return struct.pack(">hi", 0, len(ranges)) + b"".join(struct.pack(">hhh", *each) for each in ranges)


def _exactly(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        piece = connection.recv(count - len(found))
        if not piece:
            raise OSError("hung up")
        found += piece
    return found
