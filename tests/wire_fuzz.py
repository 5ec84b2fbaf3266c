"""Random and mutated frames against a served broker of this process, as a program of its own: a frame that ends a
process must not end the test that sends it.

    python -m tests.wire_fuzz kafka|shares|rocketmq|name-server|proxy SEED FRAMES

prints, as JSON, how many frames were ``taken`` for requests and how many ended their connection (``refused``), the
longest time that one took (``most_ms`` of processor time, and the ``slowest`` frame), the process's peak memory
(``peak_mb``) and what the nodes raised (``faults``).
"""

import asyncio
import json
import logging
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from struct import pack
from time import process_time
from typing import Any, Final, TypeAlias
from uuid import UUID

from kafka_coordinator.share.settings import DEAD_LETTERS
from kafka_coordinator.wire.dead_letters import COPIES, ENABLED
from kafka_coordinator.wire.entities import part
from kafka_coordinator.wire.records.batches import NewRecord, batch, header_of
from kafka_coordinator.wire.records.storage import TOPIC_CONFIG
from kafka_coordinator.wire.served import Operations, ServedCluster
from protocols.engine.sockets import Sockets
from rocketmq_selfbalance.remoting import BINARY, JSON, Frame, encode
from rocketmq_selfbalance.wire import requests
from rocketmq_selfbalance.wire.cluster import RocketMQCluster
from tests.kafka_coordinator.wire.frames_made import VERSIONS, any_entity, any_request, frame
from tests.rocketmq_selfbalance.grpc import frames_made
from tests.wire_connections import Wire

LONG_MS: Final = 20.0
PER_WORLD: Final = 10_000
"""Frames until everything begins anew, so that what earlier ones have made does not count for later ones."""

