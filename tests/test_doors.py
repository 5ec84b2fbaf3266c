"""Every door of the served brokers, to clients that say little, nothing, or far too much: Kafka's, the name server's,
the broker's and the proxy's. What one of them does is not noticed by the next."""

import asyncio
import gc
from collections.abc import Callable
from struct import pack
from weakref import ref

import pytest

from kafka_coordinator.wire.served import ServedCluster
from protocols.engine.connection import Talking
from protocols.engine.sockets import Limits, Sockets
from rocketmq_selfbalance.proxy.definitions import Endpoints, Resource
from rocketmq_selfbalance.proxy.protobuf import decode
from rocketmq_selfbalance.proxy.protobuf import encode as encode_message
from rocketmq_selfbalance.proxy.requests import QueryRouteRequest, QueryRouteResponse
from rocketmq_selfbalance.remoting import Frame, encode
from rocketmq_selfbalance.wire.cluster import RocketMQCluster
from tests.kafka_coordinator.wire.test_robustness import metadata
from tests.rocketmq_selfbalance.grpc.frames_made import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    SETTINGS,
    WINDOW_UPDATE,
    head,
    message,
)
from tests.rocketmq_selfbalance.grpc.frames_made import frame as http2_frame
from tests.wire_connections import Wire


def _route(topic: str, stream: int = 1) -> bytes:
    """A call of the proxy."""
    asked = message(encode_message(QueryRouteRequest(Resource(name=topic), Endpoints())))
    opened = http2_frame(HEADERS, END_HEADERS, stream, head("QueryRoute", "c"))
    return opened + http2_frame(DATA, END_STREAM, stream, asked)


DOORS = {
    "broker-1": (metadata(["orders"]), pack(">I", 2**32 - 1)),
    "namesrv": (encode(Frame(105, 1, {"topic": "orders"})), pack(">I", 2**32 - 1)),
    "broker-a": (encode(Frame(300, 1, {"topic": "orders"})), pack(">I", 2**32 - 1)),
    "proxy": (PREFACE + _route("orders"), PREFACE + b"\xff\xff\xff\0\0" + bytes(4)),
}
"""A node to a request, and to the announcement of one that is too long."""


async def _served(wide: int = 1, limits: Limits = Limits()) -> Sockets:  # noqa: B008 - immutable
    world = Sockets(seed=1, limits=limits)
    await ServedCluster(world, topics={"orders": 2}).start()
    topics = {"orders": {"broker-a": 2}, "wide": {"broker-a": wide}}
    cluster = await RocketMQCluster.start(world, epoch_ms=0.0, topics=topics)
    await cluster.start_proxy()
    return world


async def _answer(wire: Wire, *pieces: bytes) -> bytes:
    """What is written to these bytes, one piece after the other; an answer has come whole when nothing more follows."""
    wire.transport.written.clear()
    for piece in pieces:
        wire.connection.data_received(piece)
    while not wire.transport.closed:
        before = len(wire.transport.written)
        for _ in range(5):
            await asyncio.sleep(0)
        if before and before == len(wire.transport.written):
            break
    return b"".join(wire.transport.written)


@pytest.mark.parametrize("door", DOORS)
def test_a_request_is_answered_wherever_it_is_cut(door: str) -> None:
    async def told() -> None:
        world, request = await _served(), DOORS[door][0]
        whole = await _answer(Wire(world, door), request)
        assert len(whole) > 20
        for at in range(1, len(request)):
            assert await _answer(Wire(world, door), request[:at], request[at:]) == whole, at
        single = [request[at : at + 1] for at in range(len(request))]
        assert await _answer(Wire(world, door), *single) == whole
        assert world.failures == []
        await world.close()

    asyncio.run(told())


@pytest.mark.parametrize("door", DOORS)
def test_clients_that_never_finish_a_request_or_announce_too_much_cost_nobody_else(door: str) -> None:
    async def told() -> None:
        world, (request, too_much) = await _served(), DOORS[door]
        whole = await _answer(Wire(world, door), request)
        slow = [Wire(world, door) for _ in range(300)]
        for byte in range(min(12, len(request) - 1)):
            for wire in slow:
                wire.put(request[byte : byte + 1])
        greedy = Wire(world, door)
        greedy.put(too_much)
        assert greedy.transport.closed
        assert not any(wire.transport.closed for wire in slow)
        assert world.waiting(door) <= 300 * 12 + len(too_much)
        assert await _answer(Wire(world, door), request) == whole
        assert world.failures == []
        await world.close()

    asyncio.run(told())


