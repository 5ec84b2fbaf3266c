"""What the proxy refuses before it asks a broker, with its codes and texts (spec grpc 2, 3, 7)."""

import re
from collections.abc import Mapping
from typing import Final

from rocketmq_selfbalance.proxy.definitions import Code, Message, MessageType, Resource, Status, SystemProperties
from rocketmq_selfbalance.proxy.settings import ProxySettings


class RefusedError(Exception):
    """A request is answered with this status."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.status = Status(code, message)


def proxy_exception(code: Code, why: str) -> RefusedError:
    """A refusal whose text names the proxy's own exception."""
    return RefusedError(code, f"org.apache.rocketmq.proxy.common.ProxyException: {why}")


_LEGAL: Final = re.compile(r"[%|a-zA-Z0-9_-]+")
_LONGEST_TOPIC, _LONGEST_GROUP = 127, 255
_ALLOWED = "allowing only ^[%|a-zA-Z0-9_-]+$"
SYSTEM_NAMES: Final = frozenset(
    (
        "TBW102",
        "SCHEDULE_TOPIC_XXXX",
        "BenchmarkTest",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRACE_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
        "CHECKPOINT_TOPIC",
    )
)
_SYSTEM_PREFIX: Final = "rmq_sys_"

_SYSTEM_PROPERTIES = """
KEYS TAGS WAIT DELAY RETRY_TOPIC REAL_TOPIC REAL_QID TRAN_MSG PGROUP MIN_OFFSET MAX_OFFSET BUYER_ID
ORIGIN_MESSAGE_ID TRANSFER_FLAG CORRECTION_FLAG MQ2_FLAG RECONSUME_TIME MSG_REGION TRACE_ON UNIQ_KEY
EXTEND_UNIQ_INFO MAX_RECONSUME_TIMES CONSUME_START_TIME POP_CK POP_CK_OFFSET 1ST_POP_TIME
TRAN_PREPARED_QUEUE_OFFSET DUP_INFO CHECK_IMMUNITY_TIME_IN_SECONDS INSTANCE_ID CORRELATION_ID
REPLY_TO_CLIENT TTL ARRIVE_TIME PUSH_REPLY_TIME CLUSTER MSG_TYPE INNER_MULTI_QUEUE_OFFSET __BORNHOST
__TRACE_CONTEXT TIMER_DELAY_MS TIMER_DELAY_SEC TIMER_DELIVER_MS TIMER_ENQUEUE_MS TIMER_DEQUEUE_MS
TIMER_ROLL_TIMES TIMER_OUT_MS TIMER_DEL_UNIQKEY TIMER_DELAY_LEVEL DLQ_ORIGIN_TOPIC
DLQ_ORIGIN_MESSAGE_ID __CRC32# _SYS_MSG_PRIORITY_
"""
SYSTEM_PROPERTIES: Final = frozenset(_SYSTEM_PROPERTIES.split())
"""``MessageConst.STRING_HASH_SET``: names that no property of a user may have."""


def topic_name(topic: Resource | None) -> str:
    """The topic's name; `RefusedError` where no topic can have it."""
    name = topic.name if topic is not None else ""
    if not name.strip():
        raise RefusedError(Code.ILLEGAL_TOPIC, "The specified topic is blank")
    if not _LEGAL.fullmatch(name):
        raise RefusedError(Code.ILLEGAL_TOPIC, f"The specified topic[{name}] contains illegal characters, {_ALLOWED}")
    if len(name) > _LONGEST_TOPIC:
        raise RefusedError(Code.ILLEGAL_TOPIC, f"The specified topic is longer than topic max length {_LONGEST_TOPIC}.")
    if name in SYSTEM_NAMES or name.startswith(_SYSTEM_PREFIX):
        raise RefusedError(Code.ILLEGAL_TOPIC, "cannot access system topic")
    return name


def group_name(group: Resource | None) -> str:
    """The group's name; `RefusedError` where no group can have it."""
    name = group.name if group is not None else ""
    code = Code.ILLEGAL_CONSUMER_GROUP
    if not name.strip():
        raise RefusedError(code, "the specified group is blank")
    if not _LEGAL.fullmatch(name):
        raise RefusedError(code, f"the specified group[{name}] contains illegal characters, {_ALLOWED}")
    if len(name) > _LONGEST_GROUP:
        raise RefusedError(code, f"the specified group is longer than group max length {_LONGEST_GROUP}.")
    return name


