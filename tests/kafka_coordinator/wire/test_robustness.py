"""Broken frames, and many members: nobody else notices."""

import asyncio
import logging
from contextlib import suppress
from random import Random
from struct import pack

import pytest

from kafka_coordinator.wire.served import ServedCluster
from protocols.engine.nodes import Message
from protocols.engine.sockets import Sockets
from tests.kafka_coordinator.wire.frames_made import broken_frames
from tests.kafka_coordinator.wire.load import Member

AT_ONCE = 200
"""Connections."""


def refusals(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records]


async def broken(frames: list[bytes], caplog: pytest.LogCaptureFixture) -> None:
    world = Sockets(seed=1)
    cluster = ServedCluster(world, topics={"orders": 6}, settings={"group.initial.rebalance.delay.ms": 0})
    await cluster.start()
    address = cluster.addresses["broker-1"]
    good = await Member.of(address, "good")
    await good.join()

    handled: set[str] = set()

    def gate(name: str, sender: str, message: Message) -> bool:
        handled.add(sender)
        return False

    world.gate = gate
    sent = taken = 0
    for first in range(0, len(frames), AT_ONCE):
        batch = frames[first : first + AT_ONCE]
        writers = [(await asyncio.open_connection(address.host, address.port))[1] for _ in batch]
        for writer, content in zip(writers, batch, strict=True):
            writer.write(content)
        sent += len(batch)
        async with asyncio.timeout(20):
            while len(refusals(caplog)) + taken + len(handled) < sent:
                await asyncio.sleep(0.002)
        taken += len(handled)
        for writer in writers:
            writer.close()
        assert await good.heartbeat() == 0
        handled.clear()
    refused = refusals(caplog)
    assert len(refused) + taken == sent, "each is refused with one line, or is a request"
    assert len(refused) > 0.6 * sent
    assert all("\n" not in each for each in refused)
    assert world.failures == []
    good.close()
    await world.close()


def test_broken_frames_close_their_connections_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="equipoise.sockets")
    asyncio.run(broken(list(broken_frames(Random(5), 400)), caplog))


def test_a_thousand_members_of_a_hundred_groups() -> None:
    async def told() -> None:
        world = Sockets(seed=1)
        settings = {"group.initial.rebalance.delay.ms": 2000}
        cluster = ServedCluster(world, topics={"orders": 6}, settings=settings)
        await cluster.start()
        address = cluster.addresses["broker-1"]
        members = [await Member.of(address, f"c{number}", f"g{number // 10}") for number in range(1000)]
        await asyncio.gather(*[each.join() for each in members])
        groups = cluster.states["broker-1"].broker.coordinator.core.groups
        assert {len(each.members) for each in groups.values()} == {10}
        assert set(await asyncio.gather(*[each.heartbeat() for each in members])) == {0}
        for each in members:
            each.close()
        await world.close()
        assert world.failures == []

    asyncio.run(told())


def test_a_request_longer_than_allowed_is_not_waited_for() -> None:
    async def told() -> None:
        world = Sockets(seed=1)
        cluster = ServedCluster(world)
        await cluster.start()
        address = cluster.addresses["broker-1"]
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(pack(">i", cluster.server.socket_request_max_bytes + 1))
        with suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(4), 5) == b""
        writer.close()
        await world.close()

    asyncio.run(told())
