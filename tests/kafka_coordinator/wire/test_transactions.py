"""Transactions whose coordinators change or end in the middle, and what an administrator may do."""

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_coordinator.cluster.controller import ControllerSettings
from kafka_coordinator.coordinator.log import ENTRY_COST
from kafka_coordinator.transactions import Producer as Claim
from kafka_coordinator.versions import VERSIONS
from kafka_coordinator.wire.served import Operations, ServedCluster
from protocols.engine.sockets import Sockets
from tests.kafka_coordinator.wire.broker_cases import batch, fetch, produce
from tests.kafka_coordinator.wire.frames_made import frame
from tests.kafka_coordinator.wire.plain import request
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.kafka_coordinator.wire.serving import AT_ONCE, Serving, serving
from tests.kafka_coordinator.wire.transaction_play import (
    ADD_OFFSETS,
    ADD_PARTITIONS,
    DESCRIBE_TRANSACTIONS,
    END,
    INIT,
    OFFSET_FETCH,
    TXN_COMMIT,
)
from tests.rows import rows
from tests.waiting import until
from tests.wire_connections import Wire

OFFSET_COMMIT, FIND, WRITE_MARKERS = 8, 10, 27


def coordinator(server: Serving, key: str) -> RawClient:
    """A connection with the broker that coordinates a group or transactional id of this name."""
    with RawClient(server.bootstrap.split(",")[0]) as any_broker:
        found = any_broker.ask(request(FIND, 4, key_type=0, coordinator_keys=[key])).coordinators[0]
    return RawClient(f"{found.host}:{found.port}")


def begun(client: RawClient, name: str) -> dict[str, Any]:
    """A producer with this transactional id."""
    made = client.ask(
        request(INIT, 4, transactional_id=name, transaction_timeout=60_000, producer_id=-1, producer_epoch=-1)
    )
    return {"transactional_id": name, "producer_id": made.producer_id, "producer_epoch": made.producer_epoch}


def commit(client: RawClient, producer: dict[str, Any], group: str, text: str = "") -> str:
    parts = [{"partition_index": 0, "committed_offset": 7, "committed_metadata": text}]
    who = {"member_id": "", "generation_id": -1, "group_instance_id": None}
    topics = [{"name": "orders", "partitions": parts}]
    answer = client.ask(request(TXN_COMMIT, 5, group_id=group, **producer, **who, topics=topics))
    return str(answer.topics[0].partitions[0].error_code.name)


def commit_plainly(client: RawClient, group: str) -> str:
    topics = [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 7}]}]
    asked = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}
    answer = client.ask(request(OFFSET_COMMIT, 8, **asked, topics=topics))
    return str(answer.topics[0].partitions[0].error_code.name)


def add_offsets(client: RawClient, producer: dict[str, Any], group: str) -> str:
    return str(client.ask(request(ADD_OFFSETS, 3, **producer, group_id=group)).error_code.name)


def committed(client: RawClient, group: str) -> tuple[int, str]:
    topics = [{"name": "orders", "partition_indexes": [0]}]
    asked = request(OFFSET_FETCH, 8, groups=[{"group_id": group, "topics": topics}], require_stable=True)
    found = client.ask(asked).groups[0]
    if found.error_code != 0:
        return -2, found.error_code.name
    return found.topics[0].partitions[0].committed_offset, found.topics[0].partitions[0].error_code.name


