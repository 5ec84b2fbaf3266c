"""A consumer with a fault: it commits before it handles, and drops what it has in hand where the commit fails."""

import signal
import sys

from confluent_kafka import Consumer, KafkaException

running = True


def stop(number: int, frame: object) -> None:
    global running
    running = False


def main(bootstrap: str, topic: str, group: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    try:
        while running:
            records = [each for each in consumer.consume(100, timeout=0.2) if each.error() is None]
            try:
                if records:
                    consumer.commit(asynchronous=False)
            except KafkaException:
                continue
            for each in records:
                print(each.topic(), each.partition(), each.offset(), flush=True)
    finally:
        consumer.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    main(*sys.argv[1:])
