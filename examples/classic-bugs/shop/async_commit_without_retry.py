"""Commits are sent without waiting, and nobody looks whether they arrive. The last one before the end counts."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException

CONFIG = {
    "bootstrap.servers": "kafka:9092",
    "group.id": "shop",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
}


def _loop(consumer: Any, ship: Callable[[Any], object]) -> None:
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        ship(message)
        consumer.commit(message=message, asynchronous=True)


def buggy(consumer: Any, ship: Callable[[Any], object]) -> None:
    """A commit that is not sent, or fails, is followed by none: a restart ships the last orders again."""
    consumer.subscribe(["orders"])
    try:
        _loop(consumer, ship)
    finally:
        consumer.close()


def mended(consumer: Any, ship: Callable[[Any], object]) -> None:
    """Before partitions are given away, and at the end, what was shipped is committed again, and waited for."""

    def settle(consumer: Any, *_: object) -> None:
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as error:
            print(f"nothing to commit, or not committed: {error}")

    consumer.subscribe(["orders"], on_revoke=settle)
    try:
        _loop(consumer, ship)
    finally:
        consumer.close()
