"""Unmodified aiokafka and kafka-python consumers before the served cluster."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition

from protocols.facts import Committed
from tests.kafka_coordinator.wire.serving import Serving, serving
from tests.waiting import until

kafka = pytest.importorskip("kafka")


def in_loop(it: Serving, story: Callable[[Serving], Any]) -> None:
    asyncio.run(story(it))


async def comes(holds: Callable[[], bool], within_s: float = 10.0) -> None:
    await asyncio.to_thread(until, holds, within_s)


def aio(it: Serving, name: str, **more: Any) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        "orders",
        bootstrap_servers=it.bootstrap,
        group_id="g",
        client_id=name,
        auto_offset_reset="earliest",
        heartbeat_interval_ms=100,
        enable_auto_commit=False,
        **more,
    )


def test_aiokafka_joins_shares_reads_commits_and_leaves() -> None:
    async def story(it: Serving) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=it.bootstrap)
        await producer.start()
        for number in range(30):
            await producer.send_and_wait("orders", str(number).encode(), partition=number % 6)
        await producer.stop()
        first, second = aio(it, "a1"), aio(it, "a2")
        await first.start()
        await comes(lambda: it.owned("g") == {"a1": [0, 1, 2, 3, 4, 5]})
        await second.start()
        await comes(lambda: sorted(map(len, it.owned("g").values())) == [3, 3])
        assert it.owned("g")["a2"] == sorted(each.partition for each in second.assignment())
        values = [await asyncio.wait_for(second.getone(), 5) for _ in range(15)]
        assert {each.partition for each in values} == set(it.owned("g")["a2"])
        partition = TopicPartition("orders", it.owned("g")["a2"][0])
        await second.commit({partition: (3, "half way")})
        assert await second.committed(partition) == 3
        await first.stop()
        await comes(lambda: it.owned("g") == {"a2": [0, 1, 2, 3, 4, 5]})
        await second.stop()
        assert it.owned("g") == {}
        assert [fact.offset for fact in it.facts(Committed)] == [3]
        assert it.timeline().rebalance_count == 4

    with serving() as it:
        in_loop(it, story)


class Polled:
    """A kafka-python consumer that a thread polls."""

    def __init__(self, it: Serving, name: str) -> None:
        self.consumer = kafka.KafkaConsumer(
            "orders",
            bootstrap_servers=it.bootstrap,
            group_id="g",
            client_id=name,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=100,
            session_timeout_ms=6000,
        )
        # It must know the topic before it leads a group: else it assigns nothing first, and joins again.
        assert self.consumer.partitions_for_topic("orders") == set(range(6))
        self.read: list[Any] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ends.is_set():
            for records in self.consumer.poll(timeout_ms=50).values():
                self.read += records
        self.consumer.close()

    def close(self) -> None:
        self._ends.set()
        self._thread.join()


def test_kafka_python_joins_shares_reads_commits_and_leaves() -> None:
    with serving() as it:
        producer = kafka.KafkaProducer(bootstrap_servers=it.bootstrap)
        for number in range(30):
            producer.send("orders", str(number).encode(), partition=number % 6).get(5)
        producer.close()
        first = Polled(it, "p1")
        second = None
        try:
            until(lambda: it.owned("g") == {"p1": [0, 1, 2, 3, 4, 5]})
            until(lambda: len(first.read) == 30)
            second = Polled(it, "p2")
            until(lambda: sorted(map(len, it.owned("g").values())) == [3, 3])
            assert {fact.offset for fact in it.facts(Committed)} == {5}
            first.close()
            until(lambda: it.owned("g") == {"p2": [0, 1, 2, 3, 4, 5]})
        finally:
            first.close()
            if second is not None:
                second.close()
        assert it.owned("g") == {}
        assert second.read == [], "what the first one has read and committed is not read again"
