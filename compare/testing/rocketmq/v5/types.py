"""The values and exceptions of the 5.x client: the released package's own where it is installed, else doubles.

User's code that catches ``rocketmq.v5.exception.BadRequestException`` catches what the doubles raise.
"""

import importlib
from typing import Any

from compare.testing.rocketmq.popping import KEYS, OF_THE_SYSTEM, SHARDING_KEY, TAGS, Taken, message_id, properties_of
from compare.testing.rocketmq.v5 import doubles, message_double

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
    return {"Message": message_double.Message, **found}


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
    made: Exception = CLASSES[name](*arguments)
    return made


def received(taken: Taken, handle: str) -> message_double.Message:
    """A message as the client hands it out."""
    properties = properties_of(taken.content)
    message: message_double.Message = CLASSES["Message"]()
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


def _put(message: message_double.Message, name: str, value: object) -> None:
    """Set what a client's own decoding sets and nobody else can."""
    if INSTALLED:
        setattr(message, f"_Message__{name}", value)
    elif name in ("message_group", "delivery_timestamp", "priority"):
        message._fields[name] = value
    else:
        setattr(message, name, value)
