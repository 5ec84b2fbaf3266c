"""The double of the older client's ``Producer``."""

from typing import ClassVar

from compare.testing.rocketmq.callback.values import (
    Message,
    NullPointerException,
    ProducerSendSyncFailed,
    SendResult,
    SendStatus,
    number_of,
    text_of,
)
from compare.testing.rocketmq.naming import OfGroup
from compare.testing.rocketmq.properties import SHARDING_KEY, content_of
from protocols.engine.randomness import number_below


class Producer:
    """Writes messages into the group's topics."""

    clients: ClassVar[OfGroup]

    def __init__(
        self,
        group_id: str | bytes,
        orderly: bool = False,
        timeout: int | None = None,
        compress_level: int | None = None,
        max_message_size: int | None = None,
    ) -> None:
        if group_id is None:
            raise NullPointerException("Returned null pointer when create Producer")
        self._name, self._number = text_of(group_id, 1), self.clients.naming.count()
        self._running = False
        self._sent = 0

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *exception: object) -> None:
        self.shutdown()

    def set_group(self, group_name: str | bytes) -> None:
        """The name of the producers' group."""
        self._name = text_of(group_name)

    def set_name_server_address(self, addr: str | bytes) -> None:
        """Nobody looks it up here."""
        text_of(addr)

    def set_name_server_domain(self, domain: str | bytes) -> None:
        """Nobody looks it up here."""
        text_of(domain)

    def set_session_credentials(self, access_key: str, access_secret: str, channel: str) -> None:
        """Nobody asks for them here."""

    def set_timeout(self, timeout: int) -> None:
        """Sending takes no time here."""
        number_of(timeout)

    def set_compress_level(self, level: int) -> None:
        """Nothing is compressed here."""
        number_of(level)

    def set_max_message_size(self, max_size: int) -> None:
        """No message is too large here."""
        number_of(max_size)

    def start(self) -> None:
        """Sending needs it."""
        self._running = True

    def shutdown(self) -> None:
        """Nothing can be sent any more."""
        self._running = False

    def send_sync(self, msg: Message) -> SendResult:
        """Send to the topic's queues in turn."""
        turn = number_below(1000, self.clients.group.plan.seed, self._name, self._number) + self._sent
        self._sent += 1
        return self._send(msg, turn, {})

    def send_oneway(self, msg: Message) -> None:
        """The same, without telling how it came out."""
        self.send_sync(msg)

    def send_orderly_with_sharding_key(self, msg: Message, sharding_key: str | bytes) -> SendResult:
        """Messages of one key stand in one queue."""
        key = text_of(sharding_key)
        return self._send(msg, number_below(2**32, "sharding key", key), {SHARDING_KEY: key})

    def _send(self, msg: Message, turn: int, more: dict[str, str]) -> SendResult:
        queues = self.clients.group.topics.get(msg.topic, ())
        if not self._running:
            raise ProducerSendSyncFailed("producer not started")
        if not queues:
            raise ProducerSendSyncFailed(f"No route info of this topic: {msg.topic}")
        if not msg.body:
            raise ProducerSendSyncFailed("the message body is empty")
        queue = queues[turn % len(queues)]
        (offset,) = self.clients.group.records.write([(queue, content_of(msg.body, {**msg.properties, **more}))])
        if offset is None:
            raise ProducerSendSyncFailed(f"broker {queue.broker} does not run")
        return SendResult(SendStatus.OK, "-".join(map(str, (*queue, offset))), offset)
