"""What clients and tools say over real connections beyond the messages of the simulation, and the answers to it; and
the fields and JSON of frames, of which nothing is believed before it was looked at.

The simulation's messages (`rocketmq_selfbalance.messages`) stand for themselves. The records of this file are for what
it does not have: contents of records, kinds of clients, views of tools. ``correlation`` is the number that the
conversation gave to the request; ``oneway``: nobody waits for an answer.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from protocols.engine.nodes import Message
from rocketmq_selfbalance.messages.membership import HeartBeat
from rocketmq_selfbalance.messages.nameserver import RegisterBroker
from rocketmq_selfbalance.messages.offsets import PullAnswer, PullMessage
from rocketmq_selfbalance.remoting import Frame, json_of
from rocketmq_selfbalance.wire.stored_messages import Stored

LARGEST = 2**63 - 1


class FieldError(Exception):
    """A field or a body that a request needs and that is missing or cannot be read; its text is one line."""


class Fields:
    """The header fields of a request."""

    __slots__ = ("told",)

    def __init__(self, told: Mapping[str, str]) -> None:
        self.told = told

    def text(self, name: str, default: str | None = None) -> str:
        value = self.told.get(name, default)
        if value is None:
            raise FieldError(f"the custom field <{name}> is null")
        return value

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number of at most 64 bits."""
        value = self.told.get(name)
        if value is None:
            if default is None:
                raise FieldError(f"the custom field <{name}> is null")
            return default
        return whole(name, value)

    def optional(self, name: str) -> int | None:
        value = self.told.get(name)
        return None if value is None else whole(name, value)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.told.get(name)
        return default if value is None else value.lower() == "true"


def whole(name: str, value: object) -> int:
    """A whole number of at most 64 bits; `FieldError` for anything else."""
    try:
        if isinstance(value, int | str) and -LARGEST <= (number := int(value)) <= LARGEST:
            return number
    except ValueError:
        pass
    raise FieldError(f"the custom field <{name}> is {str(value)[:40]!r}, expected a number")


def body_of(frame: Frame) -> dict[str, object]:
    """The JSON object in a frame's body; `FieldError` where there is none."""
    return parsed(frame.body)


MOST_JSON = 1024 * 1024
"""Bytes of a body in JSON: of thousands of subscriptions or queues. All others wait while it is read."""


def parsed(body: bytes) -> dict[str, object]:
    """The JSON object that this is; `FieldError` for anything else."""
    if len(body) > MOST_JSON:
        raise FieldError(f"a body of {len(body)} bytes, allowed are {MOST_JSON}")
    try:
        told = json_of(body)
    except (ValueError, RecursionError):
        raise FieldError("a body that is no JSON") from None
    if not isinstance(told, dict):
        raise FieldError("a body that is no JSON object")
    return told


def objects(value: object) -> list[dict[str, object]]:
    """The objects of a list; none where there is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text(told: Mapping[str, object], name: str, default: str = "") -> str:
    value = told.get(name, default)
    return value if isinstance(value, str) else default


NO_FIELDS: Mapping[str, str] = {}


class ClientHeartbeat(NamedTuple):
    """HEART_BEAT in either version. ``fingerprint`` is 0 in the first; ``without_subscriptions``: it only repeats
    its fingerprint. ``producers``: groups of producers. ``language`` and ``version`` are the frame's."""

    correlation: int
    beat: HeartBeat
    producers: tuple[str, ...]
    fingerprint: int
    without_subscriptions: bool
    language: str
    version: int


class SendMessage(NamedTuple):
    """SEND_MESSAGE, SEND_MESSAGE_V2, SEND_BATCH_MESSAGE. ``born``: milliseconds since 1970; ``queue_number`` below 0
    lets the broker choose; ``properties`` as they came; ``batch``: ``body`` holds several records."""

    correlation: int
    producer_group: str
    topic: str
    default_topic: str
    default_queues: int
    queue_number: int
    sys_flag: int
    born: int
    flag: int
    properties: str
    reconsume_times: int
    max_reconsume_times: int | None
    body: bytes
    batch: bool
    oneway: bool


class SendHalf(NamedTuple):
    """A record of a transaction, from the proxy."""

    correlation: int
    message: SendMessage


class EndHalf(NamedTuple):
    """The half of this number is committed, rolled back, or still open (None). ``id``: the transaction's."""

    correlation: int
    half: int
    commit: bool | None
    id: str


class CheckHalf(NamedTuple):
    """A broker asks the proxy what became of a half. ``group`` is that of its producers, ``id`` its transaction's."""

    half: int
    group: str
    id: str
    stored: Stored


class Pull(NamedTuple):
    """PULL_MESSAGE or LITE_PULL_MESSAGE: the simulation's and what it has no use for. ``expression``: the client's own
    filter in place of its group's, None where it brings none; ``kind`` is TAG or SQL92; ``most_bytes`` of records."""

    correlation: int
    pull: PullMessage
    most_bytes: int
    expression: str | None
    kind: str


class Pulled(NamedTuple):
    """The answer to a pull with the stored records; ``remark`` is RocketMQ's name for what was found."""

    correlation: int
    answer: PullAnswer
    remark: str
    records: tuple[bytes, ...] = ()


class SendBack(NamedTuple):
    """CONSUMER_SEND_MSG_BACK: ``position`` is where the record stands in the broker's commit log, in bytes."""

    correlation: int
    group: str
    position: int
    delay_level: int
    max_reconsume_times: int | None
    oneway: bool


class Administer(NamedTuple):
    """A tool's order that is one of the simulation's commands."""

    correlation: int
    command: Message


class Registration(NamedTuple):
    """REGISTER_BROKER from a broker that is no node of this world."""

    correlation: int
    broker: RegisterBroker


class Ask(NamedTuple):
    """Another request, by its number: views of tools. ``peer`` is asked of, see `AskClient`."""

    correlation: int
    code: int
    fields: Mapping[str, str]
    body: bytes


class Malformed(NamedTuple):
    """A request in a frame that can be read, but with fields or a body that cannot."""

    correlation: int
    why: str


class Unsupported(NamedTuple):
    """A request with a number that is not served."""

    correlation: int
    code: int


class Reply(NamedTuple):
    """The answer to any request, as it goes into the frame."""

    correlation: int
    code: int
    fields: Mapping[str, str] = NO_FIELDS
    body: bytes | Iterator[bytes] = b""
    """An iterator of its parts, where it takes longer to make them."""
    remark: str | None = None


class AskClient(NamedTuple):
    """A broker asks a client; answered by `ClientAnswer` with the same ``question``."""

    question: int
    code: int
    fields: Mapping[str, str]
    body: bytes = b""


class ClientAnswer(NamedTuple):
    """What a client answered to a broker."""

    question: int
    code: int
    body: bytes
    remark: str | None
