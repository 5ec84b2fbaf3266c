"""Two workers that read orders in batches: the code under test."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition
from confluent_kafka import Consumer, KafkaException


class CrashError(Exception):
    """The process dies: nothing more is done, nothing is committed."""


class ThreadWorker(threading.Thread):
    """confluent-kafka: takes up to ten records, handles each, commits them together.

    ``commit_first`` is the bug: the batch is committed before it is handled.
    """

    def __init__(self, bootstrap: str, name: str, handle: Callable[[Any], None], *, commit_first: bool = False) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self._process, self._commit_first = handle, commit_first
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "billing",
                "client.id": name,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 200,
            }
        )

    def run(self) -> None:
        self._consumer.subscribe(["orders"])
        try:
            while not self.over.is_set():
                batch = [each for each in self._consumer.consume(10, 0.1) if each.error() is None]
                if batch:
                    self._work(batch)
        except CrashError:
            self._consumer.unsubscribe()
        self._consumer.close()

    def _work(self, batch: list[Any]) -> None:
        if self._commit_first:
            self._commit()
        for message in batch:
            self._process(message)
        if not self._commit_first:
            self._commit()

    def _commit(self) -> None:
        # Where it is refused, somebody else has the partitions now, and reads these records again.
        with suppress(KafkaException):
            self._consumer.commit(asynchronous=False)


async def work(bootstrap: str, name: str, handle: Callable[[Any], None], *, commit_end_of_fetch: bool = False) -> None:
    """aiokafka: takes up to ten records per partition, handles each, commits what it has handled.

    ``commit_end_of_fetch`` is the bug: after a crash within a batch it commits the position behind all it was given.
    """
    consumer = AIOKafkaConsumer(
        "orders",
        bootstrap_servers=bootstrap,
        group_id="billing",
        client_id=name,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=200,
    )
    await consumer.start()
    try:
        while True:
            batches = await consumer.getmany(timeout_ms=100, max_records=10)
            done: dict[TopicPartition, int] = {}
            try:
                for partition, messages in batches.items():
                    for message in messages:
                        handle(message)
                        done[partition] = message.offset + 1
            except CrashError:
                if commit_end_of_fetch:
                    await consumer.commit()
                return
            if done:
                await consumer.commit(done)
    finally:
        await consumer.stop()
