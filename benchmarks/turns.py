"""For how long one request keeps all other clients of a served Kafka broker waiting: the longest turn of the loop,
in CPU milliseconds, without the garbage collector (`equipoise serve` freezes what is loaded).

Peer: none. Budget: 50 ms, at 20,000 topics (10,000 where a request names partitions, because a frame holds 21,000 items
at most) and at 5,000 members of a group. Every API is asked that can name many things.

Part of `benchmarks.serving`.
"""

import asyncio
import gc
import socket
from asyncio.events import Handle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import timedelta
from struct import pack
from time import thread_time
from types import UnionType
from typing import Any, get_args, get_origin
from uuid import UUID

from kio.serial import entity_reader
from tabulate import tabulate

from kafka_coordinator.coordinator.group import session_timer
from kafka_coordinator.coordinator.rebalance import join_timer
from kafka_coordinator.wire.apis import APIS
from kafka_coordinator.wire.entities import make, part, response
from kafka_coordinator.wire.records.batches import NewRecord, batch
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

        def ask() -> None:
            for wire, content in zip(wires, frames, strict=True):
                wire.transport.written.clear()
                asyncio.get_running_loop().call_soon(wire.connection.data_received, content)

        waited = list(answered)
        found = await self.until(lambda: all(wire.transport.written or wire.transport.closed for wire in waited), ask)
        assert not any(wire.transport.closed for wire in waited)
        return found

    async def until(self, done: Callable[[], bool], begin: Callable[[], object]) -> list[str]:
        """Longest turn and all of them until it is done."""
        gc.collect()
        gc.disable()
        self.took.clear()
        begin()
        while not done():
            await asyncio.sleep(0)
        gc.enable()
        return [f"{max(self.took):.0f}", f"{sum(self.took):.0f}"]


def joining(group: str, names: list[str], member_id: str = "") -> bytes:
    kind: Any = request_schema(11, 3)
    subscription = pack(">hi", 0, len(names)) + b"".join(map(text, names)) + pack(">i", -1)
    protocol = part(kind, "protocols")(name="range", metadata=subscription)
    who: dict[str, Any] = {
        "group_id": group,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": (protocol,),
    }
    return frame(kind(session_timeout=_MINUTE, rebalance_timeout=_MINUTE, **who))


def show(rows: list[list[str]]) -> None:
    print(
        tabulate(rows, headers=[f"longest turn (CPU ms, at most {MOST_MS})", "all turns", "request"], tablefmt="simple")
    )


async def _topics(turns: Turns) -> list[list[str]]:
    names = [f"topic-number-{number:05d}" for number in range(TOPICS)]
    half = names[: TOPICS // 2]
    world = Sockets(seed=1)
    cluster = ServedCluster(world, topics={**dict.fromkeys(names, 1), "wide": 1}, settings=_AT_ONCE)
    await cluster.start()
    ids = cluster.record.ids()
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
        **{label: naming(names, ids, *how) for label, how in _MANY.items()},
    }
    rows = []
    for name, content in asked.items():
        wire = Wire(world, "broker-1")
        rows.append([*await turns.of([wire], [content], [wire]), name])
    await world.close()
    return rows


