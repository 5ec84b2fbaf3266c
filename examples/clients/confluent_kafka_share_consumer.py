"""A plain share consumer with confluent-kafka: it says of each record what became of it.

python confluent_kafka_share_consumer.py BOOTSTRAP TOPIC GROUP
"""

import os
import signal
import sys
import time

from confluent_kafka import AcknowledgeType, KafkaException, ShareConsumer

SLOW_RECORD_S = int(os.environ.get("EQUIPOISE_CALLBACK_MS", "0")) / 1000
FAILS = int(os.environ.get("EQUIPOISE_FAIL_FIRST", "0"))
REJECTS = os.environ.get("EQUIPOISE_REJECT_FIRST") == "1"

running = True


def stop(number: int, frame: object) -> None:
    global running
    running = False


def main(bootstrap: str, topic: str, group: str) -> None:
    consumer = ShareConsumer(
        {"bootstrap.servers": bootstrap, "group.id": group, "share.acknowledgement.mode": "explicit"}
    )
    consumer.subscribe([topic])
    first, failed = None, 0
    try:
        while running:
            for record in consumer.poll(0.2):
                if record.error() is not None:
                    raise KafkaException(record.error())
                place = record.partition(), record.offset()
                first = first or place
                time.sleep(SLOW_RECORD_S)
                if place == first and REJECTS:
                    consumer.acknowledge(record, AcknowledgeType.REJECT)
                elif place == first and failed < FAILS:
                    failed += 1
                    consumer.acknowledge(record, AcknowledgeType.RELEASE)
                elif running:
                    print(record.topic(), *place, record.delivery_count(), flush=True)
                    consumer.acknowledge(record, AcknowledgeType.ACCEPT)
                else:
                    break  # what is left is given back
            consumer.commit_async()
    finally:
        consumer.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    main(*sys.argv[1:])
