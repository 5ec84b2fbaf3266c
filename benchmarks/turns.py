"""For how long one request keeps all other clients of a served Kafka broker waiting: the longest turn of the loop,
in CPU milliseconds, without the garbage collector (`equipoise serve` freezes what is loaded).

Peer: none. Budget: 50 ms, at 20,000 topics (10,000 where a request names partitions, because a frame holds 21,000 items
at most) and at 5,000 members of a group.

Part of `benchmarks.serving`.
"""

import asyncio
import gc
from asyncio.events import Handle
from collections.abc import Iterable
from datetime import timedelta
from struct import pack
from time import thread_time
from typing import Any

from kio.serial import entity_reader
from tabulate import tabulate

from kafka_coordinator.wire.entities import make, part, response
from kafka_coordinator.wire.schemas import request_schema
from kafka_coordinator.wire.served import ServedCluster
from protocols.engine.sockets import Limits, Sockets
from tests.kafka_coordinator.wire.frames_made import frame
from tests.kafka_coordinator.wire.load import text
from tests.kafka_coordinator.wire.test_robustness import committing, metadata, reading, sharing, subscribing
from tests.wire_connections import Wire

TOPICS, MEMBERS, MOST_MS = 20_000, 5_000, 50
_MINUTE = timedelta(minutes=1)


class Turns:
    """The turns of the event loop, but those of the benchmark's own task."""

    def __init__(self) -> None:
        self.took: list[float] = []
        run = Handle._run

        def timed(handle: Any) -> None:
            began = thread_time()
            run(handle)
            if "Task" not in repr(handle._callback):
                self.took.append(1000 * (thread_time() - began))

        Handle._run = timed  # type: ignore[method-assign]

    async def of(self, wires: Iterable[Wire], frames: Iterable[bytes], answered: Iterable[Wire]) -> list[str]:
        """Longest turn and all of them until these connections have been answered."""
        gc.collect()
        gc.disable()
        self.took.clear()
        for wire, content in zip(wires, frames, strict=True):
            wire.transport.written.clear()
            asyncio.get_running_loop().call_soon(wire.connection.data_received, content)
        for wire in answered:
            while not wire.transport.written and not wire.transport.closed:
                await asyncio.sleep(0)
        assert not any(wire.transport.closed for wire in answered)
        gc.enable()
        return [f"{max(self.took):.0f}", f"{sum(self.took):.0f}"]


def joining(group: str, names: list[str]) -> bytes:
    kind: Any = request_schema(11, 3)
    subscription = pack(">hi", 0, len(names)) + b"".join(map(text, names)) + pack(">i", -1)
    protocol = part(kind, "protocols")(name="range", metadata=subscription)
    who: dict[str, Any] = {"group_id": group, "member_id": "", "protocol_type": "consumer", "protocols": (protocol,)}
    return frame(kind(session_timeout=_MINUTE, rebalance_timeout=_MINUTE, **who))


def show(rows: list[list[str]]) -> None:
    print(
        tabulate(rows, headers=[f"longest turn (CPU ms, at most {MOST_MS})", "all turns", "request"], tablefmt="simple")
    )


async def _topics(turns: Turns) -> list[list[str]]:
    names = [f"topic-number-{number:05d}" for number in range(TOPICS)]
    half = names[: TOPICS // 2]
    world = Sockets(seed=1)
    await ServedCluster(world, topics=dict.fromkeys(names, 1), settings=_AT_ONCE).start()
    asked = {
        "Metadata of all": metadata(None),
        "Metadata of each": metadata(names),
        "JoinGroup of a lone member": joining("classic", names),
        "first ConsumerGroupHeartbeat": subscribing("consumer", names),
        "the same again": subscribing("consumer", names),
        "that of a second member": subscribing("consumer", names, "B" * 22),
        "ConsumerGroupDescribe": _describing(69, "consumer"),
        "first ShareGroupHeartbeat": sharing("share", names),
        "the next one, which deals partitions": sharing("share", names),
        "that of a second member of it": sharing("share", names, "B" * 22),
        "ShareGroupDescribe": _describing(77, "share"),
        f"Fetch of {len(half):,}": reading(half),
        f"OffsetCommit of {len(half):,}": committing(dict.fromkeys(half, 1)),
    }
    rows = []
    for name, content in asked.items():
        wire = Wire(world, "broker-1")
        rows.append([*await turns.of([wire], [content], [wire]), name])
    await world.close()
    return rows


def _describing(key: int, group: str) -> bytes:
    values = {"group_ids": (group,), "groups": (group,), "include_authorized_operations": False}
    return frame(make(request_schema(key, {15: 5, 69: 1, 77: 1}[key]), **values))


_AT_ONCE = {"group.initial.rebalance.delay.ms": 0, "group.share.assignment.interval.ms": 0}


async def _members(turns: Turns) -> list[list[str]]:
    world = Sockets(seed=1, limits=Limits(connections=4 * MEMBERS))
    most = {"group.initial.rebalance.delay.ms": 1000, "group.consumer.max.size": MEMBERS}
    await ServedCluster(world, topics={"orders": MEMBERS}, settings=most).start()
    wires = [Wire(world, "broker-1") for _ in range(MEMBERS)]
    rows = [[*await turns.of(wires, [joining("classic", ["orders"])] * MEMBERS, wires), "JoinGroup of all"]]
    read = entity_reader(response(11, 3))  # type: ignore[arg-type]
    answers: list[Any] = [read(b"".join(wire.transport.written), 8)[0] for wire in wires]
    kind: Any = request_schema(14, 2)
    own = pack(">hi", 0, 1) + text("orders") + pack(">iii", 1, 0, -1)
    shares = tuple([part(kind, "assignments")(member_id=each.member_id, assignment=own) for each in answers])
    frames = [
        frame(
            kind(
                group_id="classic",
                generation_id=each.generation_id,
                member_id=each.member_id,
                assignments=shares if each.members else (),
            )
        )
        for each in answers
    ]
    rows.append([*await turns.of(wires, frames, wires), "SyncGroup of all"])
    asks = Wire(world, "broker-1")
    rows.append([*await turns.of([asks], [_describing(15, "classic")], [asks]), "DescribeGroups"])
    others = [Wire(world, "broker-1") for _ in range(MEMBERS)]
    frames = [subscribing("consumer", ["orders"], f"{number:022d}") for number in range(MEMBERS)]
    rows.append([*await turns.of(others, frames, others), "first ConsumerGroupHeartbeat of each"])
    rows.append([*await turns.of([asks], [_describing(69, "consumer")], [asks]), "ConsumerGroupDescribe"])
    await world.close()
    return rows


def turns() -> None:
    for rows in (_topics, _members):
        show(asyncio.run(rows(Turns())))
