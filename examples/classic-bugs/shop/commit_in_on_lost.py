"""One callback ships and commits the rest, whether partitions are revoked or lost. What is lost has another owner."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException

CONFIG = {
    "bootstrap.servers": "kafka:9092",
    "group.id": "shop",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "max.poll.interval.ms": 60_000,
}

BATCH = 5


class _Collector:
    def __init__(self, consumer: Any, ship: Callable[[Any], object]) -> None:
        self.consumer, self.ship = consumer, ship
        self.waiting: list[Any] = []

    def loop(self) -> None:
        while True:
            message = self.consumer.poll(1.0)
            if message is not None and not message.error():
                self.waiting.append(message)
            elif len(self.waiting) >= BATCH:
                self.flush()

    def flush(self, *_: object) -> None:
        for message in self.waiting:
            self.ship(message)
        if self.waiting:
            self.waiting.clear()
            try:
                self.consumer.commit(asynchronous=False)
            except KafkaException as error:
                print(f"not committed: {error}")

    def forget(self, *_: object) -> None:
        self.waiting.clear()


def buggy(consumer: Any, ship: Callable[[Any], object]) -> None:
    """Without on_lost, on_revoke is called for partitions that are lost."""
    collector = _Collector(consumer, ship)
    consumer.subscribe(["orders"], on_revoke=collector.flush)
    collector.loop()


def mended(consumer: Any, ship: Callable[[Any], object]) -> None:
    """What is lost is forgotten: its new owner reads it."""
    collector = _Collector(consumer, ship)
    consumer.subscribe(["orders"], on_revoke=collector.flush, on_lost=collector.forget)
    collector.loop()