def _ask(wire: Wire, request: bytes) -> None:
    wire.put(request)


def _say_half(wire: Wire, request: bytes) -> None:
    wire.put(request[: len(request) // 2])


def _say_nothing(wire: Wire, request: bytes) -> None:
    """Connect, and go."""


@pytest.mark.parametrize("door", DOORS)
def test_nothing_is_left_of_connections_that_are_closed(door: str) -> None:
    async def told() -> None:
        world, request = await _served(), DOORS[door][0]
        gone: list[ref[object]] = []
        does: Callable[[Wire, bytes], None]
        for number in range(300):
            wire = Wire(world, door)
            does = (_ask, _say_half, _say_nothing)[number % 3]
            does(wire, request)
            gone.append(ref(wire.connection))
            wire.close()
            del wire
        for _ in range(20):
            await asyncio.sleep(0)
        gc.collect()
        assert [each for each in gone if each() is not None] == []
        assert world.processes[door].connections == {}
        assert world.failures == []
        await world.close()

    asyncio.run(told())


def _told(written: bytes, stream: int) -> list[int]:
    """The numbers of the queues in the route that has come on the stream."""
    found, at = b"", 0
    while at < len(written):
        length, its = int.from_bytes(written[at : at + 3]), int.from_bytes(written[at + 5 : at + 9]) == stream
        found += written[at + 9 : at + 9 + length] if its and written[at + 3] == DATA else b""
        at += 9 + length
    return [queue.id for queue in decode(QueryRouteResponse, found[5:]).message_queues]


_WIDE_OPEN = (
    PREFACE + http2_frame(SETTINGS, 0, 0, pack(">HI", 4, 2**30)) + http2_frame(WINDOW_UPDATE, 0, 0, pack(">I", 2**30))
)


def test_a_route_of_many_queues_lets_others_have_their_turn() -> None:
    async def told() -> None:
        world = await _served(wide=20_000)
        asks, other = Wire(world, "proxy"), Wire(world, "proxy")
        asks.put(_WIDE_OPEN)
        asks.put(_route("wide") + _route("orders", 3))
        assert not asks.transport.written
        assert _told(other.put(DOORS["proxy"][0]), 1) == [0, 1]
        assert not asks.transport.written, "the long answer is still being made"
        written = b""
        while written.count(b"grpc-status") < 2:
            await asyncio.sleep(0)
            written = b"".join(asks.transport.written)
        assert _told(written, 1) == list(range(20_000))
        assert _told(written, 3) == [0, 1]
        assert world.failures == []
        await world.close()

    asyncio.run(told())


def _talking(wire: Wire) -> Talking:
    assert wire.connection._talking is not None
    return wire.connection._talking


def test_what_clients_do_not_take_is_bounded_over_all_of_them() -> None:
    async def told() -> None:
        world = await _served(wide=30_000, limits=Limits(unsent=8_000_000))
        shut = PREFACE + http2_frame(SETTINGS, 0, 0, pack(">HI", 4, 0))
        wires = [Wire(world, "proxy") for _ in range(20)]
        for number, wire in enumerate(wires):
            wire.put(shut + _route("wide"))
            while sum(each.connection.unsent > 0 for each in wires) <= min(number, 4):
                await asyncio.sleep(0)
            for _ in range(300):
                await asyncio.sleep(0)
            assert sum(each.connection.unsent for each in wires) <= 8_000_000
        closed = [wire.transport.closed for wire in wires]
        assert not any(talking.held for each in wires if each.transport.closed for talking in [_talking(each)])
        assert closed == sorted(closed, reverse=True), "who has been silent for the longest time goes first"
        assert 4 <= closed.count(False) <= 6
        assert await _answer(Wire(world, "proxy"), DOORS["proxy"][0])
        assert world.failures == []
        await world.close()

    asyncio.run(told())
