"""The offsets are kept in the program's own database, beside what it has computed. Where to go on is said too early."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException

CONFIG = {
    "bootstrap.servers": "kafka:9092",
    "group.id": "shop",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
}


def _loop(consumer: Any, count: Callable[[Any], object], offsets: dict[int, int]) -> None:
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        count(message)
        offsets[message.partition()] = message.offset() + 1  # one transaction with what was counted


def buggy(consumer: Any, count: Callable[[Any], object], offsets: dict[int, int]) -> None:
    """In on_assign nothing is assigned yet: seek() is refused, and reading begins where the group has committed."""

    def assigned(consumer: Any, partitions: list[Any]) -> None:
        for each in partitions:
            each.offset = offsets.get(each.partition, 0)
            try:
                consumer.seek(each)
            except KafkaException as error:
                print(f"cannot seek: {error}")

    consumer.subscribe(["orders"], on_assign=assigned)
    _loop(consumer, count, offsets)


def mended(consumer: Any, count: Callable[[Any], object], offsets: dict[int, int]) -> None:
    """In on_assign the program assigns, with the offsets that it wants."""

    def assigned(consumer: Any, partitions: list[Any]) -> None:
        for each in partitions:
            each.offset = offsets.get(each.partition, 0)
        consumer.assign(partitions)

    consumer.subscribe(["orders"], on_assign=assigned)
    _loop(consumer, count, offsets)
