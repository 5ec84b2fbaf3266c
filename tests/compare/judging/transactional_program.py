"""A program that moves records within transactions: offsets are committed with what it writes. A third word makes it a
careless one, which goes on with the producer that was fenced, and whose errors it does not read."""

import signal
import sys
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

running = True


def stop(number: int, frame: object) -> None:
    global running
    running = False


def begun(bootstrap: str, group: str) -> Any:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{group}-mover"})
    producer.init_transactions(30)
    return producer


def move(producer: Any, consumer: Any, records: list[Any]) -> None:
    producer.begin_transaction()
    for each in records:
        producer.produce("moved", each.value())
    producer.send_offsets_to_transaction(
        consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 30
    )
    producer.commit_transaction(30)
    for each in records:
        print(each.topic(), each.partition(), each.offset(), flush=True)


def main(bootstrap: str, topic: str, group: str, careless: str = "") -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    producer = begun(bootstrap, group)
    try:
        while running:
            records = [each for each in consumer.consume(100, timeout=0.2) if each.error() is None]
            try:
                if records:
                    move(producer, consumer, records)
            except KafkaException as error:
                if careless:
                    continue
                if error.args[0].fatal():
                    producer = begun(bootstrap, group)
                else:
                    producer.abort_transaction(30)
                for each in consumer.committed(consumer.assignment(), 30):
                    consumer.seek(TopicPartition(each.topic, each.partition, max(each.offset, 0)))
    finally:
        consumer.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    main(*sys.argv[1:])
