"""A program of its own: for every invoice a receipt, exactly once, by a transaction for each."""

import json
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from .settings import CONSUMER

PRODUCER = {"bootstrap.servers": "kafka:9092", "transactional.id": "receipts"}


def main() -> None:
    """Until the process ends."""
    consumer, producer = Consumer(CONSUMER), Producer(PRODUCER)
    producer.init_transactions()
    consumer.subscribe(["invoices"])
    try:
        while True:
            message = consumer.poll(1.0)
            if message is not None and not message.error():
                write(consumer, producer, message)
    finally:
        consumer.close()


def write(consumer: Any, producer: Any, message: Any) -> None:
    """The receipt and the offset of the invoice, both or neither."""
    producer.begin_transaction()
    try:
        receipt = json.dumps({"of": message.value().decode()})
        producer.produce("receipts", receipt, key=message.key())
        offsets = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata())
        producer.commit_transaction()
    except KafkaException as failed:
        if not failed.args[0].txn_requires_abort():
            raise
        producer.abort_transaction()
        consumer.seek(TopicPartition(message.topic(), message.partition(), message.offset()))
