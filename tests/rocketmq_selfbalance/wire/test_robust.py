"""What real networks bring: frames that are none, many clients, clients that do not read, tools that look."""

import asyncio
import json
import logging
import random
import zlib
from collections.abc import Coroutine

import pytest

from compare.reading.observed import ObservedGroup
from compare.reading.rocketmq_live import observe
from protocols.engine.sockets import Limits
from protocols.java import Queue
from rocketmq_selfbalance.remoting import BINARY, Frame, encode
from rocketmq_selfbalance.wire.broker import ServedBroker
from rocketmq_selfbalance.wire.messages import MOST_JSON
from rocketmq_selfbalance.wire.orders import MOST_REGISTERED
from tests.rocketmq_selfbalance.wire.serving import Client, Setting, in_cluster
from tests.waiting import soon

CLIENTS = 1_000


def bad_frame(chance: random.Random) -> bytes:
    """Bytes after which a real server closes the connection, too."""
    good = encode(Frame(chance.choice((11, 34, 105)), 1, {"topic": "orders"}, b"{}", form=chance.choice((0, BINARY))))
    kind = chance.randrange(5)
    if kind == 0:  # a length that no frame has
        return chance.choice((-1, 0, 3, 2**31 - 1, 17 * 2**20)).to_bytes(4, signed=True) + good[4:]
    if kind == 1:  # a header longer than its frame
        return good[:4] + (good[4:5] + (2**24 - 1).to_bytes(3)) + good[8:]
    if kind == 2:  # a form that nobody knows
        return good[:4] + bytes([chance.randrange(2, 256)]) + good[5:]
    if kind == 3:  # garbage in the header
        garbage = bytes(chance.randrange(128, 256) for _ in range(30))
        return (len(garbage) + 4).to_bytes(4) + len(garbage).to_bytes(4) + garbage
    return b"GET / HTTP/1.1\r\n\r\n"


def test_malformed_frames_close_their_connections_with_a_line_each(caplog: pytest.LogCaptureFixture) -> None:
    async def story(it: Setting) -> None:
        good = await it.connect()
        await good.join("c1", "g", {"orders": "*"})
        chance = random.Random(1)
        host, port = it.cluster.addresses["broker-a"].split(":")
        caplog.set_level(logging.WARNING, "equipoise.sockets")

        async def bad() -> None:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(bad_frame(chance))
            assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()

        for _ in range(3):
            outcomes = await asyncio.gather(*(bad() for _ in range(100)), return_exceptions=True)
            assert {type(each) for each in outcomes} <= {type(None), ConnectionResetError}
        assert len(caplog.records) == 300
        assert all("\n" not in each.getMessage() for each in caplog.records)
        assert json.loads((await good.ask(38, {"consumerGroup": "g"})).body) == {"consumerIdList": ["c1"]}
        await soon(lambda: len(it.world.processes["broker-a"].connections) == 1)

    in_cluster(story)


def test_a_frame_in_small_pieces_is_read() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect("namesrv")
        raw = encode(Frame(105, 1, {"topic": "orders"}, form=BINARY))
        answer = client._waiting[1] = asyncio.get_running_loop().create_future()
        for at in range(len(raw)):
            client.writer.write(raw[at : at + 1])
            await asyncio.sleep(0)
        assert (await asyncio.wait_for(answer, 5)).code == 0

    in_cluster(story)


def test_1_000_clients_join_a_group_and_hold_pulls() -> None:
    async def story(it: Setting) -> None:
        clients = [await it.connect() for _ in range(CLIENTS)]
        for number, client in enumerate(clients):
            await client.join(f"c{number}", f"g{number % 50}", {"orders": "*"})
        held = [
            client.pull(f"g{number % 50}", "orders", number % 2, 0, 15_000) for number, client in enumerate(clients)
        ]
        await asyncio.sleep(0.1)
        for queue in (0, 1):
            await clients[0].send("orders", queue, "x")
        answers = await asyncio.wait_for(asyncio.gather(*held), 10)
        assert all(each.fields["nextBeginOffset"] == "1" for each in answers)
        assert len(json.loads((await clients[0].ask(38, {"consumerGroup": "g0"})).body)["consumerIdList"]) == 20
        for client in clients:
            client.writer.close()
        await soon(lambda: not it.world.processes["broker-a"].connections)
        broker = it.cluster.broker("broker-a")
        assert broker is not None
        assert [broker.broker.consumers.groups, broker.broker.held, broker.filters, broker.places] == [{}, {}, {}, {}]

    in_cluster(story)