EXTREMES: Final = (
    *(b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x7f", b"\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x10", b"\xff\x7f"),
    *(b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x10\x00\x00\x00"),
    *(b"\x7f\xff", b"\x80\x00", b"\xff\xff", b"\x00", b"\x01", b"\xff" * 9, b"\x80" * 12),
    *(b"99999999999999999999", b"-1", b"1e999", b"[" * 200, b'{"a":' * 50, b'"', b"null", b"\\ud800"),
)


def mutated(content: bytes, random: Random) -> bytes:
    """The bytes with one to three things wrong."""
    changed = bytearray(content)
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(changed) + 1)
        how = random.randrange(6)
        if how == 0 and changed:
            changed[at - 1] ^= 1 << random.randrange(8)
        elif how == 1:
            del changed[at:]
        elif how == 2:
            extreme = random.choice(EXTREMES)
            changed[at : at + len(extreme)] = extreme
        elif how == 3:
            changed[at:at] = random.choice(EXTREMES)
        elif how == 4:
            changed[at:at] = random.randbytes(random.randrange(1, 30))
        else:
            begin = random.randrange(len(changed) + 1)
            changed[at:at] = changed[begin : begin + random.randrange(40)]
    return bytes(changed)


def kafka_frame(random: Random) -> bytes:
    """A request of any API and version, most often with something wrong behind its length."""
    return damaged(any_request(*random.choice(VERSIONS), random), random)


def damaged(request: Any, random: Random) -> bytes:
    """The request's frame, most often with something wrong behind its length."""
    content = frame(request)[4:]
    how = random.randrange(20)
    if how == 0:
        return pack(">i", random.choice((-1, 2**31 - 1, -(2**31), len(content) - 1))) + content
    if how == 1:
        content = random.randbytes(random.randrange(60))
    elif how == 2:
        content = pack(">hh", random.randrange(-5, 200), random.randrange(-5, 40)) + content[4:]
    elif how > 4:
        content = content[:8] + mutated(content[8:], random)
    return pack(">i", len(content)) + content


SHARES: Final = [each for each in VERSIONS if each[0] in (76, 78, 79)]
"""ShareGroupHeartbeat, ShareFetch and ShareAcknowledge."""


class Members:
    """Two members of a share group, who name themselves and their sessions right more often than not: what they say
    gets far."""

    def __init__(self, topic_id: UUID) -> None:
        self._topic_id = topic_id
        self._epochs = {"m": -1, "n": -1}

    def frame(self, random: Random) -> bytes:
        """What one of them says, right or wrong."""
        key, version = random.choice(SHARES)
        request = any_request(key, version, random)
        member, given = random.choice("mn"), {field.name for field in fields(request)}
        right: dict[str, Any] = {"group_id": "g", "member_id": member}
        if "member_epoch" in given:
            right |= {"member_epoch": random.choice((0, 0, -1, 2)), "subscribed_topic_names": ("orders",)}
        if "share_session_epoch" in given:
            self._epochs[member] = random.choice((self._epochs[member] + 1,) * 4 + (0, -1))
            right |= {"share_session_epoch": self._epochs[member], "topics": self._topics(request, random)}
        right |= {"max_wait": timedelta(0)} if "max_wait" in given else {}
        if random.random() < 0.8:
            request = replace(request, **right)
        return frame(request) if random.random() < 0.5 else damaged(request, random)

    def _topics(self, request: Any, random: Random) -> tuple[Any, ...]:
        topic = part(type(request), "topics")
        row = part(topic, "partitions")
        batch = part(row, "acknowledgement_batches")
        rows = []
        for number in random.sample(range(3), random.randrange(1, 4)):
            first = random.randrange(-1, 60)
            last = first + random.choice((0, 0, 1, 7, -2, 2**40))
            types = tuple([random.randrange(-1, 6) for _ in range(random.choice((1, 1, 2)))])
            batches = (batch(first_offset=first, last_offset=last, acknowledge_types=types),)
            made = any_entity(row, random)
            rows.append(replace(made, partition_index=number, acknowledgement_batches=batches[: random.randrange(2)]))
        return (topic(topic_id=self._topic_id, partitions=tuple(rows)),)


NAMES: Final = (
    *("topic", "consumerGroup", "queueId", "queueOffset", "maxMsgNums", "sysFlag", "commitOffset", "subscription"),
    *("suspendTimeoutMillis", "clientID", "timestamp", "brokerName", "clusterName", "brokerAddr", "brokerId", "group"),
    *("offset", "delayLevel", "readQueueNums", "writeQueueNums", "perm", "key", "namespace", "compressed", "bodyCrc32"),
    *("producerGroup", "defaultTopic", "bornTimestamp", "flag", "properties", "a", "b", "c", "d", "e", "f", "g", "h"),
    *("extraInfo", "invisibleTime", "pollTime", "initMode", "exp", "order", "attemptId", "suspend"),
    *("i", "j", "l", "m", "maxMsgBytes", "expressionType", "beginTimestamp", "endTimestamp", "groupName", "subVersion"),
)
VALUES: Final = (
    *("orders", "g", "0", "1", "2", "5", "-1", "true", "false", "*", "a || b", "%RETRY%g", "TBW102", "x" * 300),
    *("0 1700000000000 60000 1 0 broker-a 0 0", "0 5 -1 999 1 b 0 9223372036854775807"),
    *("9223372036854775807", "-9223372036854775809", "2147483647", "99999999", "", "1.5", "ü", "127.0.0.1:10911"),
)
POPPING: Final = {
    "maxMsgNums": "4",
    "invisibleTime": "5",
    "pollTime": "0",
    "offset": "0",
    "extraInfo": "0 1700000000000 5 1 0 broker-a 0 0",
}
_QUEUE = {"topic": "orders", "brokerName": "broker-a", "queueId": 0}
BODIES: Final = (
    b"",
    b"{}",
    json.dumps(
        {
            "clientID": "c1",
            "consumerDataSet": [
                {
                    "groupName": "g",
                    "consumeType": "CONSUME_PASSIVELY",
                    "messageModel": "CLUSTERING",
                    "subscriptionDataSet": [{"topic": "orders", "subString": "*", "subVersion": 5}],
                }
            ],
            "producerDataSet": [{"groupName": "p"}],
            "heartbeatFingerprint": 7,
        }
    ).encode(),
    json.dumps({"consumerGroup": "g", "clientId": "c1", "mqSet": [_QUEUE]}).encode(),
    json.dumps({"groupName": "g", "retryQueueNums": 1}).encode(),
    json.dumps(
        {"topic": "orders", "consumerGroup": "g", "clientId": "c1", "strategyName": "AVG", "mode": "POP"}
    ).encode(),
    json.dumps(
        {"acks": [{"c": "g", "t": "orders", "so": 0, "q": 0, "rq": 1, "pt": 5, "it": 60000, "b": "Bw=="}]}
    ).encode(),
    b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"t":{"readQueueNums":4}},"dataVersion":{"counter":1}}}',
    b"\x00\x00\x00\x2f\xda\xa3\x20\xa7\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05hello\x00\x00",
)


