"""Several brokers share the partitions: who does not lead one says who does, and waiting fetches hear of changes."""

import time
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kio.schema.errors import ErrorCode

from kafka_coordinator.wire.controller import BalanceLeaders, BrokerAway, BrokerBack
from kafka_coordinator.wire.records.settings import Bounds
from kafka_coordinator.wire.state import CONTROLLER
from tests.kafka_coordinator.wire.broker_cases import again, batch, create, fetch, list_offsets, produce
from tests.kafka_coordinator.wire.plain import request
from tests.kafka_coordinator.wire.raw_client import RawClient
from tests.kafka_coordinator.wire.serving import Serving, serving
from tests.waiting import until


@pytest.fixture
def server() -> Iterator[Serving]:
    with serving({"orders": 3}, brokers=("a", "b", "c")) as made:
        yield made


def command(server: Serving, message: tuple[Any, ...]) -> None:
    server.loop.call(server.world.command, CONTROLLER, message)


def client(server: Serving, place: int) -> RawClient:
    return RawClient(server.bootstrap.split(",")[place])


def test_who_does_not_lead_names_the_leader_in_the_answer(server: Serving) -> None:
    with client(server, 0) as a:
        answer = a.ask(produce("orders", None, batch(b"v")))
        wrong = answer.responses[0].partition_responses[1]
        assert wrong.error_code is ErrorCode.not_leader_or_follower
        assert wrong.current_leader.leader_id == 2
        assert [str(each.port) for each in answer.node_endpoints] == [server.bootstrap.split(",")[1].split(":")[1]]
        read = a.ask(fetch("orders", 0, 0, version=12))
        assert read.responses[0].partitions[1].error_code is ErrorCode.not_leader_or_follower


def test_a_waiting_fetch_is_answered_when_another_broker_takes_over(server: Serving) -> None:
    found: list[Any] = []

    def wait() -> None:
        with client(server, 0) as a:
            found.append(a.ask(fetch("orders", 0, max_wait=20_000, min_bytes=1)))

    thread = Thread(target=wait)
    thread.start()
    until(lambda: bool(server.cluster.states["a"].fetches.waiting))
    command(server, BrokerAway("a"))
    thread.join(5)
    assert found[0].responses[0].partitions[0].error_code is ErrorCode.not_leader_or_follower
    assert not server.cluster.states["a"].fetches.waiting_for


def test_records_outlive_a_change_of_leaders_and_epochs_tell_of_it(server: Serving) -> None:
    with client(server, 0) as a, client(server, 1) as b:
        a.ask(produce("orders", batch(b"before")))
        command(server, BrokerAway("a"))
        until(lambda: server.cluster.states["b"].leads("orders", 0))
        assert b.ask(produce("orders", batch(b"after"))).responses[0].partition_responses[0].base_offset == 1
        found = b.ask(list_offsets("orders", -1)).topics[0].partitions[0]
        assert (found.offset, found.leader_epoch) == (2, 1)
        old = b.ask(fetch("orders", 0, current_leader_epoch=0)).responses[0].partitions[0]
        assert old.error_code is ErrorCode.fenced_leader_epoch
        parts = [{"partition": 0, "leader_epoch": 0, "current_leader_epoch": 1}]
        asked = request(23, 4, replica_id=-1, topics=[{"topic": "orders", "partitions": parts}])
        ended = b.ask(asked).topics[0].partitions[0]
        assert (ended.leader_epoch, ended.end_offset) == (0, 1)
        command(server, BrokerBack("a"))
        command(server, BalanceLeaders())
        until(lambda: server.cluster.states["a"].leads("orders", 0))
        assert a.ask(list_offsets("orders", -1)).topics[0].partitions[0].leader_epoch == 2


def test_clients_find_the_new_leader_by_themselves(server: Serving) -> None:
    producer = Producer({"bootstrap.servers": server.bootstrap, "linger.ms": 0, "log_level": 0})
    consumer = Consumer({"bootstrap.servers": server.bootstrap, "group.id": "none", "log_level": 0})
    consumer.assign([TopicPartition("orders", 0, 0)])
    read: list[bytes | None] = []
    for number, change in enumerate((None, BrokerAway("a"), BrokerBack("a"), BalanceLeaders())):
        if change is not None:
            command(server, change)
        producer.produce("orders", str(number).encode(), partition=0)
        assert producer.flush(10) == 0
        end = time.monotonic() + 10
        while len(read) <= number and time.monotonic() < end:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                read.append(message.value())
    consumer.close()
    assert read == [b"0", b"1", b"2", b"3"]


