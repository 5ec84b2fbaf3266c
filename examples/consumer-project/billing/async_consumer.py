"""The same service on aiokafka: one coroutine, at least once."""

from collections.abc import Awaitable, Callable
from typing import Any

from aiokafka import AIOKafkaConsumer

CONSUMER = {
    "bootstrap_servers": "kafka:9092",
    "group_id": "billing",
    "enable_auto_commit": False,
    "auto_offset_reset": "earliest",
}


async def bill(book: Callable[[Any], Awaitable[object]], topic: str = "orders", **settings: Any) -> None:
    """Books every record that comes, until it is cancelled. ``book`` must be idempotent."""
    consumer = AIOKafkaConsumer(topic, **{**CONSUMER, **settings})
    await consumer.start()
    try:
        async for record in consumer:
            await book(record)
            await consumer.commit()
    finally:
        await consumer.stop()
