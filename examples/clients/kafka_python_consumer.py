"""A plain consumer with kafka-python: it commits what it has handled, also before partitions are taken away.

python kafka_python_consumer.py BOOTSTRAP TOPIC GROUP
"""

import os
import signal
import sys
import time
from typing import Any

from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.errors import CommitFailedError, RebalanceInProgressError

SLOW_CALLBACK_S = int(os.environ.get("EQUIPOISE_CALLBACK_MS", "0")) / 1000

running = True
handled: dict[Any, Any] = {}
"""Partition to the offset of the next record to handle."""


def stop(number: int, frame: object) -> None:
    global running
    running = False


def commit(consumer: Any) -> None:
    """Commit what was handled; in a rebalance somebody else may own it already."""
    if handled:
        try:
            consumer.commit(dict(handled))
        except (CommitFailedError, RebalanceInProgressError) as error:
            print(f"not committed: {error}", file=sys.stderr)


class Listener(AsyncConsumerRebalanceListener):
    """It runs in the client's own event loop, where a commit that blocks is refused; what blocks otherwise (here: the
    slow callback) keeps the client from sending heartbeats."""

    def __init__(self, consumer: Any) -> None:
        self.consumer = consumer

    async def on_partitions_revoked(self, revoked: Any) -> None:
        time.sleep(SLOW_CALLBACK_S)
        if handled:
            try:
                await self.consumer.commit_async(dict(handled))
            except (CommitFailedError, RebalanceInProgressError) as error:
                print(f"not committed: {error}", file=sys.stderr)
        await self.on_partitions_lost(revoked)

    async def on_partitions_lost(self, lost: Any) -> None:
        for each in lost:
            handled.pop(each, None)

    async def on_partitions_assigned(self, assigned: Any) -> None:
        pass


def main(bootstrap: str, topic: str, group: str) -> None:
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        group_instance_id=os.environ.get("EQUIPOISE_INSTANCE_ID"),
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    consumer.subscribe([topic], listener=Listener(consumer))
    try:
        while running:
            batch = consumer.poll(timeout_ms=200)
            for records in batch.values():
                for record in records:
                    print(record.topic, record.partition, record.offset, flush=True)
                    handled[TopicPartition(record.topic, record.partition)] = OffsetAndMetadata(
                        record.offset + 1, "", -1
                    )
            if batch:
                commit(consumer)
    finally:
        consumer.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    main(*sys.argv[1:])
