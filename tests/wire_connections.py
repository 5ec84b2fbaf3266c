"""Connections with a served node without sockets: bytes go in, and what the node writes comes out."""

import asyncio
from typing import Any

from protocols.engine.connection import Connection
from protocols.engine.sockets import Sockets


class Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self, port: int) -> None:
        super().__init__({"peername": ("127.0.0.1", port), "socket": self})
        self.written: list[bytes] = []
        self.connection: Connection
        self.closed = False

    def setsockopt(self, *option: Any) -> None:
        """As a socket."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nobody waits for anything here."""

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        """Nothing more comes by itself."""

    def resume_reading(self) -> None:
        """Nothing comes by itself."""

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_soon(self.connection.connection_lost, None)

    def abort(self) -> None:
        self.close()


class Wire:
    """One connection with the node of this name, which listens in the world."""

    ports = 10_000

    def __init__(self, world: Sockets, name: str) -> None:
        Wire.ports += 1
        self.transport = Transport(Wire.ports)
        self.connection: Connection = world._servers[name]._protocol_factory()  # type: ignore[attr-defined]
        self.transport.connection = self.connection
        self.connection.connection_made(self.transport)

    def put(self, data: bytes) -> bytes:
        """Send bytes; what the node has written at once."""
        self.transport.written.clear()
        self.connection.data_received(data)
        return b"".join(self.transport.written)

    def close(self) -> None:
        """The client is gone."""
        self.transport.close()
