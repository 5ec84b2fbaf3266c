"""Minimal clients of RocketMQ for `tests.slow.scale_members.Run`: a connection for each server, on the project's codec.

They do what a group needs of its clients: ask for routes, send heartbeats, ask for the list of the
group's ids when they are told of a change and every 20 s, own what the strategy AVG gives them, unregister.
"""

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

from compare.reading.rocketmq_live import answers
from compare.sweeping.scale import client_id
from rocketmq_selfbalance.remoting import Frame, decode, encode
from tests.slow.scale_members import Member, Tally

HEARTBEAT, UNREGISTER, MEMBERS, CHANGED, ROUTE, ASSIGNMENT, POP = 34, 35, 38, 40, 105, 400, 200050
_POLLS_S, _FIRST_POP_S, _FULL_S, _POLLING_FULL = 15, 0.5, 3.0, 209
_PASS_S, _BETWEEN_S, _BEAT_S = 20.0, 1.0, 30.0
_NOTICE = f'"code":{CHANGED},'.encode()


class _Connection(asyncio.Protocol):
    """To one server. Of each broker come as many notices of a start as the group has members, times its members, so
    that their headers are not read."""

    def __init__(self, tally: Tally, notified: asyncio.Event) -> None:
        self.tally, self.notified = tally, notified
        self._numbers, self._unread = count(1), bytearray()
        self._waiting: dict[int, tuple[int, asyncio.Future[Frame]]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        unread, start = self._unread, 0
        unread += data
        while len(unread) - start >= 4:
            end = start + 4 + int.from_bytes(unread[start : start + 4])
            if end > len(unread):
                break
            self._take(bytes(unread[start + 4 : end]))
            start = end
        del unread[:start]

    def _take(self, content: bytes) -> None:
        size = 4 + len(content)
        if content.find(_NOTICE, 0, 100) >= 0:
            self.tally.requests[CHANGED] += 1
            self.tally.bytes[CHANGED] += size
            self.notified.set()
            return
        frame = decode(content)
        code, answer = self._waiting.pop(frame.opaque)
        self.tally.bytes[code] += size
        self.tally.largest = max(self.tally.largest, size)
        if frame.code:
            self.tally.errors[f"{code}: {frame.code}"] += 1
        if not answer.done():
            answer.set_result(frame)

    async def ask(self, code: int, fields: dict[str, str], body: bytes = b"") -> Frame:
        """The answer to a request of this code."""
        number = next(self._numbers)
        content = encode(Frame(code, number, fields, body, language="JAVA"))
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting[number] = code, answer
        self.tally.requests[code] += 1
        self.tally.bytes[code] += len(content)
        self.transport.write(content)
        return await answer


@dataclass
class RocketMember(Member):
    """A client in CLUSTERING of one topic, with the strategy AVG."""

    rest_s: ClassVar[float] = 60.0
    _notified: asyncio.Event = field(default_factory=asyncio.Event)
    _brokers: dict[str, _Connection] = field(default_factory=dict)
    _queues: dict[str, list[tuple[str, str, int]]] = field(default_factory=dict)
    """Topic to its queues in their order; of topics whose route is known."""
    _passes: int = 0

    async def open(self, address: str) -> None:
        """Connect to the name server, and to the brokers of the topic."""
        self.id = client_id(int(self.name[1:]))
        self._name_server = await self._connected(address)
        for broker in await self._route(self.topic):
            self._brokers[broker["brokerName"]] = await self._connected(broker["brokerAddrs"]["0"])

    def leave(self) -> None:
        """Tell it to leave."""
        super().leave()
        self._notified.set()

    async def run(self) -> None:
        """Live as `RebalanceService` does: no pass begins within a second of the one before."""
        last = time.monotonic()
        topics = (self.topic, f"%RETRY%{self.group}")
        for topic in topics:
            await self._route(topic)
        await self._beat()
        self.tally.joined.append(time.monotonic())
        beating = asyncio.create_task(self._beats(topics))
        self._notified.set()
        while not self.leaving.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._notified.wait(), _PASS_S)
            await self.rest(max(0.0, last + _BETWEEN_S - time.monotonic()))
            if not self.leaving.is_set():
                self._notified.clear()
                last = time.monotonic()
                await self._pass(topics)
        beating.cancel()
        self._end()
        for broker in self._brokers.values():
            await broker.ask(UNREGISTER, {"clientID": self.id, "consumerGroup": self.group})
            broker.transport.close()
        self._name_server.transport.close()

    def _end(self) -> None:
        """It has left: nothing of it goes on."""

    async def _connected(self, address: str) -> _Connection:
        host, port = address.rsplit(":", 1)
        made = asyncio.get_running_loop().create_connection(
            lambda: _Connection(self.tally, self._notified), host, int(port)
        )
        return (await made)[1]

    async def _route(self, topic: str) -> list[dict[str, Any]]:
        """The brokers of the topic; none of one that the name server does not know."""
        answer = await self._name_server.ask(ROUTE, {"topic": topic})
        if answer.code:
            return []
        told: Any = answers.loads(answer.body.decode())
        self._queues[topic] = sorted(
            (topic, each["brokerName"], number)
            for each in told["queueDatas"]
            for number in range(each["readQueueNums"])
        )
        brokers: list[dict[str, Any]] = told["brokerDatas"]
        return brokers

    async def _beats(self, topics: tuple[str, ...]) -> None:
        while True:
            await asyncio.sleep(_BEAT_S)
            for topic in topics:
                await self._route(topic)
            await self._beat()

    async def _beat(self) -> None:
        read = [
            {"topic": topic, "subString": "*", "subVersion": 1, "expressionType": "TAG"}
            for topic in (self.topic, f"%RETRY%{self.group}")
        ]
        consumer = {
            "groupName": self.group,
            "consumeType": "CONSUME_PASSIVELY",
            "messageModel": "CLUSTERING",
            "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
            "subscriptionDataSet": read,
        }
        told = json.dumps({"clientID": self.id, "consumerDataSet": [consumer]}).encode()
        for broker in self._brokers.values():
            await broker.ask(HEARTBEAT, {}, told)

    async def _pass(self, topics: tuple[str, ...]) -> None:
        """Balance each topic, with the list of any of its brokers."""
        owned: list[tuple[str, str, int]] = []
        for topic in topics:
            if topic not in self._queues:
                await self._route(topic)
            queues = self._queues.get(topic)
            if not queues:
                continue
            self._passes += 1
            names = sorted({broker for _, broker, _ in queues})
            broker = self._brokers[names[(self._passes + int(self.name[1:])) % len(names)]]
            answer = await broker.ask(MEMBERS, {"consumerGroup": self.group})
            ids = [] if answer.code else sorted(json.loads(answer.body)["consumerIdList"])
            if self.id in ids:
                owned += _averagely(queues, ids.index(self.id), len(ids))
            else:
                owned += [each for each in self.owned if isinstance(each, tuple) and each[0] == topic]
        if not self.leaving.is_set():
            self.own(tuple(owned))


