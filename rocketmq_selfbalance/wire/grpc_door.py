"""The gRPC connections of the proxy's clients: bytes to calls, answers to bytes (grpcio, extra ``serve``). Plaintext;
what cannot be read ends its call alone."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import grpc
import grpc.aio

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.engine.sockets import Sockets
from rocketmq_selfbalance.proxy.calls import (
    Answered,
    Call,
    Cancelled,
    Response,
    StreamClosed,
    StreamRefused,
    Telemetry,
    Told,
)
from rocketmq_selfbalance.proxy.node import NAME
from rocketmq_selfbalance.proxy.protobuf import MalformedError, decode, encode
from rocketmq_selfbalance.proxy.requests import METHODS, SERVICE, Method, TelemetryCommand

DOOR = "grpc"
"""Name of the node."""

_UNIMPLEMENTED = ("PullMessage", "UpdateOffset", "GetOffset", "QueryOffset")
_MOST_BYTES = 32 * 1024 * 1024
_IDLE_MS = 120_000
_NO_DEADLINE_S = 3.0
_LAST_EVENTS_S = 0.02
"""grpcio tells the loop of its last events after a server has stopped."""
_UNREADABLE = "Invalid protobuf byte sequence"


class GrpcDoor(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio has no types
    """The node that holds the connections. ``world`` runs it and the proxy."""

    def __init__(self, world: Sockets) -> None:
        self._world = world
        self._number = 0
        self._waiting: dict[int, asyncio.Future[tuple[Response, ...]]] = {}
        self._streams: dict[int, asyncio.Queue[TelemetryCommand | StreamRefused | None]] = {}
        self._server: Any = None
        self._handlers = {name: self._handler(name, method) for name, method in METHODS.items()}
        self._handlers["Telemetry"] = grpc.stream_stream_rpc_method_handler(self._telemetry)
        for name in _UNIMPLEMENTED:
            self._handlers[name] = grpc.unary_unary_rpc_method_handler(_unimplemented(name))

    async def listen(self, host: str, port: int) -> int:
        """Take connections; the port (0 takes a free one). `OSError` where it is taken."""
        options = [
            ("grpc.max_receive_message_length", _MOST_BYTES),
            ("grpc.max_send_message_length", _MOST_BYTES),
            ("grpc.max_connection_idle_ms", _IDLE_MS),
            ("grpc.so_reuseport", 0),
        ]
        self._server = grpc.aio.server(handlers=[self], options=options)
        try:
            taken: int = self._server.add_insecure_port(f"{host}:{port}")
        except RuntimeError as error:
            raise OSError(f"the port {port} is taken") from error
        await self._server.start()
        return taken

    async def close(self) -> None:
        """End all connections."""
        if self._server is not None:
            await self._server.stop(None)
            await asyncio.sleep(_LAST_EVENTS_S)

    def service(self, details: Any) -> Any:
        """The handler of a method; None where there is none."""
        service, _, method = details.method.removeprefix("/").partition("/")
        return self._handlers.get(method) if service == SERVICE else None

    # The node.

    def start(self, now: Time, out: Outbox) -> None:
        """Nothing to do before the first call."""

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if isinstance(message, Answered):
            waiting = self._waiting.pop(message.correlation, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message.responses)
        elif isinstance(message, Told | StreamRefused):
            stream = self._streams.get(message.correlation)
            if stream is not None:
                stream.put_nowait(message.command if isinstance(message, Told) else message)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """It sets no timers."""

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """It is always connected."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """The proxy is gone, and everything with it."""

    # Calls.

    def _handler(self, name: str, method: Method) -> Any:
        if method.streams:

            async def streamed(raw: bytes, context: Any) -> AsyncIterator[bytes]:
                for response in await self._answer(name, method, raw, context):
                    yield encode(response)

            return grpc.unary_stream_rpc_method_handler(streamed)

        async def called(raw: bytes, context: Any) -> bytes:
            (response,) = await self._answer(name, method, raw, context)
            return encode(response)

        return grpc.unary_unary_rpc_method_handler(called)

    async def _answer(self, name: str, method: Method, raw: bytes, context: Any) -> tuple[Response, ...]:
        try:
            request = decode(method.request, raw)
        except MalformedError:
            await context.abort(grpc.StatusCode.INTERNAL, _UNREADABLE)
            raise
        self._number += 1
        number, waiting = self._number, asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        remaining = context.time_remaining()
        deadline = (_NO_DEADLINE_S if remaining is None else remaining) * 1000
        self._give(Call(number, _client_id(context), name, request, deadline))
        try:
            responses: tuple[Response, ...] = await waiting
        except asyncio.CancelledError:
            self._waiting.pop(number, None)
            self._give(Cancelled(number))
            raise
        return responses

    async def _telemetry(self, requests: object, context: Any) -> None:
        self._number += 1
        number = self._number
        said = self._streams[number] = asyncio.Queue()
        reading = asyncio.get_running_loop().create_task(self._read(number, context))
        try:
            while (command := await said.get()) is not None:
                if isinstance(command, StreamRefused):
                    await context.abort(grpc.StatusCode.INVALID_ARGUMENT, command.why)
                    return
                await context.write(encode(command))
        finally:
            reading.cancel()
            del self._streams[number]
            self._give(StreamClosed(number))

    async def _read(self, number: int, context: Any) -> None:
        """Hand on what a client says on its stream, to its end."""
        said, client_id = self._streams[number], _client_id(context)
        while (raw := await context.read()) is not grpc.aio.EOF:
            try:
                command = decode(TelemetryCommand, raw)
            except MalformedError:
                said.put_nowait(StreamRefused(number, _UNREADABLE))
                return
            self._give(Telemetry(number, client_id, command))
        said.put_nowait(None)

    def _give(self, message: Message) -> None:
        self._world.received(NAME, DOOR, message)


def _client_id(context: Any) -> str:
    metadata: Mapping[str, str] = dict(context.invocation_metadata() or ())
    return metadata.get("x-mq-client-id", "")


def _unimplemented(name: str) -> Any:
    async def refuse(raw: bytes, context: Any) -> bytes:
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"Method {SERVICE}/{name} is unimplemented")
        return b""

    return refuse
