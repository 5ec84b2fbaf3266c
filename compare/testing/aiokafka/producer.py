"""AIOKafkaProducer in virtual time: its records stand in the group's partitions, and consumers read them."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from compare.testing.aiokafka.classes import RecordMetadata, TopicPartition, errors
from compare.testing.aiokafka.configuration import checked
from compare.testing.contents import Content
from compare.testing.handling import HandlingGroup
from compare.testing.kafka.partitioning import Partitioner
from compare.testing.kafka.producing import Outgoing
from compare.testing.virtual_loop import running_loop
from protocols.errors import UserError
from protocols.queues import Queue

_MISSING: Final = object()
PRODUCER: Final[Mapping[str, Any]] = {
    "loop": None,
    "bootstrap_servers": "localhost",
    "client_id": None,
    "metadata_max_age_ms": 300_000,
    "request_timeout_ms": 40_000,
    "api_version": None,
    "acks": _MISSING,
    "key_serializer": None,
    "value_serializer": None,
    "compression_type": None,
    "max_batch_size": 16384,
    "partitioner": None,
    "max_request_size": 1048576,
    "linger_ms": 0,
    "retry_backoff_ms": 100,
    "security_protocol": "PLAINTEXT",
    "ssl_context": None,
    "connections_max_idle_ms": 540_000,
    "enable_idempotence": False,
    "transactional_id": None,
    "transaction_timeout_ms": 60_000,
    "sasl_mechanism": "PLAIN",
    "sasl_plain_password": None,
    "sasl_plain_username": None,
    "sasl_kerberos_service_name": "kafka",
    "sasl_kerberos_domain_name": None,
    "sasl_oauth_token_provider": None,
}
"""Argument to its default, as of aiokafka 0.14."""
_CODECS: Final = ("gzip", "snappy", "lz4", "zstd", None)
_OVERHEAD: Final = 70
"""Bytes of a record beside key and value, at most."""


class AIOKafkaProducer:
    """Made by the class that `Group.aiokafka` hands out. A batch travels ``linger_ms`` and a few milliseconds more;
    sizes of batches and compression change nothing. Transactions are refused (`UserError`)."""

    group: ClassVar[HandlingGroup]
    """The group whose partitions it writes to."""

    def __init__(self, **given: Any) -> None:
        self._loop = running_loop(type(self).__name__)
        acks = given.get("acks", _MISSING)
        if acks not in (0, 1, -1, "all", _MISSING):
            raise ValueError("Invalid ACKS parameter")
        if given.get("compression_type") not in _CODECS:
            raise ValueError("Invalid compression type!")
        self._values = values = checked("AIOKafkaProducer", given, PRODUCER)
        if values["transactional_id"] is not None:
            raise UserError("transactional_id: transactions of aiokafka are not modelled")
        if values["enable_idempotence"] and acks not in ("all", -1, _MISSING):
            raise ValueError(f"acks={acks} not supported if enable_idempotence=True")
        self._acknowledged = acks != 0
        self._partitioner = values["partitioner"] or Partitioner(self.group.plan.seed)
        self._out = Outgoing(self.group, float(values["linger_ms"]), float(values["request_timeout_ms"]))
        self._unacknowledged: set[asyncio.Future[Any]] = set()
        self._closed = False

    async def start(self) -> None:
        """Connect."""

    async def stop(self) -> None:
        """Wait until all is acknowledged; nothing can be sent any more."""
        if not self._closed:
            self._closed = True
            await self.flush()

    async def flush(self) -> None:
        """Wait until all that was sent is acknowledged."""
        if self._unacknowledged:
            await asyncio.wait(list(self._unacknowledged))

    async def __aenter__(self) -> "AIOKafkaProducer":
        await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.stop()

    async def partitions_for(self, topic: str) -> set[int]:
        """The numbers of a topic's partitions. Raises `UnknownTopicOrPartitionError` after ``request_timeout_ms`` where
        there is no such topic."""
        if not self._out.partitions(topic):
            await asyncio.sleep(self._values["request_timeout_ms"] / 1000)
            if not self._out.partitions(topic):
                raise errors.UnknownTopicOrPartitionError
        return set(self._out.partitions(topic))

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes]] | None = None,
    ) -> asyncio.Future[Any]:
        """Give a record to the producer; the future has its `RecordMetadata` when a broker has taken it."""
        if value is None and key is None:
            raise AssertionError("Need at least one: key or value")
        there = sorted(await self.partitions_for(topic))
        key_bytes, value_bytes = self._serialised("key", key), self._serialised("value", value)
        size = _OVERHEAD + len(key_bytes or b"") + len(value_bytes or b"")
        if size > self._values["max_request_size"]:
            raise errors.MessageSizeTooLargeError(
                f"The message is {size} bytes when serialized which is larger than the maximum request size"
            )
        if partition is not None:
            if partition < 0:
                raise AssertionError
            if partition not in there:
                raise AssertionError("Unrecognized partition")
        if self._closed:
            raise errors.ProducerClosed
        number = self._partitioner(key_bytes, there, there) if partition is None else partition
        content = Content(value_bytes, key_bytes, list(headers or []) or None, timestamp_ms)
        return self._sent(topic, number, content)

    async def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[tuple[str, bytes]] | None = None,
    ) -> Any:
        """The same; waits for the `RecordMetadata`."""
        return await (await self.send(topic, value, key, partition, timestamp_ms, headers))

    def _serialised(self, which: str, data: Any) -> bytes | None:
        serializer = self._values[f"{which}_serializer"]
        found = data if serializer is None else serializer(data)
        if found is not None and not isinstance(found, bytes | bytearray | memoryview):
            raise TypeError(f"a bytes-like object is required, not '{type(found).__name__}'")
        return None if found is None else bytes(found)

    def _sent(self, topic: str, number: int, content: Content) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self._loop.create_future()
        self._unacknowledged.add(future)
        future.add_done_callback(self._unacknowledged.discard)

        def done(answer: tuple[int, int] | None) -> None:
            if future.done():
                return
            if answer is None:
                future.set_exception(errors.KafkaTimeoutError())
            elif not self._acknowledged:
                future.set_result(None)
            else:
                where = TopicPartition(topic, number)
                future.set_result(RecordMetadata(topic, number, where, answer[0], answer[1], 0, 0))

        self._out.add(Queue(topic, "", number), content, done)
        return future
