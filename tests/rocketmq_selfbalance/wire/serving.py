"""A served cluster for tests, and a client that speaks frames."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any, NamedTuple

from protocols.engine.nodes import Message, Time
from protocols.engine.sockets import Limits, Sockets
from rocketmq_selfbalance.broker.state import BrokerSettings
from rocketmq_selfbalance.remoting import ONEWAY, Frame, decode, encode
from rocketmq_selfbalance.wire import stored_messages
from rocketmq_selfbalance.wire.cluster import RocketMQCluster
from rocketmq_selfbalance.wire.served import WireSettings
from rocketmq_selfbalance.wire.stored_messages import Stored

EPOCH_MS = 1_700_000_000_000.0
NO_FIELDS: Mapping[str, str] = {}


class Facts:
    """An observer that keeps facts."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        self.seen.append(fact)

    def created(self, number: int, due: Time, kind: int, node: str, what: Any, cause: int) -> None: ...

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None: ...

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None: ...


class Client:
    """One connection. Answers are waited for by their opaque numbers; notices are kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.notices: list[Frame] = []
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self._reading = asyncio.ensure_future(self._read(reader))

    @classmethod
    async def connect(cls, address: str) -> "Client":
        host, port = address.split(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                frame = decode(await reader.readexactly(int.from_bytes(await reader.readexactly(4))))
                if frame.is_answer:
                    self._waiting.pop(frame.opaque).set_result(frame)
                else:
                    self.notices.append(frame)
        except (asyncio.IncompleteReadError, ConnectionError):
            for each in self._waiting.values():
                each.cancel()

    def begin(self, code: int, fields: Mapping[str, str] = NO_FIELDS, body: bytes = b"") -> "asyncio.Future[Frame]":
        """Send a request; the answer comes later."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self.writer.write(encode(Frame(code, number, fields, body)))
        return answer

    async def ask(self, code: int, fields: Mapping[str, str] = NO_FIELDS, body: bytes = b"") -> Frame:
        return await asyncio.wait_for(self.begin(code, fields, body), 10)

    def tell(self, code: int, fields: Mapping[str, str], body: bytes = b"") -> None:
        """Send a request that nobody answers."""
        self.writer.write(encode(Frame(code, next(self._numbers), fields, body, flag=ONEWAY)))

    def answer(self, notice: Frame, body: bytes) -> None:
        """Answer what the server asked."""
        self.writer.write(encode(Frame(0, notice.opaque, {}, body, flag=1)))

    async def close(self) -> None:
        self.writer.close()
        await self._reading

    # What consumers and producers say.

    async def join(self, client_id: str, group: str, topics: Mapping[str, str], model: str = "CLUSTERING") -> Frame:
        subscriptions = [{"topic": topic, "subString": tags, "subVersion": 1} for topic, tags in topics.items()]
        consumer = {
            "groupName": group,
            "consumeType": "CONSUME_PASSIVELY",
            "messageModel": model,
            "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
            "subscriptionDataSet": subscriptions,
        }
        return await self.ask(34, {}, json.dumps({"clientID": client_id, "consumerDataSet": [consumer]}).encode())

    async def send(self, topic: str, queue: int, text: str, properties: str = "", **more: str) -> Frame:
        fields = {"a": "p", "b": topic, "c": "TBW102", "d": "4", "e": str(queue), "f": "0", "g": "5", "h": "0"}
        return await self.ask(310, {**fields, "i": properties, **more}, text.encode())

    def pull(self, group: str, topic: str, queue: int, offset: int, wait_ms: int = 0) -> "asyncio.Future[Frame]":
        fields = {"consumerGroup": group, "topic": topic, "queueId": str(queue), "queueOffset": str(offset)}
        flags = "2" if wait_ms else "0"
        more = {"maxMsgNums": "32", "sysFlag": flags, "commitOffset": "0", "suspendTimeoutMillis": str(wait_ms)}
        return self.begin(11, {**fields, **more})


def records_of(answer: Frame) -> list[Stored]:
    """The records in the answer to a pull."""
    found, body = [], answer.body
    while body:
        size = int.from_bytes(body[:4])
        found.append(stored_messages.decode(body[:size]))
        body = body[size:]
    return found


def bodies_of(answer: Frame) -> list[str]:
    return [each.record.body.decode() for each in records_of(answer)]


class Setting(NamedTuple):
    world: Sockets
    cluster: RocketMQCluster
    facts: Facts

    async def connect(self, name: str = "broker-a") -> Client:
        return await Client.connect(self.cluster.addresses[name])


def in_cluster(
    story: Callable[[Setting], Awaitable[None]],
    *,
    limits: Limits = Limits(),  # noqa: B008 - immutable
    broker: BrokerSettings | None = None,
    wire: WireSettings | None = None,
) -> None:
    """Tell a story of clients of a cluster; nothing may have failed at its end."""

    async def told() -> None:
        facts = Facts()
        world = Sockets(seed=1, observer=facts, limits=limits)
        cluster = await RocketMQCluster.start(
            world,
            epoch_ms=EPOCH_MS,
            brokers=["broker-a", "broker-b"],
            topics={"orders": {"broker-a": 2, "broker-b": 2}},
            broker=broker,
            wire=wire,
        )
        try:
            await story(Setting(world, cluster, facts))
            assert world.failures == []
        finally:
            await world.close()

    asyncio.run(told())
