"""Orders are put into a queue for a worker, while the client commits by itself what poll() has handed out."""

from collections import deque
from collections.abc import Callable
from typing import Any

_CONFIG = {
    "bootstrap.servers": "kafka:9092",
    "group.id": "shop",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": True,
    "auto.commit.interval.ms": 1000,
}
BUGGY_CONFIG = _CONFIG
MENDED_CONFIG = {**_CONFIG, "enable.auto.offset.store": False}

AT_ONCE = 8
"""The worker begins when so many orders wait."""


def _loop(consumer: Any, work: Callable[[Any], object]) -> None:
    consumer.subscribe(["orders"])
    waiting: deque[Any] = deque()
    while True:
        message = consumer.poll(1.0)
        if message is not None and not message.error():
            waiting.append(message)
        if len(waiting) >= AT_ONCE:
            while waiting:
                work(waiting.popleft())


def buggy(consumer: Any, ship: Callable[[Any], object]) -> None:
    """What waits in the queue is committed already."""
    _loop(consumer, ship)


def mended(consumer: Any, ship: Callable[[Any], object]) -> None:
    """Only what the worker has shipped is stored for the next commit."""

    def work(message: Any) -> None:
        ship(message)
        consumer.store_offsets(message=message)

    _loop(consumer, work)
