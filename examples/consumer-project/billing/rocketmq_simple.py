"""The same with RocketMQ's 5.x Python client (``pip install rocketmq-python-client``): receive, book, acknowledge."""

from collections.abc import Callable
from typing import Any

INVISIBLE_S = 30
"""So long nobody else gets what was received."""
AGAIN_S = 1
"""What could not be booked is given out again after so long."""


class BillingWorker:
    """Books what a ``SimpleConsumer`` receives; what cannot be booked comes again."""

    def __init__(self, consumer: Any, book: Callable[[Any], object], invisible_s: int = INVISIBLE_S) -> None:
        self.consumer, self.book, self.invisible_s = consumer, book, invisible_s

    def run(self) -> None:
        """Work until the process ends."""
        self.consumer.startup()
        while True:
            for message in self.consumer.receive(16, self.invisible_s):
                try:
                    self.book(message)
                except ConnectionError:
                    self.consumer.change_invisible_duration(message, AGAIN_S)
                    continue
                self.consumer.ack(message)