def invisible_time(settings: ProxySettings, wanted: int, least: int) -> int:
    """How long a record is to be invisible; `RefusedError` where that is too short or too long."""
    if wanted < least:
        raise RefusedError(Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too small. min is {least}")
    if wanted > settings.most_invisible_ms:
        most = settings.most_invisible_ms
        raise RefusedError(Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too large. max is {most}")
    return wanted


_FIRST_S, _LAST_S, _NANOS = -62_135_596_800, 253_402_300_799, 1_000_000_000
"""What a protobuf timestamp may say: the years 1 to 9999."""


def message(settings: ProxySettings, now_ms: float, given: Message) -> SystemProperties:
    """Whether a producer may send this; its system properties. ``now_ms``: milliseconds since 1970."""
    system = given.system_properties or SystemProperties()
    if not given.body:
        raise RefusedError(Code.MESSAGE_BODY_EMPTY, "message body cannot be empty")
    if len(given.body) > settings.most_body_bytes:
        raise RefusedError(
            Code.MESSAGE_BODY_TOO_LARGE, f"message body cannot exceed the max {settings.most_body_bytes}"
        )
    _user_properties(settings, given.user_properties)
    if system.tag is not None:
        if not system.tag.strip():
            raise RefusedError(Code.ILLEGAL_MESSAGE_TAG, "tag cannot be the char sequence of whitespace")
        if "|" in system.tag:
            raise RefusedError(Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain '|'")
        if _has_control(system.tag):
            raise RefusedError(Code.ILLEGAL_MESSAGE_TAG, "tag cannot contain control character")
    for key in system.keys:
        if not key.strip():
            raise RefusedError(Code.ILLEGAL_MESSAGE_KEY, "key cannot be the char sequence of whitespace")
        if _has_control(key):
            raise RefusedError(Code.ILLEGAL_MESSAGE_KEY, "key cannot contain control character")
    if not system.message_id.strip():
        raise RefusedError(Code.ILLEGAL_MESSAGE_ID, "message id cannot be empty")
    if system.message_group is not None:
        if not system.message_group.strip():
            raise RefusedError(Code.ILLEGAL_MESSAGE_GROUP, "message group cannot be the char sequence of whitespace")
        if len(system.message_group.encode()) >= settings.most_message_group_bytes:
            most = settings.most_message_group_bytes
            raise RefusedError(Code.ILLEGAL_MESSAGE_GROUP, f"message group exceed the max size {most}")
    for at in (system.born_timestamp, system.delivery_timestamp):
        if at is not None and not (_FIRST_S <= at.seconds <= _LAST_S and 0 <= at.nanos < _NANOS):
            raise RefusedError(Code.INTERNAL_SERVER_ERROR, f"Timestamp is not valid. {at.seconds} s, {at.nanos} ns")
    if system.delivery_timestamp is not None and system.delivery_timestamp.ms - now_ms > settings.most_delay_ms:
        most = settings.most_delay_ms
        raise RefusedError(Code.ILLEGAL_DELIVERY_TIME, f"the max delay time of message is too large, max is {most}")
    return system


def _user_properties(settings: ProxySettings, properties: Mapping[str, str]) -> None:
    code = Code.MESSAGE_PROPERTIES_TOO_LARGE
    if len(properties) > settings.most_user_properties:
        raise RefusedError(code, f"too many user properties, max is {settings.most_user_properties}")
    size = 0
    for name, value in properties.items():
        if name in SYSTEM_PROPERTIES:
            raise RefusedError(Code.ILLEGAL_MESSAGE_PROPERTY_KEY, f"property is used by system: {name}")
        if _has_control(name):
            raise RefusedError(
                Code.ILLEGAL_MESSAGE_PROPERTY_KEY, f"the key of property cannot contain control character: {name}"
            )
        if _has_control(value):
            raise RefusedError(
                Code.ILLEGAL_MESSAGE_PROPERTY_KEY, f"the value of property cannot contain control character: {value}"
            )
        size += len(name.encode()) + len(value.encode())
    if size > settings.most_property_bytes:
        raise RefusedError(code, f"the total size of user property is too large, max is {settings.most_property_bytes}")


def _has_control(text: str) -> bool:
    return any(each < " " or each == "\x7f" for each in text)


def kind_of(system: SystemProperties) -> MessageType:
    """What a message is by its properties, whatever it says of itself, but for transactions."""
    if system.message_type == MessageType.TRANSACTION:
        return MessageType.TRANSACTION
    if system.delivery_timestamp is not None:
        return MessageType.DELAY
    if system.message_group is not None:
        return MessageType.FIFO
    if system.priority is not None:
        return MessageType.PRIORITY
    return MessageType.NORMAL


MIXED: Final = "MIXED"
_OF_MIXED: Final = (MessageType.NORMAL, MessageType.FIFO, MessageType.DELAY, MessageType.TRANSACTION)


def accepted(kind: str) -> tuple[MessageType, ...]:
    """What a topic of this kind takes."""
    return _OF_MIXED if kind == MIXED else (MessageType[kind],)


def topic_takes(topic_kind: str | None, kind: MessageType) -> None:
    """`RefusedError` where a topic of this kind (None: there is none) takes no such message."""
    if topic_kind is None or (topic_kind != MIXED and topic_kind != kind.name):
        raise proxy_exception(
            Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
            f"TopicMessageType validate failed, the expected type is {topic_kind or 'UNSPECIFIED'}, but actual type is"
            f" {kind.name}",
        )
