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

HEARTBEAT, UNREGISTER, MEMBERS, CHANGED, ROUTE = 34, 35, 38, 40, 105
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
        for broker in self._brokers.values():
            await broker.ask(UNREGISTER, {"clientID": self.id, "consumerGroup": self.group})
            broker.transport.close()
        self._name_server.transport.close()

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