@pytest.mark.parametrize("happens", ["the group moves", "its broker dies"])
def test_offsets_of_a_transaction_outlive_the_groups_coordinator(happens: str) -> None:
    with serving({"orders": 1}, AT_ONCE, version=VERSIONS["4.4"], brokers=("a", "b")) as server:
        names = [f"name{number}" for number in range(20)]
        core = server.cluster.states["a"].broker.coordinator.core
        group = next(name for name in names if core.leaders[core.partition_of(name)] == "b")
        mover = next(name for name in names if core.leaders[core.partition_of(name)] == "a")
        with coordinator(server, mover) as transactions:
            producer = begun(transactions, mover)
            with coordinator(server, group) as groups:
                assert commit(groups, producer, group) == "none"
                assert committed(groups, group) == (-1, "unstable_offset_commit")
            operations = Operations(server.cluster)
            if happens == "the group moves":
                server.loop.call(lambda: operations.move_coordinator(group, "a"))
            else:
                server.loop.call(lambda: operations.kill("b"))
            ended = transactions.ask(request(END, 5, **producer, committed=True))
            assert ended.error_code == 0
            if happens != "the group moves":
                server.loop.call(lambda: operations.move_coordinator(group, "a"))
            until(lambda: committed(transactions, group)[1] != "coordinator_load_in_progress")
            assert committed(transactions, group) == (7, "none")


def test_an_administrator_aborts_what_a_dead_producer_has_left() -> None:
    """As ``kafka-transactions --abort`` does it: a marker is written to the partition."""
    with serving({"orders": 1}, AT_ONCE) as server, RawClient(server.bootstrap) as client:
        producer = begun(client, "dead")
        number, epoch = producer["producer_id"], producer["producer_epoch"]
        sent = batch(b"v", producer=(number, epoch, 0), transactional=True)
        client.ask(produce("orders", sent, transactional_id="dead"))
        topics = [{"name": "orders", "partition_indexes": [0, 9]}]
        marker = {"producer_id": number, "producer_epoch": epoch, "transaction_result": False, "coordinator_epoch": 0}
        answer = client.ask(request(WRITE_MARKERS, 1, markers=[{**marker, "topics": topics}]))
        errors = [each.error_code.name for each in answer.markers[0].topics[0].partitions]
        assert errors == ["none", "unknown_topic_or_partition"]
        found = client.ask(fetch("orders", 0, isolation_level=1)).responses[0].partitions[0]
        assert (found.last_stable_offset, [each.first_offset for each in found.aborted_transactions]) == (2, [0])


def test_a_marker_is_refused_where_the_broker_leads_no_such_partition_of_offsets() -> None:
    with serving({"orders": 1}, AT_ONCE, brokers=("a", "b")) as server:
        core = server.cluster.states["a"].broker.coordinator.core
        mine, others = core.leaders.index("a"), core.leaders.index("b")
        topics = [{"name": "__consumer_offsets", "partition_indexes": [mine, others, -1, len(core.leaders)]}]
        marker = {"producer_id": 1, "producer_epoch": 0, "transaction_result": False, "coordinator_epoch": 0}
        with RawClient(server.bootstrap.split(",")[0]) as client:
            answer = client.ask(request(WRITE_MARKERS, 1, markers=[{**marker, "topics": topics}]))
        told = [each.error_code.name for each in answer.markers[0].topics[0].partitions]
        assert told == ["none", "not_leader_or_follower", *["unknown_topic_or_partition"] * 2]


def test_a_transaction_is_verified_before_acks_are_looked_at() -> None:
    with serving({"orders": 1}, AT_ONCE) as server, RawClient(server.bootstrap) as client:
        producer = begun(client, "mover")
        number, epoch = producer["producer_id"], producer["producer_epoch"]
        for claimed, expected in ((epoch + 1, "invalid_producer_epoch"), (epoch, "invalid_required_acks")):
            sent = batch(b"v", producer=(number, claimed, 0), transactional=True)
            answer = client.ask(produce("orders", sent, transactional_id="mover", acks=2))
            assert answer.responses[0].partition_responses[0].error_code.name == expected
        told = client.ask(request(DESCRIBE_TRANSACTIONS, 0, transactional_ids=["mover"])).transaction_states[0]
        assert (told.transaction_state, told.topics[0].topic) == ("Ongoing", "orders")