def test_a_topic_without_replicas_elsewhere_has_no_leader_while_its_broker_is_away(server: Serving) -> None:
    with client(server, 1) as b, client(server, 0) as a:
        create(a.ask, "alone")
        command(server, BrokerAway("a"))
        until(lambda: server.cluster.states["b"].cluster.topics["alone"] == ("",))
        described = b.ask(request(75, 0, topics=[{"name": "alone"}], response_partition_limit=10, cursor=None))
        part = described.topics[0].partitions[0]
        assert part.error_code is ErrorCode.leader_not_available
        assert (part.leader_id, part.replica_nodes, part.isr_nodes, part.offline_replicas) == (-1, (1,), (), (1,))
        command(server, BrokerBack("a"))
        until(lambda: server.cluster.states["a"].leads("alone", 0))


def test_replicas_are_as_many_as_asked_and_where_asked(server: Serving) -> None:
    with client(server, 0) as a:
        places = [{"partition_index": at, "broker_ids": each} for at, each in enumerate(([3, 1], [2, 3]))]
        topics = [
            {"name": "spread", "num_partitions": 4, "replication_factor": 2},
            {"name": "placed", "num_partitions": -1, "replication_factor": -1, "assignments": places},
            {"name": "too-many", "num_partitions": 1, "replication_factor": 4},
        ]
        codes = [each.error_code for each in a.ask(request(19, 7, topics=topics)).topics]
        assert codes == [ErrorCode.none, ErrorCode.none, ErrorCode.invalid_replication_factor]
        described = a.ask(request(75, 0, topics=[], response_partition_limit=100, cursor=None))
        found = {each.name: [part.replica_nodes for part in each.partitions] for each in described.topics}
        assert found["placed"] == [(3, 1), (2, 3)]
        assert found["spread"] == [(1, 2), (2, 3), (3, 1), (1, 2)]


def test_all_sessions_taken_a_client_is_served_without_one() -> None:
    with serving({"orders": 1}) as server:
        storage = server.cluster.storage
        storage.bounds = Bounds(fetch_sessions=2, session_eviction_ms=200)
        with client(server, 0) as a:
            numbers = [a.ask(fetch("orders", 0, session_id=0, session_epoch=0)).session_id for _ in range(3)]
            assert [each > 0 for each in numbers] == [True, True, False]
            time.sleep(0.3)
            assert a.ask(again(12, numbers[1], 1)).error_code is ErrorCode.none
            newer = a.ask(fetch("orders", 0, session_id=0, session_epoch=0)).session_id
            assert newer > 0
            assert a.ask(again(12, numbers[0], 1)).error_code is ErrorCode.fetch_session_id_not_found
            assert a.ask(again(12, numbers[1], 2)).error_code is ErrorCode.none
            assert len(server.cluster.states["broker-1"].fetches.sessions) == 2


def test_a_client_that_goes_waits_no_longer() -> None:
    with serving({"orders": 1}) as server:
        fetches = server.cluster.states["broker-1"].fetches
        with client(server, 0) as a:
            a.send(fetch("orders", 0, max_wait=20_000, min_bytes=1))
            until(lambda: bool(fetches.waiting))
        until(lambda: not fetches.waiting and not fetches.waiting_for)


def test_a_fetch_waits_for_as_many_bytes_as_it_asks_and_no_longer_than_it_says() -> None:
    with serving({"orders": 1}) as server, client(server, 0) as a, client(server, 0) as b:
        a.send(fetch("orders", 0, max_wait=10_000, min_bytes=150))
        until(lambda: bool(server.cluster.states["broker-1"].fetches.waiting))
        b.ask(produce("orders", batch(b"x")))
        time.sleep(0.05)
        assert server.cluster.states["broker-1"].fetches.waiting
        b.ask(produce("orders", batch(b"x" * 100)))
        kind = type(fetch("orders", 0))
        assert a.hear(kind).responses[0].partitions[0].high_watermark == 2
        began = time.perf_counter()
        assert a.ask(fetch("orders", 2, max_wait=200, min_bytes=1)).responses[0].partitions[0].records == b""
        assert 0.19 < time.perf_counter() - began < 2


def test_without_acks_nothing_is_answered_and_an_error_closes_the_connection() -> None:
    with serving({"orders": 1}) as server, client(server, 0) as a:
        a.send(produce("orders", batch(b"v"), acks=0))
        assert a.ask(list_offsets("orders", -1)).topics[0].partitions[0].offset == 1
        a.send(produce("nowhere", batch(b"v"), acks=0))
        assert a.hear(type(list_offsets("orders", -1))) is None


def test_a_groups_own_settings_reach_its_coordinator() -> None:
    with serving({"orders": 1}) as server, client(server, 0) as a:
        for operation, value, expected in ((0, "7000", {"consumer.heartbeat.interval.ms": 7000}), (1, None, {})):
            change = {"name": "consumer.heartbeat.interval.ms", "config_operation": operation, "value": value}
            resource = {"resource_type": 32, "resource_name": "g", "configs": [change]}
            assert a.ask(request(44, 1, resources=[resource])).responses[0].error_code is ErrorCode.none
            core = server.cluster.states["broker-1"].broker.coordinator.core
            assert core.group_settings["g"] == expected
