"""The same with RocketMQ's 5.x Python client (``pip install rocketmq-python-client``): receive, book, acknowledge."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from rocketmq.v5.exception import ClientException

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
            for message in self._received():
                try:
                    self.book(message)
                except ConnectionError:
                    self.consumer.change_invisible_duration(message, AGAIN_S)
                    continue
                self.consumer.ack(message)

    def _received(self) -> Sequence[Any]:
        try:
            return self.consumer.receive(16, self.invisible_s)
        except ClientException:  # right after startup() the proxy may not have the client's settings yet
            time.sleep(0.5)
            return ()