_TOPIC = ("name", "topic", "topic_name", "resource_name")
_SHARER = {"group_id": "share", "member_id": "A" * 22, "max_records": 100, "max_bytes": 1 << 20, "batch_size": 100}
_WRITER = {"producer_id": 0, "producer_epoch": 0, "transactional_id": "t"}
_CONFIG = {"name": "retention.ms", "value": "1000"}
_NEW = {"num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
_MANY: Mapping[str, tuple[int, str, Mapping[str, object]]] = {
    "Produce": (0, "topic_data", {"records": batch([NewRecord(b"x")]), "acks": -1}),
    "Fetch by topic id": (1, "topics", {"session_epoch": -1, "max_bytes": 1 << 20, "partition_max_bytes": 1000}),
    "the same in a session": (1, "topics", {"max_bytes": 1 << 20, "partition_max_bytes": 1000}),
    "Fetch that forgets": (1, "forgotten_topics_data", {"session_id": 1, "session_epoch": 1}),
    "ListOffsets": (2, "topics", {"timestamp": -1}),
    "OffsetCommit by topic id": (8, "topics", {"group_id": "g", "generation_id_or_member_epoch": -1}),
    "OffsetFetch of topics": (9, "topics", {"group_id": "g"}),
    "OffsetFetch of groups, one of them with offsets": (9, "groups", {"topics": None}),
    "FindCoordinator": (10, "coordinator_keys", {}),
    "JoinGroup with protocols": (11, "protocols", {"group_id": "j", "session_timeout": _MINUTE, "member_id": ""}),
    "LeaveGroup": (13, "members", {"group_id": "classic"}),
    "SyncGroup that names nobody": (14, "assignments", {"group_id": "classic"}),
    "DescribeGroups": (15, "groups", {}),
    "ListGroups": (16, "states_filter", {}),
    "OffsetForLeaderEpoch": (23, "topics", {}),
    "InitProducerId": (22, "", {**_WRITER, "producer_id": -1, "producer_epoch": -1, "transaction_timeout": _MINUTE}),
    "AddPartitionsToTxn": (24, "topics", _WRITER),
    "AddPartitionsToTxn of transactions": (24, "transactions", {}),
    "WriteTxnMarkers": (27, "markers", {}),
    "TxnOffsetCommit": (28, "topics", {**_WRITER, "group_id": "g", "generation_id": -1}),
    "CreateAcls": (30, "creations", {}),
    "DeleteAcls": (31, "filters", {}),
    "DescribeConfigs": (32, "resources", {"resource_type": 2, "configuration_keys": None}),
    "AlterConfigs that checks": (33, "resources", {"resource_type": 2, "validate_only": True, "configs": ()}),
    "IncrementalAlterConfigs that checks": (44, "resources", {"resource_type": 2, "validate_only": True, **_CONFIG}),
    "CreateTopics that checks": (19, "topics", {**_NEW, "name": "n-{}".format, "validate_only": True}),
    "CreateTopics": (19, "topics", {**_NEW, "name": "n-{}".format}),
    "CreatePartitions that checks": (37, "topics", {"count": 2, "validate_only": True, "assignments": None}),
    "OffsetDelete": (47, "topics", {"group_id": "g"}),
    "DescribeProducers": (61, "topics", {}),
    "DescribeTransactions": (65, "transactional_ids", {}),
    "ListTransactions": (66, "producer_id_filters", {}),
    "ConsumerGroupDescribe of groups": (69, "group_ids", {}),
    "DescribeTopicPartitions": (75, "topics", {"response_partition_limit": 2000, "cursor": None}),
    "ShareGroupDescribe of groups": (77, "group_ids", {}),
    "ShareFetch, the first": (78, "topics", {**_SHARER, "acknowledgement_batches": ()}),
    "the next one": (78, "topics", {**_SHARER, "acknowledgement_batches": (), "share_session_epoch": 1}),
    "ShareAcknowledge": (79, "topics", {**_SHARER, "share_session_epoch": 2, "acknowledge_types": (1,)}),
    "ShareFetch that forgets": (78, "forgotten_topics_data", {**_SHARER, "share_session_epoch": 3}),
    "DescribeShareGroupOffsets": (90, "topics", {"group_id": "share"}),
    "DescribeShareGroupOffsets of groups": (90, "groups", {"topics": None}),
    "AlterShareGroupOffsets": (91, "topics", {"group_id": "other share"}),
    "DeleteShareGroupOffsets": (92, "topics", {"group_id": "other share"}),
    "DeleteGroups": (42, "groups_names", {}),
    "DeleteRecords": (21, "topics", {}),
    "CreatePartitions of one topic": (37, "", {"name": "wide", "count": TOPICS // 2 + 1, "assignments": None}),
    "CreateTopics of one with many": (19, "", {**_NEW, "name": "broad", "num_partitions": TOPICS // 2}),
    "CreateTopics of one more": (19, "", {**_NEW, "name": "more"}),
    "Metadata of the topic with many": (3, "", {"name": "broad"}),
    "DeleteTopics": (20, "topics", {"topic_id": None}),
}
"""What is asked to the API, its field that has many items, and values of other fields."""


def naming(names: Sequence[str], ids: Mapping[str, UUID], key: int, wide: str, values: Mapping[str, object]) -> bytes:
    """A request of the newest version that names so many topics, groups or members in one of its fields, and one thing
    in each of the others: all in all as many items as there are names."""

    def arrays(kind: Any) -> int:
        if get_origin(kind) is tuple:
            return 1 + arrays(get_args(kind)[0])
        parts = fields(kind) if is_dataclass(kind) else ()
        return sum(arrays(each.type) for each in parts if each.name not in values or values[each.name])

    def entity(kind: Any, at: int) -> Any:
        return kind(**{each.name: value(each, each.type, at) for each in fields(kind) if "tag" not in each.metadata})

    def value(field: Any, kind: Any, at: int) -> Any:
        if field.name in values:
            found = values[field.name]
            return found(at) if callable(found) else found
        if get_origin(kind) is UnionType or type(None) in get_args(kind):
            kind = next(each for each in get_args(kind) if each is not type(None))
        if get_origin(kind) is tuple:
            (item, *_) = get_args(kind)
            places = range(len(names) // (1 + arrays(item))) if field.name == wide else range(at, at + 1)
            return tuple([value(field, item, place) for place in places])
        if is_dataclass(kind):
            return entity(kind, at)
        kafka_type = field.metadata.get("kafka_type", "")
        if kafka_type == "uuid":
            return ids[names[at]]
        if kafka_type == "string":
            return names[at] if field.name in _TOPIC else f"{field.name}-{at}"
        plain = {"bytes": b"", "records": b"", "bool": False, "timedelta_i32": timedelta(0)}
        return plain.get(kafka_type, 0)

    schema = request_schema(key, APIS[key].versions[1])
    return frame(entity(schema, 0))


def _describing(key: int, group: str) -> bytes:
    values = {"group_ids": (group,), "groups": (group,), "include_authorized_operations": False}
    return frame(make(request_schema(key, {15: 5, 69: 1, 77: 1}[key]), **values))


_AT_ONCE = {"group.initial.rebalance.delay.ms": 0, "group.share.assignment.interval.ms": 0}


async def _members(turns: Turns) -> list[list[str]]:
    world = Sockets(seed=1, limits=Limits(connections=4 * MEMBERS))
    most = {"group.initial.rebalance.delay.ms": 1000, "group.consumer.max.size": MEMBERS}
    cluster = ServedCluster(world, topics={"orders": MEMBERS}, settings=most)
    await cluster.start()
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
    rows += await _ends(turns, world, cluster, wires, answers)
    await world.close()
    return rows


async def _ends(
    turns: Turns, world: Sockets, cluster: ServedCluster, wires: Sequence[Wire], joined: Sequence[Any]
) -> list[list[str]]:
    """Heartbeats of all on one socket; a rebalance that times out; groups whose sessions end together."""
    process, core = world.processes["broker-1"], cluster.states["broker-1"].broker.coordinator.core
    beat, busy, loop = request_schema(12, 3), wires[0], asyncio.get_running_loop()
    values = {"group_id": "classic", "group_instance_id": None}
    frames = [
        frame(make(beat, generation_id=each.generation_id, member_id=each.member_id, **values)) for each in joined
    ]
    busy.transport.written.clear()
    sent = b"".join(frames)
    answered = len(busy.put(frames[0])) * (MEMBERS + 1)
    queued = await turns.until(
        lambda: sum(map(len, busy.transport.written)) >= answered,
        lambda: loop.call_soon(busy.connection.data_received, sent),
    )
    rows = [[*queued, "Heartbeat of all on one connection"]]
    group = core.groups["classic"]
    half = [(wire, each.member_id) for wire, each in zip(wires, joined, strict=True)][: MEMBERS // 2]
    for wire, member_id in half:
        wire.put(joining("classic", ["orders"], member_id))
    late = await turns.until(
        lambda: all(wire.transport.written for wire, _ in half),
        lambda: process.set_timer(join_timer(group), world.tell_time()),
    )
    rows.append([*late, "a rebalance that times out, half of them back"])
    for name, members in (("classic", group.members), ("consumer", core.consumer_groups["consumer"].members)):

        def expire(name: str = name, members: Iterable[str] = members) -> None:
            for member_id in list(members):
                process.set_timer(session_timer(name, member_id), world.tell_time())

        over = await turns.until(lambda members=members: not members, expire)  # type: ignore[misc]
        rows.append([*over, f"end of all sessions of the {name} group"])
        asks = Wire(world, "broker-1")
        delete = frame(make(request_schema(42, 2), groups_names=(name,)))
        rows.append([*await turns.of([asks], [delete], [asks]), "DeleteGroups"])
    return rows


async def _waiting(turns: Turns) -> list[list[str]]:
    """A record that the fetches of all wait for."""
    world = Sockets(seed=1, limits=Limits(connections=4 * MEMBERS))
    cluster = ServedCluster(world, topics={"orders": 1})
    await cluster.start()
    wires, ids = [Wire(world, "broker-1") for _ in range(MEMBERS)], cluster.record.ids()
    asked = {"session_epoch": -1, "max_bytes": 1 << 20, "partition_max_bytes": 1000, "max_wait": _MINUTE}
    asked |= {"min_bytes": 1, "forgotten_topics_data": ()}
    for wire in wires:
        wire.put(naming(["orders"] * 2, ids, 1, "topics", asked))
    written = {"records": batch([NewRecord(b"x")]), "acks": -1}
    sends = Wire(world, "broker-1")
    found = await turns.until(
        lambda: all(wire.transport.written for wire in wires),
        lambda: asyncio.get_running_loop().call_soon(
            sends.connection.data_received, naming(["orders"] * 4, ids, 0, "topic_data", written)
        ),
    )
    await world.close()
    return [[*found, "Produce of what all wait for"]]


async def _sizes(turns: Turns) -> list[list[str]]:
    """Long requests and answers, on a socket."""
    world = Sockets(seed=1)
    cluster = ServedCluster(world, topics={"orders": 1})
    await cluster.start()
    address, ids = cluster.addresses["broker-1"], cluster.record.ids()
    written = {"records": batch([NewRecord(b"x" * 900_000)]), "acks": -1}
    asked = {"session_epoch": -1, "max_bytes": 1 << 26, "partition_max_bytes": 1 << 26}
    requests = {
        "Produce of 32 MB": naming(["orders"] * 72, ids, 0, "topic_data", written),
        "Fetch of 32 MB": naming(["orders"] * 2, ids, 1, "topics", asked),
    }

    def exchange(sent: bytes) -> None:
        with socket.create_connection((address.host, address.port)) as connection:
            connection.sendall(sent)
            left = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
            while left:
                left -= len(connection.recv(min(left, 1 << 20)))

    rows, loop = [], asyncio.get_running_loop()
    for name, sent in requests.items():
        answers: list[asyncio.Future[None]] = []
        found = await turns.until(
            lambda answers=answers: answers[0].done(),  # type: ignore[misc]
            lambda sent=sent, answers=answers: answers.append(loop.run_in_executor(None, exchange, sent)),  # type: ignore[misc]
        )
        await answers[0]
        rows.append([*found, name])
    await world.close()
    return rows


def turns() -> None:
    for rows in (_topics, _members, _waiting, _sizes):
        show(asyncio.run(rows(Turns())))
