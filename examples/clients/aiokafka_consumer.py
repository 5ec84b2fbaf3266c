"""A plain consumer with aiokafka: it commits what it has handled, also before partitions are taken away.

python aiokafka_consumer.py BOOTSTRAP TOPIC GROUP
"""

import asyncio
import os
import signal
import sys
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.errors import CommitFailedError, IllegalStateError, RebalanceInProgressError

SLOW_CALLBACK_S = int(os.environ.get("EQUIPOISE_CALLBACK_MS", "0")) / 1000

handled: dict[Any, int] = {}
"""Partition to the offset of the next record to handle."""


async def commit(consumer: Any) -> None:
    """Commit what was handled; in a rebalance somebody else may own it already."""
    if handled:
        try:
            await consumer.commit(dict(handled))
        except (CommitFailedError, IllegalStateError, RebalanceInProgressError) as error:
            print(f"not committed: {error}", file=sys.stderr)


class Listener(ConsumerRebalanceListener):
    def __init__(self, consumer: Any) -> None:
        self.consumer = consumer

    async def on_partitions_revoked(self, revoked: Any) -> None:
        await asyncio.sleep(SLOW_CALLBACK_S)
        await commit(self.consumer)
        for each in revoked:
            handled.pop(each, None)

    async def on_partitions_assigned(self, assigned: Any) -> None:
        pass


async def main(bootstrap: str, topic: str, group: str) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        group_instance_id=os.environ.get("EQUIPOISE_INSTANCE_ID"),
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    consumer.subscribe([topic], listener=Listener(consumer))
    await consumer.start()
    try:
        while not stopped.is_set():
            batch = await consumer.getmany(timeout_ms=200)
            for partition, records in batch.items():
                for record in records:
                    print(record.topic, record.partition, record.offset, flush=True)
                    handled[partition] = record.offset + 1
            if batch:
                await commit(consumer)
    finally:
        await consumer.stop()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
