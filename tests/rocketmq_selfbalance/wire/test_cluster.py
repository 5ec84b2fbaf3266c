"""A served cluster before clients that speak frames: members, records, retries, limits, views."""

import asyncio
import json
import struct
import zlib

from protocols.facts import Committed, Delivered, Owns
from protocols.java import Queue
from rocketmq_selfbalance.broker.state import BrokerSettings
from rocketmq_selfbalance.wire import stored_messages
from rocketmq_selfbalance.wire.served import WireSettings
from tests.rocketmq_selfbalance.wire.serving import EPOCH_MS, Client, Setting, bodies_of, in_cluster, records_of
from tests.waiting import soon

A0 = Queue("orders", "broker-a", 0)


def owned(it: Setting) -> dict[str, tuple[Queue, ...]]:
    """What each member owns now."""
    return {fact.member: fact.queues for fact in it.facts.seen if isinstance(fact, Owns)}


def test_a_record_is_stored_as_rocketmq_stores_it() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        await client.join("c1", "g", {"orders": "*"})
        sent = await client.send("orders", 1, "hello", "TAGS\x01red\x02UNIQ_KEY\x01abc\x02", j="3")
        assert (sent.fields["queueOffset"], sent.fields["transactionId"]) == ("0", "abc")
        (stored,) = records_of(await client.pull("g", "orders", 1, 0))
        record = stored.record
        assert (record.topic, record.queue_number, record.body, record.reconsume_times) == ("orders", 1, b"hello", 3)
        assert stored.crc == zlib.crc32(b"hello")
        assert stored.store_host == stored_messages.host("127.0.0.1", int(it.cluster.addresses["broker-a"][10:]))
        assert record.born_host[:4] == bytes([127, 0, 0, 1])
        assert EPOCH_MS <= stored.stored < EPOCH_MS + 60_000
        assert sent.fields["msgId"] == stored_messages.message_id(stored.store_host, stored.position)
        found = await client.ask(33, {"offset": str(stored.position)})
        assert stored_messages.decode(found.body) == stored

    in_cluster(story)


def test_a_held_pull_is_answered_when_a_record_with_its_tag_comes() -> None:
    async def story(it: Setting) -> None:
        client, producer = await it.connect(), await it.connect()
        await client.join("c1", "g", {"orders": "red || blue"})
        held = client.pull("g", "orders", 0, 0, wait_ms=15_000)
        await producer.send("orders", 0, "one", "TAGS\x01green\x02")
        await asyncio.sleep(0.02)
        assert not held.done()
        await producer.send("orders", 0, "two", "TAGS\x01blue\x02")
        answer = await asyncio.wait_for(held, 5)
        assert (bodies_of(answer), answer.fields["nextBeginOffset"]) == (["two"], "2")
        missed = await client.pull("g", "orders", 0, 0, wait_ms=1)
        assert bodies_of(missed) == ["two"]
        await producer.send("orders", 0, "three", "TAGS\x01green\x02")
        missed = await client.pull("g", "orders", 0, 2, wait_ms=15_000)
        assert (missed.code, missed.fields["nextBeginOffset"]) == (20, "3")

    in_cluster(story)


def test_a_pull_that_finds_nothing_is_answered_when_its_time_is_over() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        await client.join("c1", "g", {"orders": "*"})
        answer = await asyncio.wait_for(client.pull("g", "orders", 0, 0, wait_ms=30), 5)
        assert (answer.code, answer.remark) == (19, "NO_MESSAGE_IN_QUEUE")
        answer = await client.pull("g", "orders", 0, 7)
        assert (answer.code, answer.fields["nextBeginOffset"]) == (21, "0")

    in_cluster(story)


