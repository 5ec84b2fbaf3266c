"""A consumer of a group (kafka-python, aiokafka or confluent-kafka) as a process of its own, so that it can be killed.

python member_program.py LIBRARY SETTINGS

SETTINGS is JSON, the library's own. It prints a line ``topic partition offset`` for each record, commits what it has
printed after every batch, and closes its consumer at SIGTERM.
"""

import asyncio
import json
import signal
import sys
from typing import Any

TOPIC = "orders"
running = True


def stop(number: int, frame: object) -> None:
    global running
    running = False


def tell(topic: str, partition: int, offset: int) -> None:
    print(topic, partition, offset, flush=True)


def of_name(settings: dict[str, Any], *assignors: Any) -> None:
    """The setting names assignors, as for librdkafka; these libraries take their classes."""
    if named := settings.pop("assignors", ""):
        classes = {assignor.name: assignor for assignor in assignors}
        settings["partition_assignment_strategy"] = [classes[name] for name in named.split(",")]


def kafka_python(settings: dict[str, Any]) -> None:
    from kafka import KafkaConsumer
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

    of_name(settings, CooperativeStickyAssignor, RangePartitionAssignor, RoundRobinPartitionAssignor)
    consumer = KafkaConsumer(TOPIC, **settings)
    consumer.partitions_for_topic(TOPIC)  # a leader that does not know the topic yet assigns nothing first
    while running:
        batches = consumer.poll(timeout_ms=50)
        for records in batches.values():
            for each in records:
                tell(each.topic, each.partition, each.offset)
        if batches:
            consumer.commit()
    consumer.close()


async def aiokafka(settings: dict[str, Any]) -> None:
    from aiokafka import AIOKafkaConsumer
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

    of_name(settings, RangePartitionAssignor, RoundRobinPartitionAssignor)
    consumer = AIOKafkaConsumer(TOPIC, **settings)
    await consumer.start()
    while running:
        batches = await consumer.getmany(timeout_ms=50)
        for records in batches.values():
            for each in records:
                tell(each.topic, each.partition, each.offset)
        if batches:
            await consumer.commit()
    await consumer.stop()


def confluent_kafka(settings: dict[str, Any]) -> None:
    from confluent_kafka import Consumer

    consumer = Consumer(settings)
    consumer.subscribe([TOPIC])
    while running:
        record = consumer.poll(0.05)
        if record is not None and record.error() is None:
            tell(record.topic(), record.partition(), record.offset())
            consumer.commit(record, asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    library, given = sys.argv[1], json.loads(sys.argv[2])
    if library == "kafka-python":
        kafka_python(given)
    elif library == "aiokafka":
        asyncio.run(aiokafka(given))
    else:
        confluent_kafka(given)
