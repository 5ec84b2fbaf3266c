"""Values and exceptions of the 5.x client as doubles, for where the released package is not installed.

They take the same arguments, refuse the same ones with the same exceptions, and have the same attributes.
"""

import re
from abc import ABC, abstractmethod
from enum import Enum, IntEnum
from typing import Final

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
