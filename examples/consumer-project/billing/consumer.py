"""The service's loop: at least once, committing after each record."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException


class Billing:
    """Books every record that comes. ``consumer`` is a `confluent_kafka.Consumer`; ``book`` must be idempotent."""

    def __init__(self, consumer: Any, book: Callable[[Any], object]) -> None:
        self.consumer, self.book = consumer, book
        self.refused = 0
        """Commits that came too late: others read those partitions now, and book the record again."""

    def run(self, topics: list[str]) -> None:
        """Until the process ends."""
        self.consumer.subscribe(topics)
        try:
            while True:
                message = self.consumer.poll(1.0)
                if message is None or message.error():
                    continue
                self.book(message)
                self._commit(message)
        finally:
            self.consumer.close()

    def _commit(self, message: Any) -> None:
        try:
            self.consumer.commit(message=message, asynchronous=False)
        except KafkaException:
            self.refused += 1
