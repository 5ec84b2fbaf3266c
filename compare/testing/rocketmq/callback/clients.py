"""The classes of the older client for one group of a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from compare.testing.rocketmq.callback import values
from compare.testing.rocketmq.callback.consumer import PushConsumer
from compare.testing.rocketmq.callback.producer import Producer
from compare.testing.rocketmq.installing import replaced
from compare.testing.rocketmq.naming import Naming, RocketMQGroup

_VALUES = (
    "ConsumeStatus",
    "Message",
    "MessageModel",
    "MessageProperty",
    "ReceivedMessage",
    "SendResult",
    "SendStatus",
)
_EXCEPTIONS = (
    "ConsumerException",
    "NullPointerException",
    "ProducerException",
    "ProducerSendSyncFailed",
    "ProducerStartFailed",
    "PushConsumerStartFailed",
    "RocketMQException",
)


class Clients:
    """``rocketmq.client`` as user's code imports it: `PushConsumer`, `Producer`, `Message`, `ConsumeStatus` and the
    exceptions of ``rocketmq.exceptions``. All are doubles, because the released package cannot be imported without the
    C++ library."""

    ConsumeStatus, SendStatus, SendResult = values.ConsumeStatus, values.SendStatus, values.SendResult
    Message, ReceivedMessage = values.Message, values.ReceivedMessage
    MessageModel, MessageProperty = values.MessageModel, values.MessageProperty
    RocketMQException, NullPointerException = values.RocketMQException, values.NullPointerException
    ProducerException, ConsumerException = values.ProducerException, values.ConsumerException
    ProducerStartFailed, ProducerSendSyncFailed = values.ProducerStartFailed, values.ProducerSendSyncFailed
    PushConsumerStartFailed = values.PushConsumerStartFailed

    def __init__(self, group: RocketMQGroup, members: tuple[str, ...] = ()) -> None:
        self.group, self.naming = group, Naming(group, members)
        own = {"clients": self, "__module__": "rocketmq.client"}
        self.PushConsumer = type("PushConsumer", (PushConsumer,), own)
        self.Producer = type("Producer", (Producer,), own)

    @contextmanager
    def installed(self) -> Iterator["Clients"]:
        """``with group.rocketmq_client().installed():`` what the program imports from ``rocketmq.client`` is of this
        group, also where the package is not installed. Afterwards all is as before."""
        client = {name: getattr(self, name) for name in ("Producer", "PushConsumer", *_VALUES)}
        exceptions = {name: getattr(self, name) for name in _EXCEPTIONS}
        with replaced({"rocketmq.client": client, "rocketmq.exceptions": exceptions}):
            yield self
