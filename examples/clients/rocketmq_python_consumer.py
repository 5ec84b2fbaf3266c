"""A plain consumer with RocketMQ's Python client of the 5.x line: it prints each record that it has handled.

python rocketmq_python_consumer.py ENDPOINTS TOPIC GROUP [push|simple]
"""

import os
import signal
import sys
import time
from threading import Event, Lock
from typing import Any

from rocketmq import (
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    MessageListener,
    PushConsumer,
    SimpleConsumer,
)

SLOW_RECORD_S = int(os.environ.get("EQUIPOISE_CALLBACK_MS", "0")) / 1000
FAILS = int(os.environ.get("EQUIPOISE_FAIL_FIRST", "0"))
INVISIBLE_S = 10

ended = Event()
lock = Lock()
first: list[bytes] = []
failed = 0


def handle(message: Any) -> bool:
    """Whether the record was handled."""
    global failed
    with lock:
        if not first:
            first.append(message.body)
        if message.body == first[0] and failed < FAILS:
            failed += 1
            return False
    time.sleep(SLOW_RECORD_S)
    with lock:  # a line at a time
        print(message.body.decode(), message.delivery_attempt, flush=True)
    return True


class Listener(MessageListener):  # type: ignore[misc]  # the client has no types
    def consume(self, message: Any) -> ConsumeResult:
        return ConsumeResult.SUCCESS if handle(message) else ConsumeResult.FAILURE


def receive(consumer: Any) -> None:
    """What is not handled comes again when its invisible time is over."""
    while not ended.is_set():
        try:
            messages = consumer.receive(16, INVISIBLE_S)
        except Exception as error:
            print(f"not received: {error}", file=sys.stderr)
            time.sleep(0.5)
            continue
        for message in messages:
            if SLOW_RECORD_S:
                consumer.change_invisible_duration(message, INVISIBLE_S)
            if not ended.is_set() and handle(message):
                try:
                    consumer.ack(message)
                except Exception as error:
                    print(f"not acknowledged: {error}", file=sys.stderr)


def main(endpoints: str, topic: str, group: str, kind: str = "push") -> None:
    to, subscription = ClientConfiguration(endpoints, Credentials()), {topic: FilterExpression()}
    if kind == "push":
        consumer = PushConsumer(to, group, Listener(), subscription)
        consumer.startup()
        ended.wait()
    else:
        consumer = SimpleConsumer(to, group, subscription, 5)
        consumer.startup()
        receive(consumer)
    consumer.shutdown()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
    main(*sys.argv[1:])
