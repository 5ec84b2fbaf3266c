"""REGISTER_BROKER from brokers outside this process: header, and a body that holds the broker's topics (spec 1.1)."""

import json
import zlib

from protocols.engine.nodes import Message
from rocketmq_selfbalance.messages.nameserver import RegisterBroker
from rocketmq_selfbalance.messages.topics import DataVersion, TopicConfig
from rocketmq_selfbalance.remoting import LARGEST_FRAME, Frame
from rocketmq_selfbalance.wire.fields import FieldError, Fields, whole
from rocketmq_selfbalance.wire.messages import Registration

_TOPIC_PARTS = 5
"""Name, queues to read, queues to write, permission, filter type, between spaces."""


def decoded(number: int, frame: Frame, server: str) -> Message:
    """What a broker registers."""
    fields = Fields(frame.fields)
    told, compressed = frame.body, fields.flag("compressed")
    crc = fields.optional("bodyCrc32")
    if crc and zlib.crc32(told) & 0x7FFFFFFF != crc:
        raise FieldError("a body with another CRC than its header says")
    topics, version = _compressed(told) if compressed else _plain(told)
    broker = RegisterBroker(
        number,
        fields.text("clusterName"),
        fields.text("brokerName"),
        fields.whole("brokerId"),
        fields.text("brokerAddr"),
        topics,
        version,
    )
    return Registration(number, broker)


def _plain(body: bytes) -> tuple[tuple[TopicConfig, ...], DataVersion]:
    try:
        told = json.loads(body)["topicConfigSerializeWrapper"]
        configs = told.get("topicConfigTable") or {}
        topics = tuple(
            TopicConfig(
                topic,
                whole("readQueueNums", each.get("readQueueNums", 16)),
                whole("writeQueueNums", each.get("writeQueueNums", 16)),
                whole("perm", each.get("perm", 6)),
            )
            for topic, each in configs.items()
        )
        return topics, _version(told.get("dataVersion") or {})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FieldError("a registration whose body cannot be read") from None


def _version(told: dict[str, object]) -> DataVersion:
    counter = told.get("counter")  # older brokers: a number; fastjson writes an atomic one as such
    return DataVersion(
        whole("stateVersion", told.get("stateVersion", 0)),
        float(whole("timestamp", told.get("timestamp", 0))),
        whole("counter", counter if counter is not None else 0),
    )


def _compressed(body: bytes) -> tuple[tuple[TopicConfig, ...], DataVersion]:
    """Deflated: the data version as JSON, then each topic as a text, each after its length; servers that filter and
    static topics, which follow, are not read."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(body, LARGEST_FRAME)
        version, at = _chunk(content, 0)
        count, at = int.from_bytes(content[at : at + 4]), at + 4
        topics = []
        for _ in range(count):
            one, at = _chunk(content, at)
            topics.append(_topic(one.decode()))
        return tuple(topics), _version(json.loads(version))
    except (zlib.error, ValueError, TypeError, AttributeError, RecursionError):
        raise FieldError("a compressed registration whose body cannot be read") from None


def _chunk(content: bytes, at: int) -> tuple[bytes, int]:
    end = at + 4 + int.from_bytes(content[at : at + 4])
    if end > len(content):
        raise ValueError("a registration that ends too early")
    return content[at + 4 : end], end


def _topic(told: str) -> TopicConfig:
    parts = told.split(" ")
    if len(parts) < _TOPIC_PARTS:
        raise FieldError(f"a topic registered as {told[:40]!r}")
    read, write, perm = (whole("topic", each) for each in parts[1:4])
    return TopicConfig(parts[0], read, write, perm)
