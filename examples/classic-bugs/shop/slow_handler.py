"""Packing an order may take longer than max.poll.interval.ms: the member is thrown out, and another packs it, too."""

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException

CONFIG = {
    "bootstrap.servers": "kafka:9092",
    "group.id": "shop",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "max.poll.interval.ms": 60_000,
    "session.timeout.ms": 45_000,
}


def _commit(consumer: Any, message: Any) -> None:
    try:
        consumer.commit(message=message, asynchronous=False)
    except KafkaException as error:
        print(f"not committed: {error}")


def buggy(consumer: Any, pack: Callable[[Any], object], seconds: Callable[[Any], float]) -> None:
    """Does not poll while it packs."""
    consumer.subscribe(["orders"])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        time.sleep(seconds(message))
        pack(message)
        _commit(consumer, message)


def mended(consumer: Any, pack: Callable[[Any], object], seconds: Callable[[Any], float]) -> None:
    """Packs a while, polls with its partitions paused, packs on."""
    consumer.subscribe(["orders"])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        consumer.pause(consumer.assignment())
        done = time.monotonic() + seconds(message)
        while (left := done - time.monotonic()) > 0:
            time.sleep(min(left, 5))
            consumer.poll(0)
        pack(message)
        _commit(consumer, message)
        consumer.resume(consumer.assignment())
