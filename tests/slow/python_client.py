"""A client of the released Python packages; FOLDER holds the package.

FOLDER consume NAMESRV TOPIC GROUP INSTANCE TAGS concurrently|orderly, until its input ends; FOLDER produce NAMESRV
TOPIC TAG FIRST COUNT.
"""

import ctypes
import os
import sys
from typing import Any


class _Library:
    """The C++ library; functions that an older one lacks are there and cannot be called."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._missing: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._library, name)
        except AttributeError:
            return self._missing.setdefault(name, type(name, (), {})())


def consume(module: Any, server: str, topic: str, group: str, instance: str, tags: str, how: str) -> None:
    consumer = module.PushConsumer(group, orderly=how == "orderly")
    _address(consumer, server)
    if hasattr(consumer, "set_instance_name"):
        consumer.set_instance_name(instance)

    def handle(record: Any) -> Any:
        line = f"got {instance} {int(record.body)} {record.topic} {record.queue_id} {record.queue_offset}\n"
        os.write(1, line.encode())  # in one piece, whatever other threads print
        return getattr(module, "ConsumeStatus", None) and module.ConsumeStatus.CONSUME_SUCCESS

    consumer.subscribe(topic, handle, tags)
    consumer.start()
    print("started", flush=True)
    sys.stdin.read()
    consumer.shutdown()


def produce(module: Any, server: str, topic: str, tag: str, first: str, count: str) -> None:
    producer = module.Producer("python_producers")
    _address(producer, server)
    producer.start()
    for number in range(int(first), int(first) + int(count)):
        record = module.Message(topic)
        record.set_body(str(number))
        record.set_tags(tag)
        sent = producer.send_sync(record)
        print("sent", sent.status, sent.offset, flush=True)
    producer.shutdown()
    print("done", flush=True)


def _address(client: Any, server: str) -> None:
    (getattr(client, "set_name_server_address", None) or client.set_namesrv_addr)(server)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    load = ctypes.cdll.LoadLibrary
    ctypes.cdll.LoadLibrary = lambda path: _Library(load(path))  # type: ignore[assignment, return-value, method-assign]
    from rocketmq import client  # type: ignore[import-not-found, attr-defined]

    {"consume": consume, "produce": produce}[sys.argv[2]](client, *sys.argv[3:])
