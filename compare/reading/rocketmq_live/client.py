"""Ask servers (``rocketmq://host:port[;host:port...]`` are name servers): one connection each, many requests at once;
every answer is waited for no longer than a timeout, and nothing beyond the end of the time for all of them.

Hosts are looked up in threads of ours, because the event loop's own are waited for when it ends, for as long as a
silent name service takes.
"""

import asyncio
import math
import re
import socket
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import NamedTuple

from compare.reading.sources import SERVER, left_s, seconds
from protocols import UserError
from rocketmq_selfbalance.wire import Frame, FrameError, decode, encode, length_of

SCHEME = "rocketmq://"
_DEFAULT_PORT = 9876


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def name_servers(address: str) -> list[Address]:
    """The name servers, port 9876 where none is given; `UserError` if it is no address."""
    texts = re.split("[;,]", address.removeprefix(SCHEME).removesuffix("/"))
    found = [parsed(text, _DEFAULT_PORT) for text in texts]
    servers = [each for each in found if each is not None]
    if len(servers) != len(found):
        raise UserError(f"expected {SCHEME}host:port, further name servers after semicolons, not {address}")
    return servers


def parsed(text: str, default_port: int | None = None) -> Address | None:
    """``host:port`` as an address; None if it is none."""
    match = SERVER.fullmatch(text.strip())
    if match is None or (match["port"] is None and default_port is None):
        return None
    port = int(match["port"] or default_port or 0)
    return Address(match["host"].strip("[]"), port) if port < 65536 else None


async def resolved(host: str, port: int) -> list[str]:
    """The addresses of the host, at least one; `OSError` if there is none."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def tell(addresses: list[str], error: OSError | None) -> None:
        if found.done():
            return
        if error is not None:
            found.set_exception(error)
        else:
            found.set_result(addresses)

    def look_up() -> None:
        try:
            listed = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            told = partial(tell, [str(each[4][0]) for each in listed], None)
        except OSError as error:
            told = partial(tell, [], error)
        except UnicodeError:
            told = partial(tell, [], OSError(0, f"{host} is not a host name"))
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(told)

    threading.Thread(target=look_up, name=f"resolve-{host}", daemon=True).start()
    return await found


MOST_IN_FLIGHT = 64
"""Requests to one server that wait for an answer at the same time."""

_CHUNK = 1 << 17


class Refused(Exception):  # noqa: N818 - an answer, not a fault of ours
    """The server answered with an error, or did not answer. ``code`` is RocketMQ's, None without an answer."""

    def __init__(self, why: str, code: int | None = None) -> None:
        super().__init__(why)
        self.code = code


@dataclass(slots=True)
class _Server:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    waiting: dict[int, asyncio.Future[Frame]] = field(default_factory=dict)
    deadlines: deque[tuple[float, asyncio.Future[Frame]]] = field(default_factory=deque)
    unsent: list[bytes] = field(default_factory=list)
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_IN_FLIGHT))
    reading: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None

    def send(self, frame: bytes) -> None:
        """Send it with all others of this turn of the event loop at once: each call of the system costs more than a
        request. `MOST_IN_FLIGHT` bounds what is not sent yet."""
        if not self.unsent:
            asyncio.get_running_loop().call_soon(self._flush)
        self.unsent.append(frame)

    def _flush(self) -> None:
        self.writer.write(b"".join(self.unsent))
        self.unsent.clear()

    def expect(self, answer: asyncio.Future[Frame], wait_s: float) -> None:
        """Give up the answer after that time. Later answers are never waited for less long than earlier ones, so that
        one timer does for all."""
        loop = asyncio.get_running_loop()
        while self.deadlines and self.deadlines[0][1].done():
            self.deadlines.popleft()
        self.deadlines.append((loop.time() + wait_s, answer))
        if self.timer is None:
            self.timer = loop.call_later(wait_s, self._give_up)

    def _give_up(self) -> None:
        loop = asyncio.get_running_loop()
        self.timer = None
        while self.deadlines:
            ends, answer = self.deadlines[0]
            if ends > loop.time() and not answer.done():
                self.timer = loop.call_at(ends, self._give_up)
                return
            self.deadlines.popleft()
            if not answer.done():
                answer.set_exception(TimeoutError())


