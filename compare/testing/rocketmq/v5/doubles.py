"""Values and exceptions of the 5.x client as doubles, for where the released package is not installed.

They take the same arguments, refuse the same ones with the same exceptions, and have the same attributes.
"""

import re
from abc import ABC, abstractmethod
from enum import Enum, IntEnum
from typing import Any, Final

NAME: Final = re.compile(r"^[%a-zA-Z0-9_-]+$")
"""What topics and groups may be called."""


class ClientException(Exception):  # noqa: N818 - the name that it stands for
    """What a call of the client raises; ``code``: the proxy's number of it, None where the client itself refuses."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code

    def __str__(self) -> str:
        said = super().__str__()
        return f"{self.code}, {said}" if self.code else said


class BadRequestException(ClientException):
    """The proxy refuses a request."""


class InternalErrorException(ClientException):
    """The proxy fails."""


class IllegalArgumentException(ClientException):
    """An argument cannot be."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class IllegalStateException(ClientException):
    """The client does not run."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class FilterType(IntEnum):
    """How an expression selects."""

    FILTER_TYPE_UNSPECIFIED = 0
    TAG = 1
    SQL = 2


class TransactionResolution(IntEnum):
    """How a transaction ends."""

    TRANSACTION_RESOLUTION_UNSPECIFIED = 0
    COMMIT = 1
    ROLLBACK = 2


class ConsumeResult(Enum):
    """What a listener returns."""

    SUCCESS = 0
    FAILURE = 1


class Credentials:
    """Access key and secret key."""

    def __init__(self, ak: str | None = "", sk: str | None = "") -> None:
        self.ak, self.sk = ak or "", sk or ""


class ClientConfiguration:
    """Addresses of proxies, which nobody looks up here, and the time limit of a request in seconds."""

    def __init__(self, endpoints: str, credentials: Credentials, namespace: str = "", request_timeout: int = 3) -> None:
        self.rpc_endpoints, self.credentials = endpoints, credentials
        self.namespace, self.request_timeout = namespace, request_timeout


class FilterExpression:
    """Which records of a topic are wanted: ``*``, or tags (``"a || b"``)."""

    TAG_EXPRESSION_SUB_ALL = "*"

    def __init__(self, expression: str = TAG_EXPRESSION_SUB_ALL, filter_type: int = FilterType.TAG) -> None:
        self.expression, self.filter_type = expression, filter_type


class SendReceipt:
    """What `send` returns. ``message_queue`` is printed as ``broker.topic.number``."""

    def __init__(
        self, message_id: str, transaction_id: str, message_queue: object, offset: int, recall_handle: str | None = None
    ) -> None:
        self.message_id, self.transaction_id, self.message_queue = message_id, transaction_id, message_queue
        self.offset, self.recall_handle = offset, recall_handle

    def __str__(self) -> str:
        return f"message_id:{self.message_id}"


class MessageListener(ABC):
    """Who gets the messages of a push consumer."""

    @abstractmethod
    def consume(self, message: object) -> ConsumeResult:
        """Handle one message."""


class TransactionChecker(ABC):
    """Who is asked how a transaction ended that nobody ended."""

    @abstractmethod
    def check(self, message: object) -> TransactionResolution:
        """How it ended."""


_TYPES = ("MESSAGE_TYPE_UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "LITE", "PRIORITY")
_APART = ("lite_topic", "priority", "message_group", "delivery_timestamp")
"""Of these a message has one at most."""


class Message:
    """A message to be sent, or one that was received."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._keys: set[str] = set()
        self._properties: dict[str, str] = {}
        self.namespace: str | None = None
        self.message_id: str | None = None
        self.message_type: int | None = None
        self.receipt_handle: str | None = None
        self.endpoints: object = None
        self.transport_delivery_timestamp: int | None = None
        self.decode_message_timestamp: int | None = None
        self.born_host: str | None = None
        self.born_timestamp: int | None = None
        self.delivery_attempt: int | None = None
        self.corrupted = False

    def __str__(self) -> str:
        names = ("topic", "tag", "message_group", "lite_topic", "priority", "delivery_timestamp", "keys", "properties")
        return ", ".join(f"{name}:{getattr(self, name)}" for name in names)

    def _alone(self, name: str) -> None:
        for other in _APART:
            if other != name and self._fields.get(other):
                raise IllegalArgumentException(f"{name} and {other} should not be set at same time.")

    @property
    def body(self) -> bytes | None:
        """Bytes, at least one."""
        return self._fields.get("body")

    @body.setter
    def body(self, body: bytes) -> None:
        if not body:
            raise IllegalArgumentException("body should not be blank.")
        self._fields["body"] = body

    @property
    def topic(self) -> str | None:
        """Its topic."""
        return self._fields.get("topic")

    @topic.setter
    def topic(self, topic: str) -> None:
        if not topic or not topic.strip():
            raise IllegalArgumentException("topic has not been set yet.")
        if not NAME.match(topic):
            raise IllegalArgumentException(f"topic does not match the regex [regex={NAME}].")
        self._fields["topic"] = topic

    @property
    def tag(self) -> str | None:
        """Its tag."""
        return self._fields.get("tag")

    @tag.setter
    def tag(self, tag: str) -> None:
        if not tag or not tag.strip():
            raise IllegalArgumentException("tag should not be blank.")
        if "|" in tag:
            raise IllegalArgumentException('tag should not contain "|".')
        self._fields["tag"] = tag

    @property
    def lite_topic(self) -> str | None:
        """Its lite topic."""
        return self._fields.get("lite_topic")

    @lite_topic.setter
    def lite_topic(self, lite_topic: str) -> None:
        if not lite_topic or not lite_topic.strip():
            raise IllegalArgumentException("lite_topic has not been set yet.")
        self._alone("lite_topic")
        self._fields["lite_topic"] = lite_topic

    @property
    def priority(self) -> int | None:
        """Its priority, at least 0."""
        return self._fields.get("priority")

    @priority.setter
    def priority(self, priority: int) -> None:
        if priority < 0:
            raise IllegalArgumentException("priority must be greater than or equal to 0.")
        self._alone("priority")
        self._fields["priority"] = priority

    @property
    def message_group(self) -> str | None:
        """Messages of one group stand in one queue."""
        return self._fields.get("message_group")

    @message_group.setter
    def message_group(self, message_group: str) -> None:
        if not message_group or not message_group.strip():
            raise IllegalArgumentException("message_group should not be blank.")
        self._alone("message_group")
        self._fields["message_group"] = message_group

    @property
    def delivery_timestamp(self) -> int | None:
        """When it is to be delivered: whole seconds where it is sent, milliseconds where it was received."""
        return self._fields.get("delivery_timestamp")

    @delivery_timestamp.setter
    def delivery_timestamp(self, delivery_timestamp: int) -> None:
        self._alone("delivery_timestamp")
        self._fields["delivery_timestamp"] = delivery_timestamp

    @property
    def keys(self) -> set[str]:
        """Its keys; assigning adds one."""
        return self._keys

    @keys.setter
    def keys(self, key: str) -> None:
        if not key or not key.strip():
            raise IllegalArgumentException("key should not be blank.")
        self._keys.add(key)

    @property
    def properties(self) -> dict[str, str]:
        """The user's own properties."""
        return self._properties

    def add_property(self, key: str, value: str) -> None:
        """Add one of the user's own properties."""
        if not key or not key.strip():
            raise IllegalArgumentException("key should not be blank.")
        if not value or not value.strip():
            raise IllegalArgumentException("value should not be blank.")
        self._properties[key] = value

    @staticmethod
    def message_type_desc(message_type: int) -> str:
        """The name of a type of messages."""
        return _TYPES[message_type] if message_type in range(1, len(_TYPES)) else _TYPES[0]