def test_a_batch_is_stored_record_by_record_and_one_that_lies_is_refused() -> None:
    def one(text: bytes, properties: bytes) -> bytes:
        rest = struct.pack(">iiii", 0, 0, 0, len(text)) + text + len(properties).to_bytes(2) + properties
        return struct.pack(">i", 4 + len(rest)) + rest

    async def story(it: Setting) -> None:
        client = await it.connect()
        await client.join("c1", "g", {"orders": "*"})
        fields = {"a": "p", "b": "orders", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "5", "h": "0", "m": "true"}
        batch = one(b"one", b"TAGS\x01red\x02") + one(b"two", b"")
        sent = await client.ask(320, fields, batch)
        assert sent.code == 0
        assert len(sent.fields["msgId"].split(",")) == 2
        pulled = await client.pull("g", "orders", 0, 0)
        assert [(each.offset, each.record.body) for each in records_of(pulled)] == [(0, b"one"), (1, b"two")]
        mixed = one(b"later", b"DELAY\x011\x02TAGS\x01red\x02") + one(b"now", b"TAGS\x01red")
        sent = await client.ask(320, fields, mixed)
        assert (sent.fields["queueOffset"], "transactionId" in sent.fields) == ("2", False)
        (now,) = records_of(await client.pull("g", "orders", 0, 2))
        properties = stored_messages.parse_properties(now.record.properties)
        assert (now.record.body, properties["TAGS"], properties["CLUSTER"]) == (b"now", "red", "DefaultCluster")
        (later,) = records_of(await asyncio.wait_for(client.pull("g", "orders", 0, 3, wait_ms=15_000), 5))
        properties = stored_messages.parse_properties(later.record.properties)
        assert (later.record.body, "DELAY" in properties, properties["TAGS"]) == (b"later", False, "red")
        for bad in (batch[:-1], batch + b"\0", b"", struct.pack(">iiiii", 20, 0, 0, 0, -5)):
            assert (await client.ask(320, fields, bad)).code == 13

    in_cluster(story)


def test_producers_bring_topics_into_being_and_what_is_not_served_is_refused() -> None:
    async def story(it: Setting) -> None:
        client, names = await it.connect(), await it.connect("namesrv")
        assert json.loads((await names.ask(105, {"topic": "TBW102"})).body)["queueDatas"][0]["perm"] == 7
        assert (await client.send("new", 3, "x")).code == 0
        route = json.loads((await names.ask(105, {"topic": "new"})).body)
        assert [(each["brokerName"], each["readQueueNums"]) for each in route["queueDatas"]] == [("broker-a", 4)]
        assert (await client.send("other", 0, "x", c="nothing")).code == 17
        assert (await client.send("new", 4, "x")).code == 1
        assert (await client.send("new", 0, "x" * 5_000_000)).code == 13
        assert (await client.send("new", 0, "x", "TRAN_MSG\x01true\x02")).code == 16
        refused = await client.ask(200_054)
        assert (refused.code, refused.remark) == (3, " request type 200054 not supported")
        assert (await client.ask(14, {"topic": "new"})).remark == "the custom field <consumerGroup> is null"
        assert (await client.ask(34, {}, b"[")).code == 1
        sql = {"clientId": "c", "group": "g", "subscriptionData": {"expressionType": "SQL92"}}
        assert (await client.ask(46, {}, json.dumps(sql).encode())).code == 1

    in_cluster(story)


def test_a_record_sent_back_comes_again_and_is_given_up_at_last() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        await client.join("c1", "g", {"orders": "*", "%RETRY%g": "*"})
        await client.send("orders", 0, "bad", "KEYS\x01k\x02")
        (stored,) = records_of(await client.pull("g", "orders", 0, 0))
        for times in (1, 2):
            held = client.pull("g", "%RETRY%g", 0, times - 1, wait_ms=15_000)
            back = {"group": "g", "offset": str(stored.position), "delayLevel": "0", "maxReconsumeTimes": "2"}
            assert (await client.ask(36, back)).code == 0
            (stored,) = records_of(await asyncio.wait_for(held, 5))
            properties = stored_messages.parse_properties(stored.record.properties)
            assert (stored.record.reconsume_times, stored.record.body) == (times, b"bad")
            assert (properties["RETRY_TOPIC"], properties["KEYS"]) == ("orders", "k")
        await client.ask(36, {**back, "offset": str(stored.position)})
        dead = it.cluster.disks["broker-a"].store.queue("%DLQ%g", 0)
        assert dead is not None
        assert dead.max_offset(it.world.now) == 1
        assert (await client.ask(36, {**back, "offset": "1"})).code == 1

    in_cluster(story, broker=BrokerSettings(delay_levels_s=(0,)))


