"""The double of the 5.x client's ``Producer``: normal, FIFO and delayed messages, and transactions."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from compare.testing.faults import whole
from compare.testing.rocketmq.popping import KEYS, MESSAGE_ID, SHARDING_KEY, TAGS, content_of, new_id
from compare.testing.rocketmq.v5.doubles import Message, SendReceipt, TransactionChecker
from compare.testing.rocketmq.v5.types import (
    CLASSES,
    DELAY,
    FIFO,
    NORMAL,
    PRIORITY,
    TRANSACTION,
    Client,
    completed,
    illegal_argument,
    illegal_state,
    internal_error,
)
from protocols.engine.randomness import number_below
from protocols.errors import UserError
from protocols.java import Queue

MOST_BYTES = 4 * 1024 * 1024


class MessageQueue(NamedTuple):
    """The queue that a receipt names."""

    queue: Queue

    def __str__(self) -> str:
        return f"{self.queue.broker}.{self.queue.topic}.{self.queue.number}"


class Producer(Client):
    """Writes messages into the group's topics."""

    kind = "PRODUCER"
    DEFAULT_MAX_SEND_ATTEMPTS = 3
    DEFAULT_MAX_BODY_SIZE = MOST_BYTES

    def __init__(
        self,
        client_configuration: object,
        topics: Iterable[str] | None = None,
        checker: TransactionChecker | None = None,
        tls_enable: bool = False,
    ) -> None:
        super().__init__(client_configuration, topics)
        self._checker = checker
        self._sent = 0
        self._turns: dict[str, int] = {}

    def send(self, message: Message, transaction: "Transaction | None" = None) -> SendReceipt:
        """Send now; a message of a transaction is written when that commits. Returns a receipt."""
        queue = self._prepare(message, in_transaction=transaction is not None)
        if transaction is not None:
            transaction.add_half_message(message)
            properties = self._properties(message)
            transaction.writes = partial(self._write, queue, message, properties)
            receipt = self._receipt(message, queue, 0)
            transaction.add_send_receipt(receipt)
            return receipt
        properties = self._properties(message)
        if message.message_type == DELAY:
            clock = self.clients.group.clock
            due = whole(message.delivery_timestamp or 0) * 1000.0
            if due > clock.time:
                clock.put(due, partial(self._write, queue, message, properties))
                return self._receipt(message, queue, 0, recall_handle=new_id("recall", message.message_id))
        return self._receipt(message, queue, self._write(queue, message, properties))

    def send_async(self, message: Message) -> Future[SendReceipt]:
        """The same as a future that is done."""
        if not self.is_running:
            raise illegal_state("producer is not running now.")
        return completed(lambda: self.send(message))

    def _prepare(self, message: Message, *, in_transaction: bool) -> Queue:
        """Its id and its type are set, its queue is chosen."""
        if not self.is_running:
            raise illegal_state("producer is not running now.")
        self._sent += 1
        message.message_id = new_id(self.client_id, self._sent)
        message.message_type = _type_of(message, in_transaction)
        if message.topic is None:
            raise TypeError("bad argument type for built-in operation")
        queues = self._route(message.topic)
        if not message.body:
            raise illegal_argument("message body is none.")
        if len(message.body) > MOST_BYTES:
            raise illegal_argument(f"Message body size exceeds the threshold, max size={MOST_BYTES} bytes")
        if message.message_group is not None:
            number = int.from_bytes(sha256(message.message_group.encode()).digest(), "big")
            return queues[number % len(queues)]
        first = number_below(1000, self.clients.group.plan.seed, self.client_id, message.topic)
        turn = self._turns.get(message.topic, first)
        self._turns[message.topic] = turn + 1
        return queues[turn % len(queues)]

    def _properties(self, message: Message) -> dict[str, str]:
        found = dict(message.properties)
        if message.tag:
            found[TAGS] = message.tag
        if message.keys:
            found[KEYS] = " ".join(sorted(message.keys))
        if message.message_group:
            found[SHARDING_KEY] = message.message_group
        return {**found, MESSAGE_ID: str(message.message_id)}

    def _write(self, queue: Queue, message: Message, properties: dict[str, str]) -> int:
        content = content_of(message.body or b"", properties)
        (offset,) = self.clients.group.records.write([(queue, content)])
        if offset is None:
            raise internal_error(f"broker {queue.broker} does not run")
        return offset

    def _receipt(self, message: Message, queue: Queue, offset: int, recall_handle: str | None = None) -> SendReceipt:
        id = message.message_id
        receipt: SendReceipt = CLASSES["SendReceipt"](id, id, MessageQueue(queue), offset, recall_handle)
        return receipt

    def recall_message(self, topic: str, recall_handle: str) -> str:
        """Refused, as brokers do unless they are told otherwise."""
        if not self.is_running:
            raise illegal_state("unable to recall message because producer is not running")
        raise internal_error("recall failed, operation is forbidden")

    def recall_message_async(self, topic: str, recall_handle: str) -> Future[str]:
        """The same as a future that is done."""
        if not self.is_running:
            raise illegal_state("unable to recall message because producer is not running")
        return completed(lambda: self.recall_message(topic, recall_handle))

    def begin_transaction(self) -> "Transaction":
        """A transaction for one message."""
        if not self.is_running:
            raise illegal_state("unable to begin transaction because producer is not running")
        if self._checker is None:
            raise illegal_argument("Transaction checker should not be null.")
        return Transaction(self)


class Transaction:
    """A message that consumers get when the transaction commits, and never where it is rolled back."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._message: Message | None = None
        self._receipt: SendReceipt | None = None
        self.writes: Callable[[], object] | None = None
        """What commit does; None once it is over."""

    def add_half_message(self, message: Message) -> None:
        """The message."""
        if message is None:
            raise illegal_argument("add half message error, message is none.")
        if self._message is not None:
            raise illegal_argument(f"message already existed in transaction, topic:{message.topic}")
        self._message = message

    def add_send_receipt(self, send_receipt: SendReceipt) -> None:
        """The message's receipt."""
        if self._message is None:
            raise illegal_argument("add send receipt error, no message in transaction.")
        if send_receipt is None:
            raise illegal_argument("add send receipt error, send receipt in none.")
        if self._message.message_id != send_receipt.message_id:
            raise illegal_argument("can't add another send receipt to a half message.")
        self._receipt = send_receipt

    def commit(self) -> None:
        """Consumers get the message from now on."""
        writes = self._end()
        if writes is not None:
            writes()

    def rollback(self) -> None:
        """Nobody gets the message."""
        self._end()

    def _end(self) -> Callable[[], object] | None:
        if self._message is None:
            raise illegal_argument("no message in transaction.")
        if self._receipt is None:
            raise illegal_argument("no transaction_id in transaction, must send half message at first.")
        if not self._producer.is_running:
            raise illegal_state("unable to end transaction because producer is not running")
        writes, self.writes = self.writes, None
        return writes

    @property
    def message_id(self) -> str:
        """The message's id."""
        return str(self._message and self._message.message_id)


def _type_of(message: Message, in_transaction: bool) -> int:
    apart = message.message_group, message.lite_topic, message.delivery_timestamp, message.priority is not None
    if in_transaction:
        if any(apart):
            said = "transactional message should not set message_group, delivery_timestamp, lite_topic and priority"
            raise illegal_argument(said)
        return TRANSACTION
    if message.message_group:
        return FIFO
    if message.lite_topic:
        raise UserError(f"{message.topic}: lite topics are not modelled, expected a message without one")
    if message.delivery_timestamp:
        return DELAY
    return PRIORITY if message.priority is not None else NORMAL
