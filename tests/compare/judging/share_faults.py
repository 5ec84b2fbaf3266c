"""A share consumer with one fault: BOOTSTRAP TOPIC GROUP FAULT."""

import os
import signal
import sys
import time
from typing import Any

from confluent_kafka import AcknowledgeType, ShareConsumer

SLOW_S = int(os.environ.get("EQUIPOISE_CALLBACK_MS", "0")) / 1000
FAILS = os.environ.get("EQUIPOISE_FAIL_FIRST") is not None
REJECTS = os.environ.get("EQUIPOISE_REJECT_FIRST") is not None
ACCEPT, RELEASE = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE

bootstrap, topic, group, fault = sys.argv[1:]
running, first, refused = True, True, False


def stop(number: int, frame: object) -> None:
    global running
    running = False


def handle(consumer: Any, record: Any) -> None:
    global first
    special, first = first, False
    count = record.delivery_count()
    if special and (FAILS or REJECTS):
        # `drops`: what it could not handle counts as done; `releases`: what it must not have again comes again
        consumer.acknowledge(record, ACCEPT if fault == "drops" else RELEASE)
        return
    time.sleep(SLOW_S)
    if (fault == "skips" and count > 1) or (fault == "accepts all at the end" and not running):
        consumer.acknowledge(record, ACCEPT)
        return
    print(record.topic(), record.partition(), record.offset(), 1 if fault == "miscounts" else count, flush=True)
    if fault != "forgets":  # to poll again
        consumer.acknowledge(record, ACCEPT)


signal.signal(signal.SIGTERM, stop)
mode = "implicit" if fault == "forgets" else "explicit"
member = ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group, "share.acknowledgement.mode": mode})
member.subscribe([topic])
batches = 0
while running:
    if fault == "forgets" and batches == 3:  # what it was given last is never accepted
        time.sleep(0.1)
        continue
    records = member.poll(0.2)
    batches += bool(records)
    for each in records:
        handle(member, each)
    errors = () if fault == "forgets" else member.commit_sync(5.0).values()
    if fault == "ends at a refusal" and any(errors):
        raise SystemExit(3)
member.close()