class Client:
    """Connections to any number of servers, opened when first asked. Close it: ``async with Client(...)``."""

    def __init__(self, timeout_s: float, ends: float = math.inf) -> None:
        self.timeout_s, self.ends = timeout_s, ends
        self._servers: dict[Address, asyncio.Task[_Server]] = {}
        self._numbers = count()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        for opening in self._servers.values():
            opening.cancel()
            if not opening.done() or opening.cancelled() or opening.exception() is not None:
                continue
            server = opening.result()
            server.writer.close()
            if server.reading is not None:
                server.reading.cancel()
            if server.timer is not None:
                server.timer.cancel()

    async def ask(self, at: Address, code: int, fields: Mapping[str, str], body: bytes = b"") -> Frame:
        """The answer of the server to a request; `Refused` if it refuses, hangs up or stays silent."""
        if self.is_over:
            raise Refused(f"{at} is not asked, because the time of --timeout is over")
        try:
            server = await self._server(at)
            async with server.room:
                # Who was before us here had its answer in time, or time is over.
                return await self._answer(server, Frame(code, next(self._numbers), fields, body))
        except TimeoutError:
            if self.is_over:
                raise Refused(f"{at} has not answered before the time of --timeout was over") from None
            raise Refused(f"{at} does not answer for {seconds(self.timeout_s)}") from None
        except (OSError, FrameError) as error:
            raise Refused(f"{at}: {getattr(error, 'strerror', None) or error}") from None

    def _wait_s(self) -> float:
        return min(self.timeout_s, left_s(self.ends))

    @property
    def is_over(self) -> bool:
        """Whether the time for all answers is over."""
        return left_s(self.ends) <= 0

    async def _server(self, at: Address) -> _Server:
        opening = self._servers.get(at)
        if opening is None:
            opening = self._servers[at] = asyncio.ensure_future(self._open(at))
        return opening.result() if opening.done() else await asyncio.shield(opening)

    async def _open(self, at: Address) -> _Server:
        async with asyncio.timeout(self._wait_s()):
            server = _Server(*await _connected(at))
        server.reading = asyncio.ensure_future(_read(server))
        return server

    async def _answer(self, server: _Server, request: Frame) -> Frame:
        if server.reading is None or server.reading.done():
            raise ConnectionResetError(0, "the server closed the connection")
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        server.waiting[request.opaque] = answer
        try:
            server.send(encode(request))
            server.expect(answer, self._wait_s())
            frame = await answer
        finally:
            del server.waiting[request.opaque]
        if frame.code != 0:
            remark = (frame.remark or "no reason given").strip().splitlines()[0]
            raise Refused(f"{remark} (code {frame.code})", frame.code)
        return frame


async def _connected(at: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first of the host's addresses that takes one; `OSError` of the last one if none does."""
    *others, last = await resolved(at.host, at.port)
    for other in others:
        with suppress(OSError):
            return await asyncio.open_connection(other, at.port)
    return await asyncio.open_connection(last, at.port)


async def _read(server: _Server) -> None:
    """Give every answer that comes in to who waits for it, until the server hangs up."""
    unread = bytearray()
    why: Exception = ConnectionResetError(0, "the server closed the connection")
    try:
        while chunk := await server.reader.read(_CHUNK):
            unread += chunk
            start = 0
            while len(unread) >= (body := start + 4):
                end = body + length_of(bytes(unread[start:body]))
                if len(unread) < end:
                    break
                frame = decode(bytes(unread[body:end]))
                start = end
                answer = server.waiting.get(frame.opaque)
                if frame.is_answer and answer is not None and not answer.done():
                    answer.set_result(frame)
            del unread[:start]
    except (OSError, FrameError) as error:
        why = error
    for answer in list(server.waiting.values()):
        if not answer.done():
            answer.set_exception(why)
