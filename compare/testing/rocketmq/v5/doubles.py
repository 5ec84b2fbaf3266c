"""Values and exceptions of the 5.x client as doubles, for where the released package is not installed.

They take the same arguments, refuse the same ones with the same exceptions, and have the same attributes.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any, Final, NoReturn

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


def _refuse(said: str) -> NoReturn:
    raise IllegalArgumentException(said)


def _field(name: str, check: Callable[[Any], object] = lambda value: None) -> Any:
    """A field of a message; ``check`` refuses values."""

    def get(message: "Message") -> Any:
        return message._fields.get(name)

    def set_(message: "Message", value: Any) -> None:
        check(value)
        for other in _APART if name in _APART else ():
            if other != name and message._fields.get(other):
                _refuse(f"{name} and {other} should not be set at same time.")
        message._fields[name] = value

    return property(get, set_)


def _check_topic(topic: str) -> None:
    _check_text(topic, "topic has not been set yet.")
    if not NAME.match(topic):
        _refuse(f"topic does not match the regex [regex={NAME}].")


def _check_tag(tag: str) -> None:
    _check_text(tag, "tag should not be blank.")
    if "|" in tag:
        _refuse('tag should not contain "|".')


def _check_text(given: str, said: str) -> None:
    if not given or not given.strip():
        _refuse(said)


class Message:
    """A message to be sent, or one that was received. Of `_APART` it has one at most; ``delivery_timestamp``: whole
    seconds where it is sent, milliseconds where it was received."""

    body: bytes | None = _field("body", lambda body: body or _refuse("body should not be blank."))
    topic: str | None = _field("topic", _check_topic)
    tag: str | None = _field("tag", _check_tag)
    lite_topic: str | None = _field("lite_topic", lambda given: _check_text(given, "lite_topic has not been set yet."))
    priority: int | None = _field(
        "priority", lambda given: given < 0 and _refuse("priority must be greater than or equal to 0.")
    )
    message_group: str | None = _field(
        "message_group", lambda given: _check_text(given, "message_group should not be blank.")
    )
    delivery_timestamp: int | None = _field("delivery_timestamp")

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

    @property
    def keys(self) -> set[str]:
        """Its keys; assigning adds one."""
        return self._keys

    @keys.setter
    def keys(self, key: str) -> None:
        _check_text(key, "key should not be blank.")
        self._keys.add(key)

    @property
    def properties(self) -> dict[str, str]:
        """The user's own properties."""
        return self._properties

    def add_property(self, key: str, value: str) -> None:
        """Add one of the user's own properties."""
        _check_text(key, "key should not be blank.")
        _check_text(value, "value should not be blank.")
        self._properties[key] = value

    @staticmethod
    def message_type_desc(message_type: int) -> str:
        """The name of a type of messages."""
        return _TYPES[message_type] if message_type in range(1, len(_TYPES)) else _TYPES[0]
