"""Orders of tools, from frames to the simulation's commands, and REGISTER_BROKER from brokers outside this process
(spec 1.1)."""

import re
import zlib

from protocols.engine.nodes import Message
from rocketmq_selfbalance.messages import membership, nameserver
from rocketmq_selfbalance.remoting import Frame, json_of
from rocketmq_selfbalance.wire.messages import Administer, FieldError, Fields, Registration, body_of, text, whole

LEGAL_GROUP = re.compile(r"[%|a-zA-Z0-9_-]{1,255}")
"""Names that a group may have."""


def update_topic(number: int, frame: Frame, server: str) -> Message:
    """UPDATE_AND_CREATE_TOPIC."""
    fields = Fields(frame.fields)
    read, write = fields.whole("readQueueNums", 16), fields.whole("writeQueueNums", 16)
    if not (0 <= read <= 65_536 and 0 <= write <= 65_536):
        raise FieldError(f"a topic of {read} queues to read and {write} to write")
    config = nameserver.TopicConfig(
        fields.text("topic"), read, write, fields.whole("perm", 6), _kind(fields.text("attributes", ""))
    )
    return Administer(number, membership.UpdateTopic(number, config))


KINDS = frozenset(("NORMAL", "FIFO", "DELAY", "TRANSACTION", "PRIORITY", "MIXED"))
"""Of topics: what producers of the 5.x line may send."""


def _kind(attributes: str) -> str:
    """What is said with ``+message.type=FIFO``; NORMAL where nothing is."""
    for attribute in attributes.split(","):
        name, _, value = attribute.partition("=")
        if name.strip() == "+message.type" and value.strip() in KINDS:
            return value.strip()
    return "NORMAL"


def delete_topic(number: int, frame: Frame, server: str) -> Message:
    """DELETE_TOPIC_IN_BROKER."""
    return Administer(number, membership.DeleteTopicInBroker(number, Fields(frame.fields).text("topic")))


def update_group(number: int, frame: Frame, server: str) -> Message:
    """UPDATE_AND_CREATE_SUBSCRIPTIONGROUP."""
    body = body_of(frame)
    group = text(body, "groupName")
    if not LEGAL_GROUP.fullmatch(group):
        raise FieldError(f"the group name {group[:40]!r}")
    config = membership.SubscriptionGroup(
        group,
        body.get("consumeEnable", True) is True,
        body.get("consumeBroadcastEnable", True) is True,
        min(max(whole("retryQueueNums", body.get("retryQueueNums", 1)), 0), 1024),
        whole("retryMaxTimes", body.get("retryMaxTimes", 16)),
        body.get("notifyConsumerIdsChangedEnable", True) is True,
        body.get("consumeMessageOrderly", False) is True,
    )
    return Administer(number, membership.UpdateSubscriptionGroup(number, config))


def delete_group(number: int, frame: Frame, server: str) -> Message:
    """DELETE_SUBSCRIPTIONGROUP."""
    fields = Fields(frame.fields)
    clean = fields.flag("cleanOffset")
    return Administer(number, membership.DeleteSubscriptionGroup(number, fields.text("groupName"), clean))


def reset(number: int, frame: Frame, server: str) -> Message:
    """INVOKE_BROKER_TO_RESET_OFFSET."""
    fields = Fields(frame.fields)
    offset = fields.optional("offset")
    return Administer(
        number,
        membership.ResetOffset(
            number,
            fields.text("group"),
            fields.text("topic"),
            float(fields.whole("timestamp")),
            fields.flag("isForce"),
            fields.whole("queueId", -1),
            None if offset is None or offset < 0 else offset,
        ),
    )


def unregister_broker(number: int, frame: Frame, server: str) -> Message:
    """UNREGISTER_BROKER."""
    fields = Fields(frame.fields)
    cluster, broker, address = fields.text("clusterName"), fields.text("brokerName"), fields.text("brokerAddr")
    return Administer(number, nameserver.UnregisterBroker(number, cluster, broker, fields.whole("brokerId"), address))


