"""The served RocketMQ: start, requests and records per second, idle members, the proxy of clients of the 5.x line;
clients are a process of their own.

Peers: the load itself, so that only the server's processor time counts; for the proxy, a server of grpcio that gives
back what it gets. Budgets: 50 ms to the first answer, 4,000 requests, 50,000 records and 5,000 calls of the proxy a
second of one core.

python -m benchmarks.rocketmq_server [clients] [turns]
"""

import asyncio
import json
import multiprocessing
import resource
import struct
import time
from multiprocessing.connection import Connection
from typing import Any

import grpc
import grpc.aio
from tabulate import tabulate

from benchmarks import run_parts
from benchmarks.rocketmq_turns import turns
from protocols.engine.sockets import Sockets
from rocketmq_selfbalance.proxy import requests
from rocketmq_selfbalance.proxy.definitions import (
    OK,
    Message,
    MessageQueue,
    MessageType,
    Resource,
    Settings,
    Subscription,
    SystemProperties,
    duration,
)
from rocketmq_selfbalance.proxy.protobuf import decode as decode_message
from rocketmq_selfbalance.proxy.protobuf import encode as encode_message
from rocketmq_selfbalance.proxy.requests import SERVICE
from rocketmq_selfbalance.remoting import Frame, encode
from rocketmq_selfbalance.wire.cluster import RocketMQCluster
from tests.rocketmq_selfbalance.wire.serving import Client

REQUESTS, RECORDS, MEMBERS = 16_000, 400_000, 1_000
SIZE, BATCH, AT_ONCE, QUEUES = 100, 50, 16, 8
PROXY, ECHO = "proxy", "echo"


