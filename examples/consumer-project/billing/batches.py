"""The same service on kafka-python: whole batches, at least once."""

from collections.abc import Callable
from typing import Any

from kafka import KafkaConsumer

CONSUMER = {
    "bootstrap_servers": "kafka:9092",
    "group_id": "billing",
    "enable_auto_commit": False,
    "auto_offset_reset": "earliest",
    "max_poll_records": 50,
}


def bill_in_batches(book: Callable[[Any], object], topic: str = "orders", **settings: Any) -> None:
    """Books every batch that comes, until the process ends. ``book`` must be idempotent."""
    consumer = KafkaConsumer(topic, **{**CONSUMER, **settings})
    try:
        while True:
            for records in consumer.poll(timeout_ms=1000).values():
                book(records)
            consumer.commit()
    finally:
        consumer.close()
