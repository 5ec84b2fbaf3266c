"""The values and exceptions of the 5.x client (the released package's own where it is installed, else doubles), and
what its producers and consumers have in common.

User's code that catches ``rocketmq.v5.exception.BadRequestException`` catches what the doubles raise.
"""

import importlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar, TypeVar

from compare.testing.faults import is_fault
from compare.testing.rocketmq.naming import OfGroup
from compare.testing.rocketmq.popping import KEYS, OF_THE_SYSTEM, SHARDING_KEY, TAGS, Taken, message_id, properties_of
from compare.testing.rocketmq.v5 import doubles
from compare.testing.rocketmq.v5.doubles import NAME
from protocols.engine.randomness import digest
from protocols.java import Queue

ILLEGAL_INVISIBLE_TIME, INVALID_RECEIPT_HANDLE, INTERNAL_SERVER_ERROR = 40011, 40013, 50001
"""Codes of the proxy."""
NORMAL, FIFO, DELAY, TRANSACTION, LITE, PRIORITY = 1, 2, 3, 4, 5, 6
"""Types of messages."""

_HOMES = {
    "rocketmq": (
        "ClientConfiguration",
        "ConsumeResult",
        "Credentials",
        "FilterExpression",
        "MessageListener",
        "SendReceipt",
        "TransactionChecker",
        "TransactionResolution",
    ),
    "rocketmq.grpc_protocol": ("FilterType",),
    "rocketmq.v5.exception": (
        "BadRequestException",
        "ClientException",
        "IllegalArgumentException",
        "IllegalStateException",
        "InternalErrorException",
    ),
}


def _found() -> dict[str, Any]:
    """Name to class; `ImportError` where the 5.x client is not installed (``rocketmq`` is 4.x's name, too)."""
    found = {"Message": importlib.import_module("rocketmq.v5.model").Message}
    for home, names in _HOMES.items():
        module = importlib.import_module(home)
        found |= {name: getattr(module, name) for name in names}
    return found


def _doubles() -> dict[str, Any]:
    found = {name: getattr(doubles, name) for names in _HOMES.values() for name in names}
    return {"Message": doubles.Message, **found}


try:
    CLASSES, INSTALLED = _found(), True
except ImportError:
    CLASSES, INSTALLED = _doubles(), False

EXCEPTIONS = {name: CLASSES[name] for name in _HOMES["rocketmq.v5.exception"]}


def illegal_argument(said: str) -> Exception:
    """To be raised: an argument cannot be."""
    return _made("IllegalArgumentException", said)


def illegal_state(said: str) -> Exception:
    """To be raised: the client does not run."""
    return _made("IllegalStateException", said)


def bad_request(said: str, code: int) -> Exception:
    """To be raised: the proxy refuses."""
    return _made("BadRequestException", said, code)


def internal_error(said: str) -> Exception:
    """To be raised: the proxy fails."""
    return _made("InternalErrorException", said, INTERNAL_SERVER_ERROR)


def _made(name: str, *arguments: object) -> Exception:
    exception: Exception = CLASSES[name](*arguments)
    return exception


def received(taken: Taken, handle: str) -> doubles.Message:
    """A message as the client hands it out."""
    properties = properties_of(taken.content)
    message: doubles.Message = CLASSES["Message"]()
    message.topic, message.body = taken.queue.topic, taken.content.value or b" "
    if TAGS in properties:
        message.tag = properties[TAGS]
    for key in properties.get(KEYS, "").split():
        message.keys = key
    message.properties.update({name: value for name, value in properties.items() if name not in OF_THE_SYSTEM})
    message.message_id = message_id(taken.content, taken.queue, taken.offset)
    message.message_type = FIFO if SHARDING_KEY in properties else NORMAL
    message.receipt_handle = handle
    message.transport_delivery_timestamp = int(taken.taken_at)
    own = {
        "message_group": properties.get(SHARDING_KEY),
        "delivery_timestamp": 0,
        "priority": 0,
        "namespace": "",
        "born_host": "",
        "born_timestamp": int(taken.written_at),
        "decode_message_timestamp": int(taken.taken_at),
        "delivery_attempt": taken.times + 1,
    }
    for name, value in own.items():
        _put(message, name, value)
    return message


def _put(message: doubles.Message, name: str, value: object) -> None:
    """Set what a client's own decoding sets and nobody else can."""
    if INSTALLED:
        setattr(message, f"_Message__{name}", value)
    elif name in ("message_group", "delivery_timestamp", "priority"):
        message._fields[name] = value
    else:
        setattr(message, name, value)


R = TypeVar("R")


class Client:
    """A client that is started and shut down."""

    clients: ClassVar[OfGroup]
    """Whose class this is."""
    kind: ClassVar[str] = ""

    def __init__(self, client_configuration: object, topics: Iterable[str] | None) -> None:
        if client_configuration is None:
            raise illegal_argument("clientConfiguration should not be null.")
        self.client_configuration = client_configuration
        self.topics = {topic for topic in topics or () if NAME.match(topic)}
        self.is_running = False
        self._had_shutdown = False
        self.client_id = f"equipoise@{digest(self.kind, self.clients.naming.count(), size=6).hex()}"

    def __str__(self) -> str:
        return f"{self.kind}, client_id:{self.client_id}"

    def startup(self) -> None:
        """Start; nothing happens where it runs already."""
        if self._had_shutdown:
            raise Exception(f"{self} had shutdown, can't startup again.")
        self._start()
        self.is_running = True

    def _start(self) -> None:
        """What else happens then."""

    def shutdown(self) -> None:
        """Stop for good; nothing happens where it does not run."""
        if self.is_running:
            self._stop()
            self.topics.clear()
            self._had_shutdown, self.is_running = True, False

    def _stop(self) -> None:
        """What else happens then."""

    def _route(self, topic: str) -> Sequence[Queue]:
        """The topic's queues."""
        queues = self.clients.group.popping.queues(topic)
        if not queues:
            raise Exception(f"failed to fetch topic:{topic} route.")
        self.topics.add(topic)
        return queues


def completed(call: Callable[[], R]) -> Future[R]:
    """A future that is done: virtual time passes only in calls, so that the call is made at once."""
    future: Future[R] = Future()
    try:
        future.set_result(call())
    except Exception as error:
        if is_fault(error):
            raise
        future.set_exception(error)
    return future
