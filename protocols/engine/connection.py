"""What a world on sockets (`protocols.engine.sockets`) asks of a wire protocol: bytes to messages and back.

One conversation per connection, without I/O: it is given what was read and says what to write. Each system has its own,
around the codec of its protocol.

A client's connection in the world on sockets: what is read becomes messages, messages are written, within limits.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeAlias, cast, runtime_checkable

from protocols.engine.nodes import Message
from protocols.engine.pieces import Pieces


class WireError(Exception):
    """Bytes that the protocol does not allow, or a message that it cannot write; its text is one line. The connection
    is closed, nobody else notices."""


LATER: Final[Message] = ("later",)
"""No request yet: its conversation is to be asked again when others have had their turn."""


Making: TypeAlias = Generator[None, None, Sequence[bytes]]
"""What makes the bytes of an answer, which it gives in the end: it rests every few milliseconds."""


def at_once(content: Sequence[bytes] | Making) -> Sequence[bytes]:
    """The bytes, where nobody else waits for a turn."""
    while isinstance(content, Generator):
        try:
            next(content)
        except StopIteration as done:
            content = done.value
    return content


class Conversation(Protocol):
    """One connection with a client, seen from a server's node. ``waiting``: bytes that were read and not handed on."""

    @property
    def waiting(self) -> int: ...

    def feed(self, data: bytes) -> None:
        """Take what was read. Raises `WireError` where it can be no request."""

    def next(self) -> Message | None:
        """The next request that the node may be given now; None where there is none, or where one before it is still to
        be answered; `LATER` where it takes longer to read. Raises `WireError` where its bytes cannot be read."""

    def encode(self, message: Message) -> Sequence[bytes] | Making:
        """The bytes of what the node sends: the answer to a request, or a notice. None at all where nothing is to be
        written. `Making` where it takes longer: others have their turn in between. Raises `WireError` for a message
        that the protocol does not have."""


@runtime_checkable
class Talking(Conversation, Protocol):
    """A conversation whose protocol says something by itself: settings, acknowledgements, windows. ``held``: bytes
    that wait until the client takes more."""

    @property
    def held(self) -> int: ...

    def ended(self) -> None:
        """The client is gone: what waits for it is forgotten, whatever is still being made for it."""

    def said(self) -> Sequence[bytes]:
        """What the protocol has to say since it was asked last. `encode` gives it, too, before its message; what
        takes longer gives nothing, and what it has brought about is said here."""


_OTHER_PROTOCOLS = {
    b"PRI ": "HTTP/2",
    b"GET ": "HTTP",
    b"POST": "HTTP",
    b"PUT ": "HTTP",
    b"HEAD": "HTTP",
    b"SSH-": "SSH",
    b"\x16\x03": "TLS",
}
"""What a client of another protocol says first, to the protocol."""


def check_preface(first: bytes, served: str) -> None:
    """Raise `WireError` where these bytes, the first of a connection, begin another protocol; ``served``: what the
    client should speak."""
    for preface, spoken in _OTHER_PROTOCOLS.items():
        if first.startswith(preface):
            raise WireError(f"a client speaks {spoken} here; {served}")


MakeConversation: TypeAlias = Callable[[str], Conversation]
"""The peer's name to a new conversation with it."""


_TOGETHER = 64 * 1024
"""Bytes that wait for more at most."""

SMALL = 1024 * 1024
"""Bytes that one client may always cost; as many are given to a transport, which copies them, at once."""

AT_ONCE_S = 0.01
"""Seconds that one client's requests, or what is due, take before others have their turn."""

LOG = logging.getLogger("equipoise.sockets")