def test_a_client_that_does_not_read_is_cut_off() -> None:
    async def story(it: Setting) -> None:
        slow, good = await it.connect(), await it.connect()
        await good.join("c1", "g", {"orders": "*"})
        await good.send("orders", 0, "x" * 100_000)
        slow._reading.cancel()
        fields = {"consumerGroup": "g", "topic": "orders", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32"}
        for number in range(2_000):
            slow.writer.write(encode(Frame(11, number, {**fields, "sysFlag": "0", "commitOffset": "0"})))
        await asyncio.sleep(0.2)
        process = it.world.processes["broker-a"]
        assert max(each.unsent for each in process.connections.values()) < 1_000_000
        assert (await good.ask(38, {"consumerGroup": "g"})).code == 0

    in_cluster(story, limits=Limits(unread=200_000))


def test_audit_reads_a_served_cluster() -> None:
    """The reader of `equipoise audit rocketmq://`, which asks what mqadmin asks."""

    async def story(it: Setting) -> None:
        member: Client = await it.connect()
        other = await it.connect("broker-b")
        for client in (member, other):
            await client.join("10.0.0.1@one", "billing", {"orders": "*", "%RETRY%billing": "*"})
        await member.send("orders", 0, "x")
        member.tell(15, {"consumerGroup": "billing", "topic": "orders", "queueId": "0", "commitOffset": "0"})
        table = '{"brokerName":"broker-a","queueId":0,"topic":"orders"}:{"commitOffset":0,"droped":false}'
        properties = '{"PROP_CONSUMEORDERLY":"false","messageModel":"CLUSTERING"}'
        body = f'{{"mqTable":{{{table}}},"properties":{properties},"subscriptionSet":[{{"topic":"orders"}}]}}'.encode()

        async def answer_tools() -> None:
            seen = 0
            while True:
                await asyncio.sleep(0.005)
                for client in (member, other):
                    for notice in [each for each in client.notices if each.code == 307]:
                        client.notices.remove(notice)
                        client.answer(notice, body)
                        seen += 1

        answering = asyncio.ensure_future(answer_tools())
        found = await asyncio.to_thread(observe, f"rocketmq://{it.cluster.name_server}", timeout_s=10)
        answering.cancel()
        (group,) = [each for each in found if isinstance(each, ObservedGroup)]
        assert (group.name, group.mode) == ("billing", "shared")
        assert {each.id for each in group.members or ()} == {"10.0.0.1@one"}
        assert group.lag[Queue("orders", "broker-a", 0)] == 1
        assert len([queue for queue in group.queues or () if queue.topic == "orders"]) == 4

    in_cluster(story)


def test_what_is_too_long_is_refused_before_it_is_read(caplog: pytest.LogCaptureFixture) -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        long = await client.ask(34, {}, b'{"clientID": "' + b"x" * MOST_JSON + b'"}')
        assert (long.code, long.remark) == (1, f"a body of {MOST_JSON + 16} bytes, allowed are {MOST_JSON}")
        tool = await it.connect("namesrv")
        fields = {"clusterName": "c", "brokerName": "b", "brokerId": "0", "brokerAddr": "a:1", "compressed": "true"}
        bomb = await tool.ask(103, fields, zlib.compress(bytes(MOST_REGISTERED + 1)))
        assert (bomb.code, "more than" in (bomb.remark or "")) == (1, True)
        host, port = it.cluster.addresses["broker-a"].split(":")
        preface, hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"
        for first in (preface, hello, b"\x00\x90\x00\x00\x00\x80\x00\x00"):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(first)
            assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()

    caplog.set_level(logging.WARNING, "equipoise.sockets")
    in_cluster(story)
    told = [each.getMessage().partition(" is closed: ")[2] for each in caplog.records]
    assert [each.partition("; ")[0] for each in told] == [
        "a client speaks HTTP/2 here",
        "a client speaks TLS here",
        "a header of 8388608 bytes, allowed are 262144",
    ]


def test_a_long_batch_is_written_piece_by_piece_and_what_comes_meanwhile_follows_it() -> None:
    """Its records stand together; whoever asks something else, or writes to another topic, is answered before it is
    whole."""
    count = 150_000
    one = (4 * 5 + 1 + 2).to_bytes(4) + bytes(12) + (1).to_bytes(4) + b"x" + bytes(2)
    fields = {"a": "p", "b": "orders", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "5", "h": "0", "m": "true"}

    async def story(it: Setting) -> None:
        async def at(number: int, answer: "asyncio.Future[Frame] | Coroutine[None, None, Frame]") -> Frame:
            found = await answer
            order.append(number)
            return found

        order: list[int] = []
        node = it.world.processes["broker-a"].node
        assert isinstance(node, ServedBroker)
        producer, other = await it.connect(), await it.connect()
        await other.join("c1", "g", {"orders": "*"})
        batch = asyncio.create_task(at(1, producer.begin(320, fields, one * count)))
        await soon(lambda: bool(node.served.unfinished))
        same = asyncio.create_task(at(2, other.send("orders", 0, "behind it")))
        await at(3, other.ask(38, {"consumerGroup": "g"}))
        await at(4, other.send("payments", 0, "beside it"))
        sent, behind = await batch, await same
        assert {*order[:2]} == {3, 4}
        assert (sent.code, sent.fields["queueOffset"], len(sent.fields["msgId"].split(","))) == (0, "0", count)
        assert (behind.code, behind.fields["queueOffset"]) == (0, str(count))
        assert node.served.unfinished == {}

    in_cluster(story)


def test_a_long_view_leaves_others_their_turn() -> None:
    """What a tool asks of 5,000 queues is told piece by piece: a question that comes after it is answered first."""

    async def story(it: Setting) -> None:
        it.cluster.create_topic("wide", {"broker-a": 5_000})
        client, answered = await it.connect(), list[int]()
        long = client.begin(202, {"topic": "wide"})
        short = client.begin(202, {"topic": "orders"})
        for code, answer in ((1, long), (2, short)):
            answer.add_done_callback(lambda _, code=code: answered.append(code))
        body = (await long).body
        await short
        assert answered == [2, 1]
        assert [body.count(f'"queueId":{number},'.encode()) for number in range(5_000)] == [1] * 5_000
        await client.close()

    in_cluster(story)