def test_a_delayed_record_comes_when_its_delay_is_over() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        await client.join("c1", "g", {"orders": "*"})
        held = client.pull("g", "orders", 0, 0, wait_ms=15_000)
        began = asyncio.get_running_loop().time()
        await client.send("orders", 0, "later", "DELAY\x011\x02")
        assert not held.done()
        assert bodies_of(await asyncio.wait_for(held, 5)) == ["later"]
        assert asyncio.get_running_loop().time() - began > 0.9

    in_cluster(story)


def test_members_are_told_of_each_other_and_who_reads_what_is_concluded() -> None:
    async def story(it: Setting) -> None:
        one, two = await it.connect(), await it.connect()
        await one.join("c1", "g", {"orders": "*"})
        held = one.pull("g", "orders", 0, 0, wait_ms=15_000)
        await two.join("c2", "g", {"orders": "*"})
        assert json.loads((await two.ask(38, {"consumerGroup": "g"})).body) == {"consumerIdList": ["c1", "c2"]}
        await soon(lambda: len(one.notices) == 2)
        assert [each.code for each in one.notices] == [40, 40]
        assert owned(it) == {"c1": (A0,)}
        second = two.pull("g", "orders", 0, 0, wait_ms=15_000)
        await soon(lambda: owned(it) == {"c1": (), "c2": (A0,)})
        await two.send("orders", 0, "x")
        await asyncio.gather(held, second)
        one.pull("g", "orders", 0, 1, wait_ms=15_000)  # it goes on reading: two owners
        await soon(lambda: owned(it) == {"c1": (A0,), "c2": (A0,)})
        fields = {"consumerGroup": "g", "topic": "orders", "queueId": "0", "commitOffset": "1"}
        two.tell(15, fields)
        await soon(lambda: any(isinstance(fact, Delivered) for fact in it.facts.seen))
        assert Committed("g", A0, 1, "c2", None, "") in it.facts.seen
        await one.close()
        await soon(lambda: owned(it)["c1"] == () and len(two.notices) >= 2)
        assert (await two.ask(35, {"clientID": "c2", "consumerGroup": "g"})).code == 0
        assert owned(it)["c2"] == ()

    in_cluster(story)


def test_locks_belong_to_one_client() -> None:
    async def story(it: Setting) -> None:
        one, two = await it.connect(), await it.connect()
        await one.join("c1", "g", {"orders": "*"})
        await two.join("c2", "g", {"orders": "*"})

        def of(client_id: str) -> bytes:
            queue = {"topic": "orders", "brokerName": "broker-a", "queueId": 0}
            return json.dumps({"consumerGroup": "g", "clientId": client_id, "mqSet": [queue]}).encode()

        assert len(json.loads((await one.ask(41, {}, of("c1"))).body)["lockOKMQSet"]) == 1
        assert json.loads((await two.ask(41, {}, of("c2"))).body) == {"lockOKMQSet": []}
        assert (await one.ask(42, {}, of("c1"))).code == 0
        assert len(json.loads((await two.ask(41, {}, of("c2"))).body)["lockOKMQSet"]) == 1

    in_cluster(story)


def test_offsets_by_time_count_from_1970() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        for text in ("one", "two"):
            await client.send("orders", 0, text)
            await asyncio.sleep(0.02)
        queue = {"topic": "orders", "queueId": "0"}
        kept = it.cluster.disks["broker-a"].store.queue("orders", 0)
        assert kept is not None
        second = kept.written_at(1)
        assert second is not None
        for timestamp, offset in ((1, 0), (EPOCH_MS, 0), (EPOCH_MS + second - 5, 1), (EPOCH_MS + 90_000, 2)):
            found = await client.ask(29, {**queue, "timestamp": str(int(timestamp))})
            assert found.fields["offset"] == str(offset)
        for timestamp, offset in ((EPOCH_MS + second - 5, 1), (1, 0)):
            reset = {"topic": "orders", "group": "g", "timestamp": str(int(timestamp)), "isForce": "true"}
            assert (await client.ask(222, reset)).code == 0
            assert (await client.ask(14, {"consumerGroup": "g", **queue})).fields["offset"] == str(offset)

    in_cluster(story)


