"""Orders are collected and shipped five at a time. Those of a partition that was revoked are another member's."""

from collections.abc import Callable
from typing import Any

CONFIG = {
    "bootstrap.servers": "kafka:9092",
    "group.id": "shop",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
}

BATCH = 5


class _Collector:
    def __init__(self, consumer: Any, ship: Callable[[Any], object]) -> None:
        self.consumer, self.ship = consumer, ship
        self.waiting: dict[int, list[Any]] = {}

    def loop(self) -> None:
        while True:
            message = self.consumer.poll(1.0)
            if message is None or message.error():
                continue
            batch = self.waiting.setdefault(message.partition(), [])
            batch.append(message)
            if len(batch) >= BATCH:
                self.flush(message.partition())

    def flush(self, partition: int) -> None:
        batch = self.waiting.pop(partition, [])
        for message in batch:
            self.ship(message)
        if batch:
            self.consumer.commit(message=batch[-1], asynchronous=False)


def buggy(consumer: Any, ship: Callable[[Any], object]) -> None:
    """Ships what it has collected, whether or not the partition is still its own."""
    collector = _Collector(consumer, ship)
    consumer.subscribe(["orders"])
    collector.loop()


def mended(consumer: Any, ship: Callable[[Any], object]) -> None:
    """Ships and commits what it has of a partition before it gives it away."""
    collector = _Collector(consumer, ship)

    def revoked(consumer: Any, partitions: list[Any]) -> None:
        for each in partitions:
            collector.flush(each.partition)

    def lost(consumer: Any, partitions: list[Any]) -> None:
        for each in partitions:
            collector.waiting.pop(each.partition, None)

    consumer.subscribe(["orders"], on_revoke=revoked, on_lost=lost)
    collector.loop()
