"""What the messages of RocketMQ's gRPC service are made of (package ``apache.rocketmq.v2``, protos 2.1.2).

The fields of a record stand in the order of their numbers in the protocol, from 1, and are read and written so
(`rocketmq_selfbalance.proxy.protobuf`). None is a field that is not there; other fields are as if
they were when they are not. Fields with higher numbers that nobody here needs are left out.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple

NOTHING: Mapping[str, str] = MappingProxyType({})


class Permission(IntEnum):
    PERMISSION_UNSPECIFIED = 0
    NONE = 1
    READ = 2
    WRITE = 3
    READ_WRITE = 4


class FilterType(IntEnum):
    FILTER_TYPE_UNSPECIFIED = 0
    TAG = 1
    SQL = 2


class AddressScheme(IntEnum):
    ADDRESS_SCHEME_UNSPECIFIED = 0
    IPv4 = 1
    IPv6 = 2
    DOMAIN_NAME = 3


class MessageType(IntEnum):
    MESSAGE_TYPE_UNSPECIFIED = 0
    NORMAL = 1
    FIFO = 2
    DELAY = 3
    TRANSACTION = 4
    LITE = 5
    PRIORITY = 6


class DigestType(IntEnum):
    DIGEST_TYPE_UNSPECIFIED = 0
    CRC32 = 1
    MD5 = 2
    SHA1 = 3


class Encoding(IntEnum):
    ENCODING_UNSPECIFIED = 0
    IDENTITY = 1
    GZIP = 2


class ClientType(IntEnum):
    CLIENT_TYPE_UNSPECIFIED = 0
    PRODUCER = 1
    PUSH_CONSUMER = 2
    SIMPLE_CONSUMER = 3
    PULL_CONSUMER = 4
    LITE_PUSH_CONSUMER = 5
    LITE_SIMPLE_CONSUMER = 6


class Language(IntEnum):
    LANGUAGE_UNSPECIFIED = 0
    JAVA = 1
    CPP = 2
    DOT_NET = 3
    GOLANG = 4
    RUST = 5
    PYTHON = 6
    PHP = 7
    NODE_JS = 8
    RUBY = 9
    OBJECTIVE_C = 10
    DART = 11
    KOTLIN = 12


class Resolution(IntEnum):
    TRANSACTION_RESOLUTION_UNSPECIFIED = 0
    COMMIT = 1
    ROLLBACK = 2


class TransactionSource(IntEnum):
    SOURCE_UNSPECIFIED = 0
    SOURCE_CLIENT = 1
    SOURCE_SERVER_CHECK = 2


class Code(IntEnum):
    """What became of a request."""

    CODE_UNSPECIFIED = 0
    OK = 20000
    MULTIPLE_RESULTS = 30000
    BAD_REQUEST = 40000
    ILLEGAL_ACCESS_POINT = 40001
    ILLEGAL_TOPIC = 40002
    ILLEGAL_CONSUMER_GROUP = 40003
    ILLEGAL_MESSAGE_TAG = 40004
    ILLEGAL_MESSAGE_KEY = 40005
    ILLEGAL_MESSAGE_GROUP = 40006
    ILLEGAL_MESSAGE_PROPERTY_KEY = 40007
    INVALID_TRANSACTION_ID = 40008
    ILLEGAL_MESSAGE_ID = 40009
    ILLEGAL_FILTER_EXPRESSION = 40010
    ILLEGAL_INVISIBLE_TIME = 40011
    ILLEGAL_DELIVERY_TIME = 40012
    INVALID_RECEIPT_HANDLE = 40013
    MESSAGE_PROPERTY_CONFLICT_WITH_TYPE = 40014
    UNRECOGNIZED_CLIENT_TYPE = 40015
    MESSAGE_CORRUPTED = 40016
    CLIENT_ID_REQUIRED = 40017
    ILLEGAL_POLLING_TIME = 40018
    FORBIDDEN = 40300
    MESSAGE_NOT_FOUND = 40401
    TOPIC_NOT_FOUND = 40402
    CONSUMER_GROUP_NOT_FOUND = 40403
    MESSAGE_BODY_TOO_LARGE = 41301
    MESSAGE_BODY_EMPTY = 41302
    TOO_MANY_REQUESTS = 42900
    MESSAGE_PROPERTIES_TOO_LARGE = 43101
    INTERNAL_ERROR = 50000
    INTERNAL_SERVER_ERROR = 50001
    NOT_IMPLEMENTED = 50100
    PROXY_TIMEOUT = 50400
    UNSUPPORTED = 50500


class Timestamp(NamedTuple):
    """``google.protobuf.Timestamp``: seconds since 1970."""

    seconds: int = 0
    nanos: int = 0

    @property
    def ms(self) -> int:
        return self.seconds * 1000 + self.nanos // 1_000_000


class Duration(NamedTuple):
    """``google.protobuf.Duration``."""

    seconds: int = 0
    nanos: int = 0

    @property
    def ms(self) -> int:
        return self.seconds * 1000 + self.nanos // 1_000_000


def timestamp(ms: float) -> Timestamp:
    whole = int(ms)
    return Timestamp(whole // 1000, whole % 1000 * 1_000_000)


def duration(ms: float) -> Duration:
    whole = int(ms)
    return Duration(whole // 1000, whole % 1000 * 1_000_000)


class Resource(NamedTuple):
    """A topic or a group."""

    namespace: str = ""
    name: str = ""


class FilterExpression(NamedTuple):
    type: FilterType = FilterType.FILTER_TYPE_UNSPECIFIED
    expression: str = ""


class ExponentialBackoff(NamedTuple):
    initial: Duration | None = None
    max: Duration | None = None
    multiplier: float = 0.0


class CustomizedBackoff(NamedTuple):
    next: tuple[Duration, ...] = ()


class RetryPolicy(NamedTuple):
    max_attempts: int = 0
    exponential_backoff: ExponentialBackoff | None = None
    customized_backoff: CustomizedBackoff | None = None


class SubscriptionEntry(NamedTuple):
    topic: Resource | None = None
    expression: FilterExpression | None = None


class Address(NamedTuple):
    host: str = ""
    port: int = 0


class Endpoints(NamedTuple):
    scheme: AddressScheme = AddressScheme.ADDRESS_SCHEME_UNSPECIFIED
    addresses: tuple[Address, ...] = ()


class Broker(NamedTuple):
    name: str = ""
    id: int = 0
    endpoints: Endpoints | None = None


class MessageQueue(NamedTuple):
    topic: Resource | None = None
    id: int = 0
    permission: Permission = Permission.PERMISSION_UNSPECIFIED
    broker: Broker | None = None
    accept_message_types: tuple[MessageType, ...] = ()


class Digest(NamedTuple):
    type: DigestType = DigestType.DIGEST_TYPE_UNSPECIFIED
    checksum: str = ""


class DeadLetterQueue(NamedTuple):
    topic: str = ""
    message_id: str = ""


class SystemProperties(NamedTuple):
    tag: str | None = None
    keys: tuple[str, ...] = ()
    message_id: str = ""
    body_digest: Digest | None = None
    body_encoding: Encoding = Encoding.ENCODING_UNSPECIFIED
    message_type: MessageType = MessageType.MESSAGE_TYPE_UNSPECIFIED
    born_timestamp: Timestamp | None = None
    born_host: str = ""
    store_timestamp: Timestamp | None = None
    store_host: str = ""
    delivery_timestamp: Timestamp | None = None
    receipt_handle: str | None = None
    queue_id: int = 0
    queue_offset: int | None = None
    invisible_duration: Duration | None = None
    delivery_attempt: int | None = None
    message_group: str | None = None
    trace_context: str | None = None
    orphaned_transaction_recovery_duration: Duration | None = None
    dead_letter_queue: DeadLetterQueue | None = None
    lite_topic: str | None = None
    priority: int | None = None


class Message(NamedTuple):
    topic: Resource | None = None
    user_properties: Mapping[str, str] = NOTHING
    system_properties: SystemProperties | None = None
    body: bytes = b""


class Assignment(NamedTuple):
    message_queue: MessageQueue | None = None


class Status(NamedTuple):
    code: Code = Code.CODE_UNSPECIFIED
    message: str = ""


OK = Status(Code.OK, "OK")


class UserAgent(NamedTuple):
    language: Language = Language.LANGUAGE_UNSPECIFIED
    version: str = ""
    platform: str = ""
    hostname: str = ""


class Publishing(NamedTuple):
    topics: tuple[Resource, ...] = ()
    max_body_size: int = 0
    validate_message_type: bool = False


class Subscription(NamedTuple):
    group: Resource | None = None
    subscriptions: tuple[SubscriptionEntry, ...] = ()
    fifo: bool | None = None
    receive_batch_size: int | None = None
    long_polling_timeout: Duration | None = None
    lite_subscription_quota: int | None = None
    max_lite_topic_size: int | None = None


class Metric(NamedTuple):
    on: bool = False
    endpoints: Endpoints | None = None


class Settings(NamedTuple):
    client_type: ClientType | None = None
    access_point: Endpoints | None = None
    backoff_policy: RetryPolicy | None = None
    request_timeout: Duration | None = None
    publishing: Publishing | None = None
    subscription: Subscription | None = None
    user_agent: UserAgent | None = None
    metric: Metric | None = None