class Limits(NamedTuple):
    """What one client may cost. ``connections`` at once per node, further ones are closed; ``unread`` bytes written
    that the client has not read, above which nothing more is read from it, and above four times of which it is cut off
    where anything more is to be written to it; ``idle_s`` seconds without a byte from it, after which its connection is
    closed (Kafka's ``connections.max.idle.ms``); ``waiting`` bytes of requests of all clients of a node that are not
    whole yet, or wait for earlier ones: above that a client that has more than `SMALL` of them is cut off; ``unsent``
    bytes of answers that all clients of a node have not taken: above that those are cut off that have more than `SMALL`
    of them, first who has been silent for the longest time."""

    connections: int = 10_000
    unread: int = 16 * 1024 * 1024
    idle_s: float = 600.0
    waiting: int = 512 * 1024 * 1024
    unsent: int = 512 * 1024 * 1024


class Server(Protocol):
    """What a connection needs of its world."""

    loop: asyncio.AbstractEventLoop
    limits: Limits

    def opened(self, connection: "Connection") -> bool: ...

    def received(self, name: str, peer: str, message: Message) -> None: ...

    def lost(self, connection: "Connection") -> None: ...

    def hangs(self, name: str) -> bool: ...

    def failed(self, name: str, error: Exception) -> None: ...

    def is_acting(self) -> bool: ...

    def later(self, connection: "Connection", step: Callable[[], bool]) -> None: ...

    def waiting(self, name: str) -> int: ...

    def relieve(self, name: str) -> None: ...


