"""For how long one request keeps all other clients of a served RocketMQ waiting: the longest turn of the loop, in CPU
milliseconds, without the garbage collector.

Peer: none. Budget: 50 ms, at 20,000 topics and a topic of 20,000 queues (10,000 where a request names queues, because
a body has 1 MiB at most).

Part of `benchmarks.rocketmq_server`.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from struct import pack

from benchmarks.turns import Turns, show
from protocols.engine.sockets import Limits, Sockets
from rocketmq_selfbalance.broker.connections import SCAN
from rocketmq_selfbalance.broker.state import BrokerSettings
from rocketmq_selfbalance.proxy.definitions import MessageQueue, Resource, Settings, Subscription, duration
from rocketmq_selfbalance.proxy.node import NAME as PROXY
from rocketmq_selfbalance.proxy.protobuf import encode as protobuf
from rocketmq_selfbalance.proxy.requests import QueryRouteRequest, ReceiveMessageRequest, TelemetryCommand
from rocketmq_selfbalance.remoting import Frame, encode
from rocketmq_selfbalance.wire.cluster import NAME_SERVER, RocketMQCluster
from rocketmq_selfbalance.wire.served import Served
from tests.rocketmq_selfbalance.grpc.frames_made import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
    head,
    message,
)
from tests.wire_connections import Wire

TOPICS, QUEUES, NAMED, SUBSCRIBED, MEMBERS, SILENT = 20_000, 20_000, 10_000, 1_000, 1_000, 5_000
_BROKER = "broker-a"
_POP = {"consumerGroup": "p", "topic": "wide", "queueId": "-1", "maxMsgNums": "32", "invisibleTime": "60000"}
_POP |= {"pollTime": "0", "bornTime": "0", "initMode": "0", "exp": "*", "expType": "TAG"}
_WIDER = {"topic": "wider", "readQueueNums": f"{QUEUES}", "writeQueueNums": f"{QUEUES}", "perm": "6", "order": "false"}
_WIDER |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "defaultTopic": "TBW102"}
_QUEUE = {"consumerGroup": "g", "topic": "wide", "queueId": "1"}


def _beat(client: str, topics: Sequence[str]) -> object:
    told = {"groupName": "g", "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING"}
    subscriptions = [{"topic": topic, "subString": "*", "subVersion": 1} for topic in topics]
    consumer = {**told, "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "subscriptionDataSet": subscriptions}
    return {"clientID": client, "consumerDataSet": [consumer]}


def _asked(topics: Sequence[str]) -> Mapping[str, tuple[str, int, Mapping[str, str], object]]:
    """What is asked to its server, number, fields and body."""
    queues = [{"topic": "wide", "brokerName": _BROKER, "queueId": number} for number in range(NAMED)]
    locks = {"consumerGroup": "g", "clientId": "c0", "mqSet": queues}
    sharing = {"topic": "wide", "consumerGroup": "g", "clientId": "c0", "strategyName": "AVG"}
    return {
        f"heartbeat with {SUBSCRIBED:,} topics": (_BROKER, 34, {}, _beat("c0", topics[:SUBSCRIBED])),
        "that of a second member": (_BROKER, 34, {}, _beat("c1", topics[:SUBSCRIBED])),
        "that of a member that reads the topic": (_BROKER, 34, {}, _beat("c2", ["wide"])),
        "route": (NAME_SERVER, 105, {"topic": "wide"}, None),
        "cluster information": (NAME_SERVER, 106, {}, None),
        "all topics": (NAME_SERVER, 206, {}, None),
        "topics of the cluster": (NAME_SERVER, 224, {"cluster": "DefaultCluster"}, None),
        f"lock of {NAMED:,} queues": (_BROKER, 41, {}, locks),
        f"unlock of {NAMED:,} queues": (_BROKER, 42, {}, locks),
        "commit": (_BROKER, 15, {**_QUEUE, "commitOffset": "0"}, None),
        "query of an offset": (_BROKER, 14, _QUEUE, None),
        "settings of all topics": (_BROKER, 21, {}, None),
        "statistics of the topic": (_BROKER, 202, {"topic": "wide"}, None),
        "reset": (_BROKER, 222, {"topic": "wide", "group": "g", "timestamp": "0", "isForce": "true"}, None),
        "all offsets": (_BROKER, 43, {}, None),
        "progress of the group": (_BROKER, 208, {"consumerGroup": "g"}, None),
        "members": (_BROKER, 38, {"consumerGroup": "g"}, None),
        "groups of the topic": (_BROKER, 300, {"topic": "wide"}, None),
        "assignment": (_BROKER, 400, {}, {**sharing, "messageModel": "CLUSTERING"}),
        "POP": (_BROKER, 200050, {**_POP, "order": "false"}, None),
        "POP in order": (_BROKER, 200050, {**_POP, "order": "true"}, None),
        "another such topic": (_BROKER, 17, _WIDER, None),
        "deletion of the topic": (_BROKER, 215, {"topic": "wide"}, None),
        "deletion of the group": (_BROKER, 207, {"groupName": "g", "cleanOffset": "true"}, None),
    }


async def _rows(turns: Turns) -> list[list[str]]:
    names = [f"topic-number-{number:05d}" for number in range(TOPICS)]
    world = Sockets(seed=1)
    topics = {**{name: {_BROKER: 1} for name in names}, "wide": {_BROKER: QUEUES}}
    await RocketMQCluster.start(world, epoch_ms=0.0, topics=topics)
    rows, wires = [], []
    for label, (server, code, fields, body) in _asked(names).items():
        wires.append(wire := Wire(world, server))
        content = encode(Frame(code, 1, fields, b"" if body is None else json.dumps(body).encode()))
        rows.append([*await turns.of([wire], [content], [wire]), label])
    assert world.failures == []
    await world.close()
    return rows


_PULL = {"consumerGroup": "g", "topic": "orders", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32"}
_PULL |= {"sysFlag": "2", "commitOffset": "0", "suspendTimeoutMillis": "60000", "subVersion": "0", "subscription": "*"}
_SEND = {"a": "p", "b": "orders", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "5", "h": "0", "m": "false"}


async def _members(turns: Turns) -> list[list[str]]:
    """Members that wait for one record, are silent together, or go together."""
    world = Sockets(seed=1, limits=Limits(connections=4 * MEMBERS))
    cluster = await RocketMQCluster.start(world, epoch_ms=0.0, topics={"orders": {_BROKER: 1}})
    served, loop = cluster.broker(_BROKER), asyncio.get_running_loop()
    assert served is not None
    wires = [Wire(world, _BROKER) for _ in range(MEMBERS)]
    beats = [encode(Frame(34, 1, {}, json.dumps(_beat(f"c{at}", ["orders"])).encode())) for at in range(MEMBERS)]
    rows = [[*await turns.of(wires, beats, wires), "heartbeat of all, each of which all hear"]]
    asks = Wire(world, _BROKER)
    members = encode(Frame(38, 1, {"consumerGroup": "g"}, b""))
    rows.append([*await turns.of([asks], [members], [asks]), "members"])
    for wire in wires:
        wire.put(encode(Frame(11, 2, _PULL, b"")))
    while sum(map(len, served.broker.held.values())) < MEMBERS:
        await asyncio.sleep(0)
    sent = encode(Frame(310, 3, _SEND, b"x"))
    woken = await turns.until(
        lambda: not served.broker.held, lambda: loop.call_soon(asks.connection.data_received, sent)
    )
    rows.append([*woken, "record that all wait for"])
    rows.append(await _half_silent(turns, world, served))
    gone = await turns.until(lambda: not served.places, lambda: [wire.close() for wire in wires])
    rows.append([*gone, "the others closed"])
    assert world.failures == []
    await world.close()
    return rows


async def _silent(turns: Turns) -> list[list[str]]:
    """Many members without any notice, half of whom are silent together."""
    world = Sockets(seed=1, limits=Limits(connections=4 * SILENT))
    settings = BrokerSettings(notify_consumer_ids_changed_enable=False)
    cluster = await RocketMQCluster.start(world, epoch_ms=0.0, topics={"orders": {_BROKER: 1}}, broker=settings)
    served = cluster.broker(_BROKER)
    assert served is not None
    wires = [Wire(world, _BROKER) for _ in range(SILENT)]
    beats = [encode(Frame(34, 1, {}, json.dumps(_beat(f"c{at}", ["orders"])).encode())) for at in range(SILENT)]
    rows = [[*await turns.of(wires, beats, wires), f"heartbeat of {SILENT:,}"]]
    rows.append(await _half_silent(turns, world, served))
    await world.close()
    return rows


async def _half_silent(turns: Turns, world: Sockets, served: Served) -> list[str]:
    """The row of half of the group's members, whose time is over at once."""
    process = world.processes[_BROKER]
    channels = served.broker.consumers.groups["g"].channels
    silent = list(channels)[: len(channels) // 2]
    for channel in silent:
        channels[channel].last_update = -1e9
    over = await turns.until(
        lambda: not any(channel in process.connections for channel in silent),
        lambda: process.set_timer(SCAN, world.tell_time()),
    )
    return [*over, "half of them silent"]


async def _proxy(turns: Turns) -> list[list[str]]:
    """Clients of the 5.x line."""
    world = Sockets(seed=1, limits=Limits(connections=4 * MEMBERS))
    topics = {"wide": {_BROKER: QUEUES}, "orders": {_BROKER: 8}}
    await (await RocketMQCluster.start(world, epoch_ms=0.0, topics=topics)).start_proxy()
    wires = [Wire(world, PROXY) for _ in range(MEMBERS)]
    windows = [frame(SETTINGS, 0, 0, pack(">HI", 4, 1 << 30)), frame(WINDOW_UPDATE, 0, 0, pack(">I", 1 << 30))]
    for wire in wires:
        wire.put(PREFACE + b"".join(windows))
    topic, group = Resource(name="orders"), Resource(name="g")
    settings = TelemetryCommand(settings=Settings(subscription=Subscription(group)))
    waits = {"invisible_duration": duration(60_000), "long_polling_timeout": duration(50)}
    receive = ReceiveMessageRequest(group, MessageQueue(topic), batch_size=32, **waits)
    asked = {
        "route": (wires[:1], _calls("QueryRoute", QueryRouteRequest(Resource(name="wide")), 1)),
        f"settings of {MEMBERS:,}": (wires, _calls("Telemetry", settings, 3)),
        f"ReceiveMessage of {MEMBERS:,}": (wires, _calls("ReceiveMessage", receive, 5)),
        "10,000 settings frames": (wires[:1], frame(SETTINGS, 0, 0, pack(">HI", 4, 1 << 20)) * 10_000),
    }
    rows = [[*await turns.of(who, [sent] * len(who), who), label] for label, (who, sent) in asked.items()]
    assert world.failures == []
    await world.close()
    return rows


def _calls(method: str, request: tuple[object, ...], stream: int) -> bytes:
    ended = 0 if method == "Telemetry" else END_STREAM
    return frame(HEADERS, END_HEADERS, stream, head(method, "c")) + frame(
        DATA, ended, stream, message(protobuf(request))
    )


def turns() -> None:
    for rows in (_rows, _members, _silent, _proxy):
        show(asyncio.run(rows(Turns())))