def rocketmq_frame(codes: tuple[int, ...], random: Random) -> bytes:
    """A request that a server knows, most often with something wrong in its header or its body."""
    fields = {name: random.choice(VALUES) for name in random.sample(NAMES, random.randrange(30))}
    fields |= {"topic": "orders", "queueId": "0", "consumerGroup": "g"} if random.random() < 0.6 else {}
    fields |= POPPING if random.random() < 0.2 else {}
    body, form = random.choice(BODIES), random.choice((JSON, BINARY))
    code = random.choice(codes) if random.random() < 0.95 else random.randrange(-10, 1000)
    form = JSON if code >= 1 << 15 else form  # the other form has two bytes for it
    raw = encode(Frame(code, random.randrange(100), fields, body, flag=random.choice((0, 0, 0, 2, 1)), form=form))
    how = random.randrange(20)
    if how == 0:
        return pack(">i", random.choice((-1, 0, 3, 2**31 - 1, len(raw) - 5))) + raw[4:]
    if how == 1:
        return raw[:4] + random.randbytes(4) + raw[8:]
    if how == 2:
        raw = raw[:4] + random.randbytes(random.randrange(60))
    elif how > 5:
        header = 8 + int.from_bytes(raw[5:8])
        head, tail = raw[8:header], raw[header:]
        head, tail = (mutated(head, random), tail) if random.random() < 0.6 else (head, mutated(tail, random))
        raw = raw[:5] + len(head).to_bytes(3) + head + tail
    return pack(">i", len(raw) - 4) + raw[4:]


Talk: TypeAlias = tuple[str, Callable[[Random], bytes]]
"""Whom frames go to, and what makes them."""


async def kafka(world: Sockets) -> Talk:
    settings = {"group.initial.rebalance.delay.ms": 0}
    await ServedCluster(world, topics={"orders": 6}, settings=settings).start()
    return "broker-1", kafka_frame


async def shares(world: Sockets) -> Talk:
    cluster = ServedCluster(world, topics={"orders": 2, "dead": 1})
    await cluster.start()
    cluster.record.set_config(TOPIC_CONFIG, "dead", {ENABLED: "true"})
    own = {"share.auto.offset.reset": "earliest", DEAD_LETTERS: "dead", COPIES: "true"}
    Operations(cluster).configure_group("g", own)
    state = cluster.states["broker-1"]
    for number in range(2):
        content = batch([NewRecord(b"value", b"key")] * 5)
        for _ in range(200):
            state.storage.log("orders", number).append(content, header_of(content))
    return "broker-1", Members(state.topic_ids["orders"]).frame


async def rocketmq(world: Sockets) -> Talk:
    await RocketMQCluster.start(world, epoch_ms=1_700_000_000_000.0, topics={"orders": {"broker-a": 2}})
    return "broker-a", partial(rocketmq_frame, tuple(requests.BROKER))


async def name_server(world: Sockets) -> Talk:
    await rocketmq(world)
    return "namesrv", partial(rocketmq_frame, tuple(requests.NAME_SERVER))


async def proxy(world: Sockets) -> Talk:
    cluster = await RocketMQCluster.start(world, epoch_ms=1_700_000_000_000.0, topics={"orders": {"broker-a": 2}})
    cluster.create_topic("orders", {"broker-a": 2}, "MIXED")
    await cluster.start_proxy()
    return "proxy", lambda random: frames_made.any_call(random, mutated)


SERVERS: Final = {"kafka": kafka, "shares": shares, "rocketmq": rocketmq, "name-server": name_server, "proxy": proxy}
PREFACES: Final = {"proxy": frames_made.PREFACE}
"""What a connection begins with."""


def taken(wire: Wire, sent: bytes) -> float:
    """Milliseconds of processor time until the frame is handled."""
    began = process_time()
    wire.put(sent)
    return (process_time() - began) * 1000


async def fuzzed(server: str, seed: int, frames: int) -> dict[str, object]:
    """What came of it."""
    random = Random(f"{server} {seed}")
    refused, slowest, faults = 0, (0.0, b""), list[str]()
    for first in range(0, frames, PER_WORLD):
        world = Sockets(seed=seed)
        name, made = await SERVERS[server](world)
        wire = begun(world, server, name)
        for _ in range(min(PER_WORLD, frames - first)):
            sent = made(random)
            took = taken(wire, sent)
            if took > LONG_MS:  # a pause of the machine or of the garbage collector does not come twice
                took = min(took, taken(Wire(world, name), sent))
            slowest = max(slowest, (took, sent))
            refused += wire.transport.closed
            if wire.transport.closed or wire.transport.written == [] or random.random() < 0.1:
                wire.close()  # as a client that was refused, or that left in the middle of a frame or of a request
                wire = begun(world, server, name)
            if random.random() < 0.01:
                await asyncio.sleep(0)
        wire.close()
        faults += map(repr, world.failures)
        await world.close()
    return {
        "taken": frames - refused,
        "refused": refused,
        "most_ms": round(slowest[0], 1),
        "slowest": slowest[1][:300].hex(),
        "peak_mb": peak_mb(),
        "faults": faults,
    }


def begun(world: Sockets, server: str, name: str) -> Wire:
    """A new connection."""
    wire = Wire(world, name)
    if server in PREFACES:
        wire.put(PREFACES[server])
    return wire


def peak_mb() -> int:
    """Of this program: what `getrusage` tells includes the memory of the process that started it."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) // 1024


if __name__ == "__main__":
    logging.disable()
    print(json.dumps(asyncio.run(fuzzed(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))