class Connection(asyncio.Protocol):
    """One connection with a client, as asyncio drives it.

    Requests go to the node one after the other, as the conversation gives them. Nothing is read from a client that does
    not read what is written to it, nor for a node that hangs.
    """

    def __init__(self, world: Server, name: str, make_conversation: MakeConversation) -> None:
        self.world, self.name = world, name
        self.peer = ""
        """The client's ``address:port``, its name to the node."""
        self.last_read = 0.0
        """When something came last, on the event loop's clock, in seconds."""
        self.cut = False
        """Whether the network is cut: nothing is read and nothing written, and neither side is told."""
        self._make = make_conversation
        self._conversation: Conversation | None = None
        self._talking: Talking | None = None
        """The same, where its protocol says something by itself."""
        self._transport: asyncio.Transport | None = None
        self._is_full = self._is_held = self._is_pumping = False
        """Whether too much is unread; the transport takes no more; requests are being handed on."""
        self._ready = Pieces()
        """Written while requests are handed on: it goes out together, because each call of the system costs time.
        Written while the network is cut, and what the transport does not take yet, too."""
        self._message: Message | None = None
        """A request that was long to read: it is handed on when others have had their turn."""

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        host, port = transport.get_extra_info("peername")[:2]
        self.peer = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.last_read = self.world.loop.time()
        handle = transport.get_extra_info("socket")
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._transport.set_write_buffer_limits(min(SMALL, self.world.limits.unread))
        self._conversation = self._make(self.peer)
        self._talking = self._conversation if isinstance(self._conversation, Talking) else None
        if not self.world.opened(self):
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        assert self._conversation is not None
        self.last_read = self.world.loop.time()
        try:
            self._conversation.feed(data)
            if self._conversation.waiting > SMALL:
                waiting, most = self.world.waiting(self.name), self.world.limits.waiting
                if waiting > most:
                    raise WireError(f"{waiting} bytes of requests wait here, more than {most}")
        except WireError as error:
            self._refuse(error)
        else:
            self.pump()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._talking is not None:
            self._talking.ended()
        self.world.lost(self)

    def pause_writing(self) -> None:
        self._is_held = True

    def resume_writing(self) -> None:
        self._is_held = False
        self._send()
        self._weigh()
        if not self._is_full:
            self.pump()

    # What the world calls.

    @property
    def waiting(self) -> int:
        """Bytes that were read and not handed on."""
        return 0 if self._conversation is None else self._conversation.waiting

    @property
    def unsent(self) -> int:
        """Bytes of answers that the client has not taken. Those that are being made do not count: of a node's long
        answers one is made after the other (`Sockets.later`)."""
        if self.is_closing:
            return 0
        return self._unread + (0 if self._talking is None else self._talking.held)

    @property
    def is_closing(self) -> bool:
        """Whether nothing more comes from the client."""
        return self._transport is None or self._transport.is_closing()

    def pump(self) -> None:
        """Hand on the requests that may be handled now; soon, while a node handles something, because what it is given
        then would belong to the same turn."""
        if self._is_pumping:
            return
        if self.world.is_acting():
            self._send()
            self.world.loop.call_soon(self.pump)
            return
        self._is_pumping = True
        loop = self.world.loop
        until = loop.time() + AT_ONCE_S
        try:
            while self._may_read():
                message, self._message = self._message, None
                if message is None:
                    if (message := self._next()) is None:
                        break
                    if message is LATER:
                        if loop.time() > until:
                            loop.call_soon(self.pump)
                            break
                        continue
                    if loop.time() > until:
                        self._message = message
                if self._message is None:
                    self.world.received(self.name, self.peer, message)
                if loop.time() > until:
                    loop.call_soon(self.pump)
                    break
        except WireError as error:
            self._refuse(error)
        finally:
            self._is_pumping = False
            if self._talking is not None:
                self._put(self._talking.said())
            self._send()

    def write(self, message: Message) -> None:
        assert self._conversation is not None
        assert self._transport is not None
        content = self._conversation.encode(message)
        if isinstance(content, Generator):
            self.world.later(self, partial(self._go_on, content))
            return
        self._written(content)

    def _written(self, content: Sequence[bytes]) -> None:
        """An answer is encoded, or a part of it."""
        self._put(content)
        if self.unsent > SMALL:
            self.world.relieve(self.name)
        self.pump()

    def _put(self, content: Sequence[bytes]) -> None:
        if content:
            if self._is_full and self._unread > 4 * self.world.limits.unread:
                LOG.warning("%s: %s does not read what is written to it; its connection is cut", self.name, self.peer)
                self.abort()
                return
            self._ready.put(content)
            if not self._is_pumping or self._ready.size >= _TOGETHER:
                self._send()

    def _go_on(self, work: Making) -> bool:
        """Do what the answer needs for a while; whether it is written. What has begun is finished even where the client
        is gone: it may change more than the answer."""
        until = self.world.loop.time() + AT_ONCE_S
        try:
            while True:
                next(work)
                if self.world.loop.time() > until:
                    self._written(())
                    return False
        except StopIteration as done:
            self._written(done.value)
            return True

    def hang_up(self) -> None:
        if self._transport is not None:
            self._send(all_of_it=True)
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._send()
            self._transport.abort()

    def set_cut(self, cut: bool) -> None:
        """Cut the network, or mend it: what was written meanwhile goes out now."""
        self._send()
        self.cut = cut
        self._set_reading()
        if not cut and self._transport is not None and not self.is_closing:
            self._send()
            self.pump()

    def rest(self) -> None:
        """The node hangs, or goes on: read no more, or again."""
        self._set_reading()
        self.pump()

    @property
    def _unread(self) -> int:
        assert self._transport is not None
        return self._transport.get_write_buffer_size() + self._ready.size

    def _next(self) -> Message | None:
        assert self._conversation is not None
        return self._conversation.next()

    def _send(self, *, all_of_it: bool = False) -> None:
        """Give the transport what it takes now, or all of it, because nobody asks again."""
        if not self._ready.size or self.cut or self.is_closing:
            return
        assert self._transport is not None
        while self._ready.size and (all_of_it or not self._is_held):
            self._transport.write(self._ready.take(SMALL))  # not `writelines`: some Pythons' does not pause
        if self._is_held:
            self._weigh()

    def _weigh(self) -> None:
        """Read no more where too much is unread, or again."""
        if self._is_full != (self._unread > self.world.limits.unread):
            self._is_full = not self._is_full
            self._set_reading()

    def _may_read(self) -> bool:
        return not (self._is_full or self.cut or self.is_closing or self.world.hangs(self.name))

    def _set_reading(self) -> None:
        assert self._transport is not None
        if self.is_closing:
            return
        with suppress(RuntimeError):
            if self._may_read():
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _refuse(self, error: WireError) -> None:
        LOG.warning("%s: the connection of %s is closed: %s", self.name, self.peer, error)
        self.abort()
