"""A plain consumer with confluent-kafka: it commits what it has handled, also before partitions are taken away.

python confluent_kafka_consumer.py BOOTSTRAP TOPIC GROUP [classic|consumer]
"""

import os
import signal
import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

SLOW_CALLBACK_S = int(os.environ.get("EQUIPOISE_CALLBACK_MS", "0")) / 1000

FATAL = (KafkaError._FATAL, KafkaError.GROUP_AUTHORIZATION_FAILED)

running = True
handled: dict[tuple[str, int], int] = {}
"""Partition to the offset of the next record to handle."""


def stop(number: int, frame: object) -> None:
    global running
    running = False


def commit(consumer: Any) -> None:
    """Commit what was handled; in a rebalance somebody else may own it already."""
    offsets = [TopicPartition(topic, number, offset) for (topic, number), offset in handled.items()]
    if offsets:
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            if error.args[0].fatal() or error.args[0].code() == KafkaError._FATAL:
                raise
            print(f"not committed: {error}", file=sys.stderr)


def revoked(consumer: Any, partitions: list[Any]) -> None:
    time.sleep(SLOW_CALLBACK_S)
    commit(consumer)
    lost(consumer, partitions)


def lost(consumer: Any, partitions: list[Any]) -> None:
    for each in partitions:
        handled.pop((each.topic, each.partition), None)


def main(bootstrap: str, topic: str, group: str, protocol: str = "classic") -> None:
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    if "EQUIPOISE_INSTANCE_ID" in os.environ:
        settings["group.instance.id"] = os.environ["EQUIPOISE_INSTANCE_ID"]
    consumer = Consumer(settings)
    consumer.subscribe([topic], on_revoke=revoked, on_lost=lost)
    try:
        while running:
            records = consumer.consume(100, timeout=0.2)
            for record in records:
                if record.error() is None:
                    print(record.topic(), record.partition(), record.offset(), flush=True)
                    handled[record.topic(), record.partition()] = record.offset() + 1
                elif record.error().fatal() or record.error().code() in FATAL:
                    raise KafkaException(record.error())
            if records:
                commit(consumer)
    finally:
        consumer.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    main(*sys.argv[1:])