def wipe(number: int, frame: Frame, server: str) -> Message:
    """WIPE_WRITE_PERM_OF_BROKER."""
    return Administer(number, nameserver.WipeWritePerm(number, Fields(frame.fields).text("brokerName")))


def add_perm(number: int, frame: Frame, server: str) -> Message:
    """ADD_WRITE_PERM_OF_BROKER."""
    return Administer(number, nameserver.AddWritePerm(number, Fields(frame.fields).text("brokerName")))


def forget_topic(number: int, frame: Frame, server: str) -> Message:
    """DELETE_TOPIC_IN_NAMESRV."""
    return Administer(number, nameserver.DeleteTopicInNameServer(number, Fields(frame.fields).text("topic")))


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
    broker = nameserver.RegisterBroker(
        number,
        fields.text("clusterName"),
        fields.text("brokerName"),
        fields.whole("brokerId"),
        fields.text("brokerAddr"),
        topics,
        version,
    )
    return Registration(number, broker)


MOST_REGISTERED = 4 * 1024 * 1024
"""Bytes of a registration, decompressed: of some 20,000 topics."""


def _plain(body: bytes) -> tuple[tuple[nameserver.TopicConfig, ...], nameserver.DataVersion]:
    if len(body) > MOST_REGISTERED:
        raise FieldError(f"a registration of {len(body)} bytes, allowed are {MOST_REGISTERED}")
    try:
        told = json_of(body)["topicConfigSerializeWrapper"]
        configs = told.get("topicConfigTable") or {}
        topics = tuple(
            nameserver.TopicConfig(
                topic,
                whole("readQueueNums", config.get("readQueueNums", 16)),
                whole("writeQueueNums", config.get("writeQueueNums", 16)),
                whole("perm", config.get("perm", 6)),
            )
            for topic, config in configs.items()
        )
        return topics, _version(told.get("dataVersion") or {})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FieldError("a registration whose body cannot be read") from None


def _version(told: dict[str, object]) -> nameserver.DataVersion:
    counter = told.get("counter")  # older brokers: a number; fastjson writes an atomic one as such
    return nameserver.DataVersion(
        whole("stateVersion", told.get("stateVersion", 0)),
        float(whole("timestamp", told.get("timestamp", 0))),
        whole("counter", counter if counter is not None else 0),
    )


def _compressed(body: bytes) -> tuple[tuple[nameserver.TopicConfig, ...], nameserver.DataVersion]:
    """Deflated: the data version as JSON, then each topic as a text, each after its length; servers that filter and
    static topics, which follow, are not read."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(body, MOST_REGISTERED)
        if not unpacking.eof:
            raise FieldError(f"a compressed registration that is cut, or of more than {MOST_REGISTERED} bytes")
        version, at = _chunk(content, 0)
        count, at = int.from_bytes(content[at : at + 4]), at + 4
        topics = []
        for _ in range(count):
            one, at = _chunk(content, at)
            topics.append(_topic(one.decode()))
        return tuple(topics), _version(json_of(version))
    except (zlib.error, ValueError, TypeError, AttributeError, RecursionError):
        raise FieldError("a compressed registration whose body cannot be read") from None


def _chunk(content: bytes, at: int) -> tuple[bytes, int]:
    end = at + 4 + int.from_bytes(content[at : at + 4])
    if end > len(content):
        raise ValueError("a registration that ends too early")
    return content[at + 4 : end], end


def _topic(told: str) -> nameserver.TopicConfig:
    parts = told.split(" ")
    if len(parts) < _TOPIC_PARTS:
        raise FieldError(f"a topic registered as {told[:40]!r}")
    read, write, perm = (whole("topic", part) for part in parts[1:4])
    return nameserver.TopicConfig(parts[0], read, write, perm)