def test_memory_is_bounded_and_the_oldest_records_go_first() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        await client.join("c1", "g", {"orders": "*"})
        for number in range(100):
            await client.send("orders", number % 2, f"{number:>1000}")
        least = int((await client.ask(31, {"topic": "orders", "queueId": "0"})).fields["offset"])
        end = int((await client.ask(30, {"topic": "orders", "queueId": "0"})).fields["offset"])
        assert 0 < least < end == 50
        moved = await client.pull("g", "orders", 0, 0)
        assert (moved.code, moved.remark, moved.fields["nextBeginOffset"]) == (21, "OFFSET_TOO_SMALL", str(least))
        pulled = await client.pull("g", "orders", 0, least)
        assert bodies_of(pulled)[-1].strip() == "98"

    in_cluster(story, wire=WireSettings(most_stored_bytes=40_000))


def test_a_pop_takes_of_each_queue_as_many_bytes_as_a_pull_and_one_record_at_least() -> None:
    async def story(it: Setting) -> None:
        client = await it.connect()
        for queue, size in [(0, 400)] * 3 + [(1, 1_100)] * 2:
            await client.send("orders", queue, "x" * size)
        asked = {"consumerGroup": "g", "topic": "orders", "queueId": "-1", "maxMsgNums": "32", "invisibleTime": "60000"}
        asked |= {"pollTime": "0", "initMode": "0", "exp": "*"}
        for order in ("false", "true"):
            sizes = []
            for attempt in range(3):
                its = {**asked, "consumerGroup": f"g-{order}", "order": order, "attemptId": str(attempt)}
                sizes.append(sorted(map(len, bodies_of(await client.ask(200050, its)))))
            rest: list[list[int]] = [[], []] if order == "true" else [[400, 1_100], []]
            assert sizes == [[400, 400, 1_100], *rest], "queues in order are not given out again meanwhile"

    in_cluster(story, wire=WireSettings(most_pulled_bytes=1_200))


def test_what_a_tool_asks_of_a_client_is_passed_on() -> None:
    async def story(it: Setting) -> None:
        client, tool = await it.connect(), await it.connect()
        await client.join("c1", "g", {"orders": "*"})
        asked = tool.begin(307, {"consumerGroup": "g", "clientId": "c1"})
        await soon(lambda: any(each.code == 307 for each in client.notices))
        client.answer(next(each for each in client.notices if each.code == 307), b'{"properties":{}}')
        assert (await asyncio.wait_for(asked, 5)).body == b'{"properties":{}}'
        asked = tool.begin(307, {"consumerGroup": "g", "clientId": "c1"})
        await soon(lambda: sum(each.code == 307 for each in client.notices) == 2)
        await client.close()
        assert (await asyncio.wait_for(asked, 5)).code == 1
        assert (await tool.ask(203, {"consumerGroup": "g"})).code == 206

    in_cluster(story)


def test_a_broker_that_stops_leaves_the_routes_and_returns_with_its_records() -> None:
    async def story(it: Setting) -> None:
        client, names = await it.connect(), await it.connect("namesrv")
        await client.send("orders", 0, "kept")
        it.cluster.stop_broker("broker-a")
        route = json.loads((await names.ask(105, {"topic": "orders"})).body)
        assert [each["brokerName"] for each in route["queueDatas"]] == ["broker-b"]
        await it.cluster.start_broker("broker-a")
        again: Client = await it.connect()
        await again.join("c1", "g", {"orders": "*"})
        assert bodies_of(await again.pull("g", "orders", 0, 0)) == ["kept"]
        beat = {
            "clientID": "c9",
            "heartbeatFingerprint": 7,
            "withoutSub": True,
            "consumerDataSet": [{"groupName": "g"}],
        }
        answer = await (await it.connect()).ask(34, {}, json.dumps(beat).encode())
        assert answer.fields["IS_SUB_CHANGE"] == "true"

    in_cluster(story)
