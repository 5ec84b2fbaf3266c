"""The double of the older client's ``PushConsumer``."""

import sys
from collections.abc import Callable
from typing import Any, ClassVar, Final

from compare.testing.rocketmq import push_consumer
from compare.testing.rocketmq.callback.values import (
    ConsumeStatus,
    MessageModel,
    NullPointerException,
    PushConsumerStartFailed,
    ReceivedMessage,
    number_of,
    text_of,
)
from compare.testing.rocketmq.naming import OfGroup
from compare.testing.rocketmq.properties import properties_of
from protocols.errors import UserError
from protocols.queues import Queue

SUSPEND_MS: Final = 100
"""So long a queue waits in the C++ client whose message an orderly callback could not handle."""
_NO_LISTENER = (
    "messageListener is null ,error:-1,in file rocketmq-client-cpp/src/consumer/DefaultMQPushConsumer.cpp line:450"
)


class PushConsumer:
    """A member whose callback is the user's."""

    clients: ClassVar[OfGroup]

    def __init__(
        self, group_id: str | bytes, orderly: bool = False, message_model: int = MessageModel.CLUSTERING
    ) -> None:
        if group_id is None:
            raise NullPointerException("Returned null pointer when create PushConsumer")
        self._group_id = text_of(group_id, 1)
        self.set_message_model(message_model)
        self._orderly = orderly
        self._subscribed: dict[str, str] = {}
        self._callback: Callable[[Any], object] | None = None
        self._inner: push_consumer.PushConsumer | None = None

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *exception: object) -> None:
        self.shutdown()

    def set_group(self, group_id: str | bytes) -> None:
        """The name of the group: the test's one."""
        self._group_id = text_of(group_id)

    def set_message_model(self, model: int) -> None:
        """Members share the records; the other model is refused (`UserError`)."""
        if model == MessageModel.BROADCASTING:
            raise UserError("message model BROADCASTING is not modelled for callbacks, expected CLUSTERING")

    def set_name_server_address(self, addr: str | bytes) -> None:
        """Nobody looks it up here."""
        text_of(addr)

    def set_name_server_domain(self, domain: str | bytes) -> None:
        """Nobody looks it up here."""
        text_of(domain)

    def set_session_credentials(self, access_key: str, access_secret: str, channel: str) -> None:
        """Nobody asks for them here."""

    def set_instance_name(self, name: str | bytes) -> None:
        """Members are told apart by the test."""
        text_of(name)

    def set_thread_count(self, thread_count: int) -> None:
        """Callbacks run one after the other here; refused is 0."""
        _refuse_none(number_of(thread_count))

    def set_message_batch_max_size(self, max_size: int) -> None:
        """The callback gets one message anyway; refused is 0."""
        _refuse_none(number_of(max_size))

    def subscribe(self, topic: str | bytes, callback: Callable[[Any], object], expression: str | bytes = "*") -> None:
        """Subscribe to one more topic. The last callback gets the messages of all topics."""
        name, selects = text_of(topic), text_of(expression)
        if selects not in push_consumer.ALL:
            raise UserError(f"{name}: expression {selects!r} selects by tags, which are not modelled; expected '*'")
        self._subscribed[name] = selects
        self._callback = callback
        if self._inner is not None:
            self._inner.subscribe(name)

    def start(self) -> None:
        """Become a member; nothing happens where it is one."""
        if self._inner is not None:
            return
        if not self._group_id:
            said = "consumerGroup can not equal DEFAULT_CONSUMER,error:-1,in file rocketmq-client-cpp/src/consumer/"
            raise PushConsumerStartFailed(f"{said}DefaultMQPushConsumer.cpp line:442")
        if not self._subscribed:
            raise PushConsumerStartFailed(_NO_LISTENER)
        group = self.clients.group
        self._inner = group.push_consumer(self.clients.naming.next(self._group_id), orderly=self._orderly)
        if self._orderly:
            self._inner.set_suspend_current_queue_time_millis(SUSPEND_MS)
        for topic in self._subscribed:
            self._inner.subscribe(topic)
        self._inner.register_message_listener(self._listen)
        self._inner.start()

    def shutdown(self) -> None:
        """Leave the group; nothing happens where it is in none."""
        if self._inner is not None:
            self._inner.shutdown()

    def _listen(self, messages: list[push_consumer.MessageExt]) -> object:
        (message,) = messages
        queue = Queue(message.topic, message.broker_name, message.queue_id)
        properties = properties_of(self.clients.group.records.content(queue, message.queue_offset))
        if self._orderly:
            message = message._replace(reconsume_times=0)
        try:
            result = self._callback(ReceivedMessage(message, properties))  # type: ignore[misc]
            if result not in (ConsumeStatus.CONSUME_SUCCESS, ConsumeStatus.RECONSUME_LATER):
                raise ValueError("Consume status error, please use enum 'ConsumeStatus' as response")
        except Exception as error:
            sys.stderr.write(f"Exception ignored on calling ctypes callback function: {error!r}\n")
            return push_consumer.LOST
        done = result == ConsumeStatus.CONSUME_SUCCESS
        return push_consumer.CONSUME_SUCCESS if done else push_consumer.RECONSUME_LATER


def _refuse_none(value: int) -> None:
    if not value:
        raise NullPointerException("")
