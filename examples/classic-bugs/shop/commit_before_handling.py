"""Each order is committed, then shipped. A process that dies in between has committed an order that nobody ships."""

from collections.abc import Callable
from typing import Any

CONFIG = {
    "bootstrap.servers": "kafka:9092",
    "group.id": "shop",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
}


def buggy(consumer: Any, ship: Callable[[Any], object]) -> None:
    """Commits first."""
    consumer.subscribe(["orders"])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        consumer.commit(message=message, asynchronous=False)
        ship(message)


def mended(consumer: Any, ship: Callable[[Any], object]) -> None:
    """Ships first: what was shipped and not committed comes again, and nothing is forgotten."""
    consumer.subscribe(["orders"])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        ship(message)
        consumer.commit(message=message, asynchronous=False)
