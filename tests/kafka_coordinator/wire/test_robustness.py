"""Broken frames, and many members: nobody else notices."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from random import Random
from struct import pack
from typing import Any

import pytest
from kio.index import load_request_schema
from kio.serial import entity_reader

from kafka_coordinator.wire import entities
from kafka_coordinator.wire.schemas import request_schema
from kafka_coordinator.wire.served import ServedCluster
from kafka_coordinator.wire.state import ServerSettings
from protocols.engine.nodes import Message
from protocols.engine.sockets import Limits, Sockets
from tests.calls import counted_calls
from tests.kafka_coordinator.wire.frames_made import broken_frames, frame
from tests.kafka_coordinator.wire.load import Member
from tests.rows import rows
from tests.wire_connections import Wire

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


def metadata(names: list[str] | None) -> bytes:
    kind: Any = load_request_schema(3, 8)
    topics = None if names is None else tuple([entities.part(kind, "topics")(name=name) for name in names])
    flags = {"include_cluster_authorized_operations": False, "include_topic_authorized_operations": False}
    return frame(kind(topics=topics, allow_auto_topic_creation=True, **flags))


def test_a_long_answer_leaves_others_their_turn() -> None:
    async def told() -> None:
        world = Sockets(seed=1)
        await ServedCluster(world, topics={f"t{number}": 1 for number in range(4_000)}).start()
        asks, other = Wire(world, "broker-1"), Wire(world, "broker-1")
        assert asks.put(metadata(None)) == b"", "it takes some time"
        assert asks.put(metadata([])) == b"", "and what comes behind it waits"
        assert len(other.put(metadata(["t1"]))) > 40, "while others are answered"
        for _ in range(10_000):
            await asyncio.sleep(0)
            written = b"".join(asks.transport.written)
            length = int.from_bytes(written[:4])
            if len(written) > length + 4:
                break
        answer, size = entity_reader(entities.response(3, 8))(written, 8)  # type: ignore[arg-type]
        assert (size, len(answer.topics)) == (length - 4, 4_000)  # type: ignore[attr-defined]
        assert 0 < len(written) - 4 - length < 100, "the second answer follows the first"
        assert world.failures == []
        await world.close()

    asyncio.run(told())


def test_the_first_heartbeat_and_the_first_fetch_of_a_member_are_linear_in_its_topics() -> None:
    """Four times the topics take four times the calls; with a square in it, it was up to sixteen times."""

    async def counted(count: int) -> int:
        world, names = Sockets(seed=1), [f"topic-number-{number:05d}" for number in range(count)]
        await ServedCluster(world, topics=dict.fromkeys(names, 1)).start()
        wire = Wire(world, "broker-1")
        with counted_calls() as calls:
            for each in subscribing("g", names), reading(names):
                wire.put(each)
                while not wire.transport.written:
                    await asyncio.sleep(0)
        assert world.failures == []
        await world.close()
        return calls.count

    small, large = asyncio.run(counted(1_000)), asyncio.run(counted(4_000))
    assert 3.5 < large / small < 4.5


def subscribing(group: str, names: list[str], member: str = "A" * 22) -> bytes:
    kind: Any = load_request_schema(68, 1)
    values: dict[str, Any] = {"group_id": group, "member_id": member, "member_epoch": 0, "topic_partitions": ()}
    values |= {"rebalance_timeout": timedelta(minutes=5), "subscribed_topic_names": tuple(names)}
    nothing = dict.fromkeys(["instance_id", "rack_id", "subscribed_topic_regex", "server_assignor"])
    return frame(entities.make(kind, **values, **nothing))


def sharing(group: str, names: list[str], member: str = "A" * 22) -> bytes:
    kind: Any = load_request_schema(76, 1)
    values: dict[str, Any] = {"group_id": group, "member_id": member, "member_epoch": 0, "rack_id": None}
    return frame(kind(**values, subscribed_topic_names=tuple(names)))


def reading(names: list[str]) -> bytes:
    kind: Any = load_request_schema(1, 12)
    topic = entities.part(kind, "topics")
    partition = entities.part(topic, "partitions")
    first = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "last_fetched_epoch": -1}
    asked = entities.make(partition, **first, log_start_offset=-1, partition_max_bytes=1000)
    values: dict[str, Any] = {"replica_id": -1, "max_wait": timedelta(0), "min_bytes": 0, "max_bytes": 1 << 20}
    values |= {"isolation_level": 0, "session_id": 0, "session_epoch": -1, "forgotten_topics_data": (), "rack_id": ""}
    return frame(entities.make(kind, topics=tuple(topic(topic=name, partitions=(asked,)) for name in names), **values))


def test_a_lag_that_no_long_holds_is_answered() -> None:
    """The start offset of a share group is altered to the least that there is."""

    async def told() -> tuple[bytes, list[Exception]]:
        world = Sockets(seed=1)
        await ServedCluster(world, topics={"orders": 1}).start()
        alter, asks = request_schema(91, 0), request_schema(90, 1)
        topic = entities.part(alter, "topics")
        offset = entities.part(topic, "partitions")(partition_index=0, start_offset=-(2**63))
        wire = Wire(world, "broker-1")
        wire.put(frame(alter(group_id="g", topics=(topic(topic_name="orders", partitions=(offset,)),))))  # type: ignore[call-arg]
        answer = wire.put(frame(asks(groups=(entities.part(asks, "groups")(group_id="g", topics=None),))))  # type: ignore[call-arg]
        failures = list(world.failures)
        await world.close()
        return answer, failures

    answer, failures = asyncio.run(told())
    assert failures == []
    assert pack(">q", -(2**63)) in answer


def test_what_clients_bring_into_being_is_bounded() -> None:
    async def told() -> None:
        world = Sockets(seed=1)
        cluster = ServedCluster(world, server=ServerSettings(topics_created_at_once=10, most_topics=25))
        await cluster.start()
        wire = Wire(world, "broker-1")
        for expected in (10, 20, 25, 25):
            wire.put(metadata([f"t{number}" for number in range(40) if f"t{number}" not in cluster.record.topics()]))
            assert len(cluster.record.topics()) == expected
        await world.close()

    asyncio.run(told())


def test_requests_that_wait_at_a_broker_are_bounded_together(caplog: pytest.LogCaptureFixture) -> None:
    async def told() -> None:
        world = Sockets(seed=1, limits=Limits(waiting=5_000_000))
        await ServedCluster(world).start()
        wires = [Wire(world, "broker-1") for _ in range(4)]
        for wire in wires:
            wire.put(pack(">i", 30_000_000) + bytes(1_500_000))
        assert [wire.transport.closed for wire in wires] == [False, False, False, True]
        assert len(wires[0].put(b"")) == 0
        await world.close()

    asyncio.run(told())
    assert "6000016 bytes of requests wait here, more than 5000000" in caplog.text


def committing(topics: dict[str, int]) -> bytes:
    commit: Any = load_request_schema(8, 8)
    topic = entities.part(commit, "topics")
    part = entities.part(topic, "partitions")
    values = {"committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": None}
    listed = [
        topic(name=name, partitions=tuple([entities.make(part, partition_index=at, **values) for at in range(count)]))
        for name, count in topics.items()
    ]
    who: dict[str, Any] = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": ""}
    return frame(entities.make(commit, **who, group_instance_id=None, topics=tuple(listed)))


def test_others_have_their_turn_between_the_steps_of_a_long_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit of 200 partitions is read, handled and answered in turns of their own: a ListGroups that comes after it
    over another connection is answered first. The clock shows at every look that others should have their turn."""

    async def told() -> tuple[bytes, bytes, int]:
        world = Sockets(seed=1)
        await ServedCluster(world, topics={"wide": 200}).start()
        busy, other = Wire(world, "broker-1"), Wire(world, "broker-1")
        times = iter(range(1_000_000))
        monkeypatch.setattr(world.loop, "time", lambda: float(next(times)))
        turns, first = 0, busy.put(committing({"wide": 200}))
        second = other.put(frame(entities.make(load_request_schema(16, 4), states_filter=())))
        while not (other.transport.written and busy.transport.written):
            await asyncio.sleep(0)
            turns += 1
            assert other.transport.written or not busy.transport.written
        monkeypatch.undo()
        await world.close()
        return first, second, turns

    first, second, turns = asyncio.run(told())
    assert (first, second) == (b"", b"")
    assert turns >= 4


