"""JSON as RocketMQ's Java servers write it: objects stand as keys of objects."""

import json
from collections.abc import Iterable, Mapping

from protocols.java import Queue


def queue_json(queue: Queue) -> dict[str, str | int]:
    """A ``MessageQueue``."""
    return {"brokerName": queue.broker, "queueId": queue.number, "topic": queue.topic}


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def with_queue_keys(beside: Mapping[str, object], name: str, rows: Iterable[tuple[Queue, object]]) -> bytes:
    """An object with what stands beside, and under ``name`` an object whose keys are queues."""
    first = "".join(f"{_text(key)}:{_text(value)}," for key, value in beside.items())
    table = ",".join(f"{_text(queue_json(queue))}:{_text(value)}" for queue, value in rows)
    return f"{{{first}{_text(name)}:{{{table}}}}}".encode()
