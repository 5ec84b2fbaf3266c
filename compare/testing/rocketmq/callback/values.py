"""Values and exceptions of the older Python client."""

from collections import namedtuple
from enum import Enum, IntEnum

from compare.testing.rocketmq.properties import KEYS, TAGS
from compare.testing.rocketmq.push_consumer import MessageExt
from protocols.errors import UserError

SendResult = namedtuple("SendResult", ["status", "msg_id", "offset"])


class SendStatus(IntEnum):
    """How sending came out."""

    OK = 0
    FLUSH_DISK_TIMEOUT = 1
    FLUSH_SLAVE_TIMEOUT = 2
    SLAVE_NOT_AVAILABLE = 3


class ConsumeStatus(IntEnum):
    """What a callback returns."""

    CONSUME_SUCCESS = 0
    RECONSUME_LATER = 1


class MessageModel(IntEnum):
    """Whether members share the records."""

    BROADCASTING = 0
    CLUSTERING = 1


class MessageProperty(Enum):
    """Names of properties."""

    KEYS = "KEYS"
    TAGS = "TAGS"
    DELAY_TIME_LEVEL = "DELAY"
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX = "UNIQ_KEY"
    MAX_RECONSUME_TIMES = "MAX_RECONSUME_TIMES"


class RocketMQException(Exception):  # noqa: N818 - the name that it stands for
    """What a call of the client raises."""


class NullPointerException(RocketMQException):
    """The C++ client has got nothing, or has refused it."""


class ProducerException(RocketMQException):
    """Of producers."""


class ProducerStartFailed(ProducerException):
    """A producer did not start."""


class ProducerSendSyncFailed(ProducerException):
    """A message was not sent."""


class ConsumerException(RocketMQException):
    """Of consumers."""


class PushConsumerStartFailed(ConsumerException):
    """A consumer did not start."""


def text_of(value: str | bytes, argument: int = 2) -> str:
    """Text as the C++ client takes it; `ctypes.ArgumentError` for anything else, whose ``argument`` it is there."""
    if not isinstance(value, str | bytes):
        from ctypes import ArgumentError

        raise ArgumentError(f"argument {argument}: TypeError: wrong type")
    return value.decode() if isinstance(value, bytes) else value


def number_of(value: int) -> int:
    """The same for a whole number."""
    if not isinstance(value, int):
        from ctypes import ArgumentError

        raise ArgumentError("argument 2: TypeError: wrong type")
    return value


class Message:
    """A message to be sent."""

    def __init__(self, topic: str | bytes) -> None:
        self.topic = text_of(topic, 1)
        self.body = b""
        self.properties: dict[str, str] = {}

    def set_keys(self, keys: str | bytes) -> None:
        """Its key, or several with blanks between them."""
        self.properties[KEYS] = text_of(keys)

    def set_tags(self, tags: str | bytes) -> None:
        """Its tag."""
        self.properties[TAGS] = text_of(tags)

    def set_body(self, body: str | bytes) -> None:
        """Its body; ends at the first zero byte, as a text of C does."""
        text = body if isinstance(body, bytes) else text_of(body).encode()
        self.body = text.split(b"\0")[0]

    def set_property(self, key: str | bytes, value: str | bytes) -> None:
        """One of the user's own properties."""
        self.properties[text_of(key)] = text_of(value)

    def set_delay_time_level(self, delay_time_level: int) -> None:
        """Refused: levels of delay are not modelled."""
        if number_of(delay_time_level):
            raise UserError(f"delay level {delay_time_level} is not modelled, expected 0")


class ReceivedMessage:
    """A message as a callback gets it. Texts are bytes, but topic and id."""

    def __init__(self, message: MessageExt, properties: dict[str, str]) -> None:
        self._message, self._properties = message, properties

    @property
    def topic(self) -> str:
        """The topic that it was sent to."""
        return self._message.topic

    @property
    def tags(self) -> bytes:
        """Empty where it has none."""
        return self._properties.get(TAGS, "").encode()

    @property
    def keys(self) -> bytes:
        """Empty where it has none."""
        return self._properties.get(KEYS, "").encode()

    @property
    def body(self) -> bytes:
        """What was sent."""
        return self._message.body

    @property
    def id(self) -> str:
        """The same whenever it comes."""
        return self._message.msg_id

    @property
    def queue_id(self) -> int:
        """The queue that it had at first."""
        return self._message.queue_id

    @property
    def queue_offset(self) -> int:
        """The offset that it had at first."""
        return self._message.queue_offset

    @property
    def reconsume_times(self) -> int:
        """How often it came back; always 0 for an orderly callback."""
        return self._message.reconsume_times

    @property
    def born_timestamp(self) -> int:
        """Milliseconds of virtual time."""
        return self._message.born_timestamp

    @property
    def store_timestamp(self) -> int:
        """Milliseconds of virtual time."""
        return self._message.born_timestamp

    @property
    def delay_time_level(self) -> int:
        """Levels are not modelled."""
        return 0

    @property
    def store_size(self) -> int:
        """Bytes, as far as they are known: those of the body."""
        return len(self.body)

    def get_property(self, prop: object) -> bytes:
        """A property by its name; empty where it has none of the name."""
        name = prop.value if isinstance(prop, Enum) else prop
        return self._properties.get(text_of(name), "").encode()  # type: ignore[arg-type]

    def __getitem__(self, key: object) -> bytes:
        return self.get_property(key)

    def __str__(self) -> str:
        return self.body.decode()

    def __bytes__(self) -> bytes:
        return self.body

    def __repr__(self) -> str:
        return f"<ReceivedMessage topic={self.topic!r} id={self.id!r} body={self.body!r}>"