def serve(tell: Connection) -> None:
    """A cluster of one broker; says its addresses, then at each request how much processor time and memory it took."""

    async def run() -> None:
        began = time.perf_counter()
        world = Sockets()
        cluster = await RocketMQCluster.start(
            world, epoch_ms=time.time() * 1000 - world.tell_time(), topics={"bench": {"broker-a": QUEUES}}
        )
        client = await Client.connect(cluster.name_server)
        await client.ask(105, {"topic": "bench"})
        took = time.perf_counter() - began
        await cluster.start_proxy()
        echo = grpc.aio.server(handlers=[Echo()])
        echoing = echo.add_insecure_port("127.0.0.1:0")
        await echo.start()
        addresses = {**cluster.addresses, PROXY: cluster.proxy, ECHO: f"127.0.0.1:{echoing}"}
        tell.send((addresses, took))
        while await asyncio.to_thread(tell.recv):
            usage = resource.getrusage(resource.RUSAGE_SELF)
            tell.send((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
        await echo.stop(None)
        await world.close()

    asyncio.run(run())


class Echo(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio has no types
    """Gives back what it gets, whatever the method is."""

    def service(self, details: Any) -> Any:
        async def echoed(raw: bytes, context: Any) -> bytes:
            return raw

        return grpc.unary_unary_rpc_method_handler(echoed)


def batch() -> bytes:
    """A batch of records with the properties that Java's producer gives each."""

    def record(number: int) -> bytes:
        properties = f"UNIQ_KEY\x017F00000100002A139A55{number:012X}\x02WAIT\x01true".encode()
        rest = struct.pack(">iiii", 0, 0, 0, SIZE) + b"x" * SIZE + len(properties).to_bytes(2) + properties
        return struct.pack(">i", 4 + len(rest)) + rest

    return b"".join(map(record, range(BATCH)))


def heartbeat(member: int) -> bytes:
    """What a member says."""
    data = {
        "groupName": f"g{member % 50}",
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "subscriptionDataSet": [{"topic": "bench", "subString": "*", "subVersion": 1}],
    }
    return json.dumps({"clientID": f"c{member}", "consumerDataSet": [data]}).encode()


class Bench:
    """Clients of one server."""

    def __init__(self, addresses: dict[str, str], server: Connection) -> None:
        self.addresses, self._server = addresses, server
        self.rows: list[list[Any]] = []

    def usage(self) -> tuple[float, float]:
        """Seconds of processor time so far, and MiB."""
        self._server.send(True)
        told: tuple[float, float] = self._server.recv()
        return told

    async def measure(self, what: str, count: int, run: Any) -> None:
        """How many of these per second, and how much of a core that takes."""
        before, began = self.usage()[0], time.perf_counter()
        await run
        took = time.perf_counter() - began
        processor, memory = self.usage()
        self.tell(what, count, took, processor - before, memory)

    def tell(self, what: str, count: int, took: float, processor: float, memory: float) -> None:
        """A row: what was done so many times within so many seconds, of which the server worked for some."""
        share = f"{processor / took:.0%}"
        self.rows.append([what, f"{count / took:,.0f}/s", share, f"{count / processor:,.0f}/s", f"{memory:.0f} MiB"])

    async def many(self, client: Client, code: int, fields: dict[str, str], body: bytes, count: int) -> None:
        """So many requests over one connection, some at once."""

        async def one_after_the_other(number: int) -> None:
            for _ in range(number):
                answer = await client.begin(code, fields, body)
                assert answer.code == 0, answer

        await asyncio.gather(*(one_after_the_other(count // AT_ONCE) for _ in range(AT_ONCE)))

    async def consume(self, client: Client, queue: int, count: int) -> None:
        """So many records of a queue."""
        offset = 0
        while offset < count:
            answer = await client.pull("g0", "bench", queue, offset, 15_000)
            offset = int(answer.fields["nextBeginOffset"])

    async def idle(self, members: int, seconds: float) -> int:
        """Members with a heartbeat each 30 s and a pull held for 15 s at each of two queues; the requests made."""
        clients = [await Client.connect(self.addresses["broker-a"]) for _ in range(members)]
        for number, client in enumerate(clients):
            await client.ask(34, {}, heartbeat(number))
        made = 0

        async def live(number: int, client: Client) -> None:
            nonlocal made
            while True:
                await client.ask(34, {}, heartbeat(number))
                made += 1
                for queue in (0, 1):
                    client.tell(15, {**queue_fields(number, queue), "commitOffset": "0"})
                    made += 1
                await asyncio.sleep(1)

        self._living = [asyncio.ensure_future(live(number, client)) for number, client in enumerate(clients)]
        await asyncio.sleep(seconds)
        for each in self._living:
            each.cancel()
        return made


class ProxyClient:
    """A client of the 5.x line, on grpcio, with our own codec."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.aio.insecure_channel(address)
        self._metadata = (("x-mq-client-id", "bench@1@0@a"), ("x-mq-language", "PYTHON"))
        self.number = 0

    async def close(self) -> None:
        await self._channel.close()

    async def call(self, method: str, request: tuple[object, ...], response: type[Any] | None) -> Any:
        call = self._channel.unary_unary(f"/{SERVICE}/{method}")
        raw = await call(encode_message(request), metadata=self._metadata, timeout=30)
        return raw if response is None else decode_message(response, raw)

    async def send(self, count: int, response: type[Any] | None = requests.SendMessageResponse) -> None:
        """So many messages, one by one; without ``response`` nobody reads the answers."""
        for _ in range(count):
            self.number += 1
            system = SystemProperties(
                tag="t", keys=(f"k{self.number}",), message_id=f"01{self.number:030X}", message_type=MessageType.NORMAL
            )
            request = requests.SendMessageRequest((Message(Resource(name="bench"), {}, system, b"x" * SIZE),))
            answer = await self.call("SendMessage", request, response)
            assert response is None or answer.status.code == OK.code, answer

    async def introduce(self) -> None:
        """Tell the settings of a consumer."""
        stream = self._channel.stream_stream(f"/{SERVICE}/Telemetry")(metadata=self._metadata)
        settings = Settings(subscription=Subscription(Resource(name="g")))
        await stream.write(encode_message(requests.TelemetryCommand(settings=settings)))
        await stream.read()

    async def receive(self, count: int) -> None:
        """So many messages, by 32, each with an ack of its own."""
        topic, group = Resource(name="bench"), Resource(name="g")
        asked = requests.ReceiveMessageRequest(
            group, MessageQueue(topic), batch_size=32, auto_renew=True, long_polling_timeout=duration(5_000)
        )
        while count > 0:
            receive = self._channel.unary_stream(f"/{SERVICE}/ReceiveMessage")
            parts = [
                decode_message(requests.ReceiveMessageResponse, raw)
                async for raw in receive(encode_message(asked), metadata=self._metadata, timeout=30)
            ]
            systems = [part.message.system_properties for part in parts if part.message is not None]
            assert systems, parts
            entries = [requests.AckMessageEntry(each.message_id, each.receipt_handle) for each in systems if each]
            acks = [requests.AckMessageRequest(group, topic, (entry,)) for entry in entries]
            await asyncio.gather(*(self.call("AckMessage", ack, requests.AckMessageResponse) for ack in acks))
            count -= len(acks)


async def proxy(bench: Bench, count: int) -> None:
    """Calls of the proxy, and of a server that does nothing."""
    share = count // AT_ONCE
    for what, address, response in (
        ("calls that grpcio's server gives back", ECHO, None),
        ("messages sent one by one through the proxy", PROXY, requests.SendMessageResponse),
    ):
        client = ProxyClient(bench.addresses[address])
        run = asyncio.gather(*(client.send(share, response) for _ in range(AT_ONCE)))
        await bench.measure(what, share * AT_ONCE, run)
        await client.close()
    client = ProxyClient(bench.addresses[PROXY])
    await client.introduce()
    await bench.measure("messages received and acked", share * AT_ONCE, client.receive(share * AT_ONCE - 2 * QUEUES))
    await client.close()


def queue_fields(member: int, queue: int) -> dict[str, str]:
    """The fields that name a queue and a group."""
    return {"consumerGroup": f"g{member % 50}", "topic": "bench", "queueId": str(queue)}


async def clients(bench: Bench, count: int, records: int, members: int) -> None:
    """All measurements."""
    client = await Client.connect(bench.addresses["broker-a"])
    await bench.measure("heartbeats", count, bench.many(client, 34, {}, heartbeat(0), count))
    asked = {"consumerGroup": "g0"}
    await bench.measure("member lists", count, bench.many(client, 38, asked, b"", count))
    fields = {"a": "p", "b": "bench", "c": "TBW102", "d": "4", "f": "0", "g": "5", "h": "0", "m": "false", "e": "7"}
    sent = count // AT_ONCE * AT_ONCE
    await bench.measure("records sent one by one", sent, bench.many(client, 310, fields, b"x" * SIZE, sent))
    producer, share = await Client.connect(bench.addresses["broker-a"]), records // 4
    batches = share // BATCH // AT_ONCE * AT_ONCE

    async def both(queue: int) -> None:
        told = {**fields, "m": "true", "e": str(queue)}
        await asyncio.gather(
            bench.many(producer, 320, told, batch(), batches), bench.consume(client, queue, batches * BATCH)
        )

    total = 4 * batches * BATCH
    what = f"records of {SIZE} bytes, sent {BATCH} at a time and pulled"
    await bench.measure(what, total, asyncio.gather(*(both(queue) for queue in range(4))))
    await proxy(bench, count)
    began = time.perf_counter()
    before = bench.usage()[0]
    made = await bench.idle(members, 8)
    took, (processor, memory) = time.perf_counter() - began, bench.usage()
    bench.tell(f"{members:,} members", made, took, processor - before, memory)


def beside_a_server() -> None:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    server.start()
    addresses, started = ours.recv()
    bench = Bench(addresses, ours)
    print(f"Start to first answer: {started * 1000:.0f} ms. The clients are Python, too, in a process beside it.\n")
    asyncio.run(clients(bench, REQUESTS, RECORDS, MEMBERS))
    ours.send(False)
    server.join()
    print(tabulate(bench.rows, ["what", "rate", "server's share of a core", "rate of a whole core", "memory"]))
    print("\nA whole core must take 4,000 requests, 50,000 records and 5,000 calls of the proxy a second;")
    print("a first answer takes at most 50 ms.")
    print(f"A frame of a heartbeat has {len(encode(Frame(34, 1, {}, heartbeat(0))))} bytes.")


if __name__ == "__main__":
    run_parts({"clients": beside_a_server, "turns": turns})