def _averagely(queues: list[tuple[str, str, int]], place: int, members: int) -> list[tuple[str, str, int]]:
    """AllocateMessageQueueAveragely: the share of the member at this place of the sorted ids."""
    share, more = divmod(len(queues), members)
    begin = place * share + min(place, more)
    return queues[begin : begin + share + (place < more)]


@dataclass
class PopMember(RocketMember):
    """A client that lets brokers say which queues it may ask, and pops from those (docs/spec/pop.md, 3 and 4).

    Its retry topic stays one whose queues have owners; it does not pull them. It asks for one record a time, so that a
    topic without records costs one request in the time of a long poll and queue."""

    _popping: dict[tuple[str, str, int], asyncio.Task[None]] = field(default_factory=dict)

    def _end(self) -> None:
        for loop in self._popping.values():
            loop.cancel()

    async def _pass(self, topics: tuple[str, ...]) -> None:
        """Ask any broker of each topic what it may ask; begin and end loops of pops by that."""
        told, mine = {"consumerGroup": self.group, "clientId": self.id}, []
        for topic in topics:
            if topic not in self._queues:
                await self._route(topic)
            names = sorted({broker for _, broker, _ in self._queues.get(topic, ())})
            if not names:
                continue
            self._passes += 1
            broker = self._brokers[names[(self._passes + int(self.name[1:])) % len(names)]]
            asked = {**told, "topic": topic, "strategyName": "AVG", "messageModel": "CLUSTERING"}
            answer = await broker.ask(ASSIGNMENT, {}, json.dumps(asked).encode())
            for each in json.loads(answer.body).get("messageQueueAssignments") or ():
                queue = each["messageQueue"]
                if each["mode"] == "POP":
                    mine.append((queue["topic"], queue["brokerName"], queue["queueId"]))
        mine.sort()
        if self.leaving.is_set() or mine == sorted(self._popping):
            return
        for gone in self._popping.keys() - set(mine):
            self._popping.pop(gone).cancel()
        for queue in set(mine) - self._popping.keys():
            self._popping[queue] = asyncio.create_task(self._pop(queue))
        self.own(tuple(mine))
        await self._beat()

    async def _pop(self, queue: tuple[str, str, int]) -> None:
        topic, broker, number = queue
        asked = {"consumerGroup": self.group, "topic": topic, "queueId": str(number), "maxMsgNums": "1"}
        asked |= {"invisibleTime": "60000", "pollTime": str(_POLLS_S * 1000), "initMode": "0", "order": "false"}
        await asyncio.sleep(_FIRST_POP_S)
        while True:
            born = str(round(time.time() * 1000))
            answer = await self._brokers[broker].ask(POP, {**asked, "bornTime": born, "expType": "TAG", "exp": "*"})
            if answer.code == _POLLING_FULL:
                await asyncio.sleep(_FULL_S)
