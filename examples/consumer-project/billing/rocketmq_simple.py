"""The same with RocketMQ's 5.x Python client (``pip install rocketmq-python-client``): receive, book, acknowledge."""

from collections.abc import Callable
from typing import Any

INVISIBLE_S = 30
"""So long nobody else gets what was received."""


class BillingWorker:
    """Books what a ``SimpleConsumer`` receives; what cannot be booked comes again."""

    def __init__(self, consumer: Any, book: Callable[[Any], object]) -> None:
        self.consumer, self.book = consumer, book

    def run(self) -> None:
        """Work until the process ends."""
        self.consumer.startup()
        while True:
            for message in self.consumer.receive(16, INVISIBLE_S):
                try:
                    self.book(message)
                except ConnectionError:
                    continue
                self.consumer.ack(message)