@rows(
    ("requests_of", "most"),
    [
        (lambda names: [subscribing("g", names)], 12),
        (lambda names: [reading(names)], 17),
        (lambda names: [committing(dict.fromkeys(names, 1))], 28),
        (lambda names: [metadata(names)], 11),
        (lambda names: [sharing("g", names), sharing("g", names), sharing("g", names, "B" * 22)], 12),
    ],
)
def test_no_turn_of_a_long_request_does_more_than_a_part_of_its_work(
    requests_of: Callable[[list[str]], list[bytes]], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls of functions per topic, all together 95 to 245, in the longest turn of these requests, of which a later one
    deals what a share group is assigned: that is for how long one request keeps the others waiting. The clock shows at
    every look that others should have their turn."""
    names = [f"topic-number-{number:05d}" for number in range(1_500)]

    async def counted() -> list[int]:
        world, turns = Sockets(seed=1), list[int]()
        settings = {"group.share.assignment.interval.ms": 0}
        await ServedCluster(world, topics=dict.fromkeys(names, 1), settings=settings).start()
        wire, times = Wire(world, "broker-1"), iter(range(1_000_000))
        monkeypatch.setattr(world.loop, "time", lambda: float(next(times)))

        with counted_calls() as calls:
            for content in requests_of(names):
                calls.count = 0
                wire.put(content)
                turns.append(calls.count)
                while not wire.transport.written:
                    calls.count = 0
                    await asyncio.sleep(0)
                    turns.append(calls.count)
        monkeypatch.undo()
        assert world.failures == []
        await world.close()
        return turns

    assert 5 < max(asyncio.run(counted())) / len(names) < most