def test_a_reader_of_what_is_committed_waits_for_the_marker() -> None:
    with serving({"orders": 1}, AT_ONCE) as server, RawClient(server.bootstrap) as writer:
        producer = begun(writer, "slow")
        sent = batch(b"v", producer=(producer["producer_id"], producer["producer_epoch"], 0), transactional=True)
        writer.ask(produce("orders", sent, transactional_id="slow"))
        with RawClient(server.bootstrap) as reader:
            asked = fetch("orders", 0, isolation_level=1, max_wait=10_000, min_bytes=1)
            reader.send(asked)
            until(lambda: bool(server.cluster.states["broker-1"].fetches.waiting))
            began = time.monotonic()
            writer.ask(request(END, 5, **producer, committed=True))
            assert reader.hear(type(asked)).responses[0].partitions[0].last_stable_offset == 2
            assert time.monotonic() - began < 5


def test_ever_new_transactional_ids_fill_no_memory() -> None:
    """What has no open transaction is forgotten, the id used longest ago first; what is open stays."""
    with serving({"orders": 100}, AT_ONCE) as server, RawClient(server.bootstrap) as client:
        transactions = server.cluster.storage.transactions
        transactions.most_bytes = 20_000
        producer = begun(client, "open")
        assert commit(client, producer, "g") == "none"
        idle = [begun(client, f"idle {number}") for number in range(50)]
        assert len(list(transactions)) == 20_000 // (ENTRY_COST + len("idle 10")) - 1
        assert [add_offsets(client, idle[at], "g") for at in (0, -1)] == ["invalid_producer_id_mapping", "none"]
        topics = [{"name": "orders", "partitions": list(range(100))}]
        asked = request(ADD_PARTITIONS, 5, transactions=[{**idle[-1], "verify_only": False, "topics": topics}])
        results = client.ask(asked).results_by_transaction[0].topic_results[0].results_by_partition
        assert {each.partition_error_code.name for each in results} == {"coordinator_not_available"}
        assert client.ask(request(END, 4, **producer, committed=True)).error_code == 0
        assert committed(client, "g") == (7, "none")


def test_ever_new_offsets_of_a_transaction_fill_no_memory() -> None:
    with serving({"orders": 1}, AT_ONCE, version=VERSIONS["4.4"]) as server, RawClient(server.bootstrap) as client:
        storage, core = server.cluster.storage, server.cluster.states["broker-1"].broker.coordinator.core
        storage.bounds = replace(storage.bounds, pending_offset_bytes=10_000)
        producer = begun(client, "p")
        told = [commit(client, producer, f"g{number}", "x" * 1000) for number in (*range(8), 0)]
        assert told == [*["none"] * 6, *["coordinator_not_available"] * 2, "none"]
        assert core.pending_bytes <= 10_000
        ended = client.ask(request(END, 5, **producer, committed=True))
        assert (committed(client, "g5"), core.pending_bytes) == ((7, "none"), 0)
        producer |= {"producer_id": ended.producer_id, "producer_epoch": ended.producer_epoch}
        assert commit(client, producer, "g7") == "none"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_ever_new_groups_that_commit_fill_no_memory(protocol: str) -> None:
    """Groups without members expire, the one that committed longest ago first; those with members stay."""

    def joined(group: str) -> Consumer:
        own = {"group.id": group, "group.protocol": protocol, "enable.auto.commit": False}
        consumer = Consumer({"bootstrap.servers": server.bootstrap, **own})
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            consumer.poll(0.1)
        consumer.commit(offsets=[TopicPartition("orders", 0, 7)], asynchronous=False)
        return consumer

    with serving({"orders": 2}, AT_ONCE) as server, RawClient(server.bootstrap) as client:
        storage, state = server.cluster.storage, server.cluster.states["broker-1"]
        storage.bounds = replace(storage.bounds, offset_bytes=20_000)
        joined("left").close()
        living = joined("living")
        told = [commit_plainly(client, f"idle {number}") for number in range(100)]
        assert (set(told), state.offset_room.taken <= 20_000) == ({"none"}, True)
        known = [group for group in ("left", "living", "idle 0", "idle 99") if committed(client, group)[0] == 7]
        assert known == ["living", "idle 99"]
        storage.bounds = replace(storage.bounds, offset_bytes=1_500)
        assert commit_plainly(client, "more") == "coordinator_not_available"
        assert committed(client, "idle 99") == (-1, "none")
        living.commit(offsets=[TopicPartition("orders", 0, 8)], asynchronous=False)
        assert committed(client, "living") == (8, "none")
        living.close()
        assert commit_plainly(client, "more") == "none"


def test_a_real_client_that_finds_no_room_tries_again_until_there_is_some() -> None:
    with serving({"orders": 1}, AT_ONCE) as server, RawClient(server.bootstrap) as client:
        server.cluster.storage.transactions.most_bytes = 5_000
        opened: list[dict[str, Any]] = []
        while not opened or add_offsets(client, opened[-1], "g") == "none":
            opened.append(begun(client, f"open {len(opened)}"))
        confluent = Producer({"bootstrap.servers": server.bootstrap, "transactional.id": "honest"})
        confluent.init_transactions(20)
        confluent.begin_transaction()
        confluent.produce("orders", b"v")
        assert confluent.flush(2) == 1
        for producer in opened:
            client.ask(request(END, 4, **producer, committed=False))
        confluent.commit_transaction(20)


@rows(
    ("leaves", "brokers"),
    [
        ("nobody", ("a",)),
        ("the client", ("a",)),
        ("the broker, which comes back", ("a",)),
        ("the broker, of two", ("a", "b")),
    ],
)
def test_all_partitions_of_a_transaction_get_their_marker_whoever_leaves(leaves: str, brokers: tuple[str, ...]) -> None:
    """EndTxn of 1,000 partitions is handled in turns. Until the last marker is written there is no next transaction."""

    async def told() -> tuple[set[int], set[int], str]:
        world = Sockets(seed=1)
        cluster = ServedCluster(world, topics={"wide": 1_000}, brokers=brokers)
        await cluster.start()
        transactions, operations = (
            cluster.storage.transactions,
            Operations(cluster, ControllerSettings(broker_session_timeout_ms=100)),
        )
        name = next(each for each in "abcdef" if _coordinates(cluster, brokers[-1], each))
        producer = transactions.init(name, 60_000, Claim()).producer
        who = {"transactional_id": name, "producer_id": producer.id, "producer_epoch": producer.epoch}
        assert transactions.add(0, name, producer, [("wide", number) for number in range(1_000)]) == "NONE"
        logs = [cluster.storage.log("wide", number) for number in range(1_000)]
        wire = Wire(world, brokers[-1])
        assert wire.put(frame(request(END, 4, **who, committed=True))) == b""
        while 1 not in (early := {log.end for log in logs}):
            await asyncio.sleep(0)
        if leaves == "the client":
            wire.close()
        elif leaves != "nobody":
            operations.kill(brokers[-1])
            if len(brokers) == 1:
                await operations.bring_back("a")
        refused = transactions.add(0, name, producer, [("wide", 0)])
        async with asyncio.timeout(20):
            while transactions.ending or (leaves == "nobody" and not wire.transport.written):
                await asyncio.sleep(0.001)
        assert transactions.add(0, name, producer, [("wide", 0)]) == "NONE"
        assert leaves == "nobody" or wire.transport.written == []
        assert world.failures == []
        await world.close()
        return early, {log.end for log in logs}, refused

    early, late, refused = asyncio.run(told())
    assert (early, late, refused) == ({0, 1}, {1}, "CONCURRENT_TRANSACTIONS")


def _coordinates(cluster: ServedCluster, broker: str, name: str) -> bool:
    return cluster.states[broker].broker.coordinator.core.refusal(name) == "NONE"
