"""KafkaProducer of kafka-python in virtual time: its records stand in the group's partitions."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from compare.testing.contents import Content
from compare.testing.handling import HandlingGroup
from compare.testing.kafka.partitioning import Partitioner
from compare.testing.kafka.producing import Outgoing
from compare.testing.kafka_python.classes import RecordMetadata, TopicPartition, errors
from compare.testing.kafka_python.futures import Future
from compare.testing.kafka_python.subscription import check_topic
from protocols.errors import UserError
from protocols.queues import Queue

PRODUCER: Final[Mapping[str, Any]] = {
    "bootstrap_servers": "localhost",
    "client_id": None,
    "key_serializer": None,
    "value_serializer": None,
    "enable_idempotence": True,
    "transactional_id": None,
    "delivery_timeout_ms": 120_000,
    "acks": -1,
    "compression_type": None,
    "retries": float("inf"),
    "linger_ms": 0,
    "partitioner": None,
    "max_block_ms": 60_000,
    "max_request_size": 1048576,
    "max_in_flight_requests_per_connection": 5,
    "metrics_enabled": True,
}
"""Argument to its default, as of kafka-python 3.0."""
_LEFT_ASIDE: Final = """
    allow_auto_create_topics api_version batch_size bootstrap_timeout_ms buffer_memory client_dns_lookup
    connections_max_idle_ms kafka_client metadata_max_age_ms metric_reporters metrics_num_samples
    metrics_sample_window_ms proxy_url receive_buffer_bytes receive_message_max_bytes reconnect_backoff_max_ms
    reconnect_backoff_ms request_timeout_ms retry_backoff_ms sasl_kerberos_domain_name sasl_kerberos_name
    sasl_kerberos_service_name sasl_mechanism sasl_oauth_token_provider sasl_plain_password sasl_plain_username
    security_protocol selector send_buffer_bytes socket_options socks5_proxy ssl_cafile ssl_certfile ssl_check_hostname
    ssl_ciphers ssl_context ssl_crlfile ssl_keyfile ssl_password transaction_timeout_ms
"""
_OVERHEAD: Final = 70
"""Bytes of a record beside key and value, at most."""
_CODECS: Final = ("gzip", "snappy", "lz4", "zstd", None)


class FutureRecordMetadata(Future):
    """Of one record that was sent."""


class KafkaProducer:
    """Made by the class that `Group.kafka_python` hands out. Records are written when time passes: in ``flush``,
    ``close``, ``get`` of a future, or whatever else lets it pass. Transactions are refused (`UserError`)."""

    group: ClassVar[HandlingGroup]
    """The group whose partitions it writes to."""

    def __init__(self, **configs: Any) -> None:
        unknown = {name: each for name, each in configs.items() if name not in {*PRODUCER, *_LEFT_ASIDE.split()}}
        if unknown:
            raise ValueError(f"Unrecognized configs: {unknown}")
        self.config = values = {**PRODUCER, **configs}
        if values["compression_type"] not in _CODECS:
            raise ValueError(f"Not supported codec: {values['compression_type']}")
        self._check_idempotence(configs)
        if values["transactional_id"]:
            raise UserError("transactional_id: transactions of kafka-python are not modelled")
        self._partitioner = values["partitioner"] or Partitioner(self.group.plan.seed)
        self._out = Outgoing(self.group, float(values["linger_ms"]), float(values["delivery_timeout_ms"]))
        self._closed = False

    def _check_idempotence(self, given: Mapping[str, Any]) -> None:
        values = self.config
        if given.get("enable_idempotence") is False and values["transactional_id"]:
            raise errors.KafkaConfigurationError("Cannot set transactional_id without enable_idempotence.")
        conflicts = []
        if "acks" in given and given["acks"] not in (-1, "all"):
            conflicts.append(f"acks={given['acks']!r}")
        if given.get("retries") == 0:
            conflicts.append("retries=0")
        most = given.get("max_in_flight_requests_per_connection", 0)
        if most > PRODUCER["max_in_flight_requests_per_connection"]:
            conflicts.append(f"max_in_flight_requests_per_connection={most!r}")
        if conflicts and (given.get("enable_idempotence") or values["transactional_id"]):
            listed = ", ".join(conflicts)
            raise errors.KafkaConfigurationError(f"enable_idempotence=True is incompatible with user-provided {listed}")

    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: list[tuple[str, bytes]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> FutureRecordMetadata:
        """Give a record to the producer; the future has its `RecordMetadata` when a broker has taken it."""
        if self._closed:
            raise errors.IllegalStateError("KafkaProducer already closed!")
        if value is None and key is None:
            raise ValueError("Need at least one: key or value")
        _check_headers(headers)
        key_bytes = self._serialised("key", topic, headers or [], key)
        value_bytes = self._serialised("value", topic, headers or [], value)
        there = sorted(self.partitions_for(topic))
        if partition is not None and partition < 0:
            raise ValueError("partition must be >= 0")
        if partition is not None and partition not in there:
            raise ValueError(f"Unrecognized partition {partition} for topic {topic}")
        size = _OVERHEAD + len(key_bytes or b"") + len(value_bytes or b"")
        if size > self.config["max_request_size"]:
            raise errors.MessageSizeTooLargeError(
                f"The message is {size} bytes when serialized which is larger than the maximum request size"
            )
        number = self._partitioner(key_bytes, there, there) if partition is None else partition
        content = Content(value_bytes, key_bytes, list(headers or []) or None, timestamp_ms)
        return self._sent(topic, number, content)

    def _sent(self, topic: str, number: int, content: Content) -> FutureRecordMetadata:
        future = FutureRecordMetadata(lambda seconds: self._wait(lambda: future.is_done, seconds))
        value, key, headers, _ = content
        sizes = -1 if key is None else len(key), -1 if value is None else len(value)
        size = sum(len(name.encode()) + len(each) for name, each in headers) if headers else -1

        def done(answer: tuple[int, int] | None) -> None:
            if answer is None:
                future.failure(errors.KafkaTimeoutError("no broker took the record in time"))
                return
            offset, time = (-1, answer[1]) if self.config["acks"] == 0 else answer
            where = TopicPartition(topic, number)
            future.success(RecordMetadata(topic, number, where, offset, time, None, *sizes, size))

        self._out.add(Queue(topic, "", number), content, done)
        return future

    def _serialised(self, which: str, topic: str, headers: Any, data: Any) -> bytes | None:
        serializer = self.config[f"{which}_serializer"]
        if serializer is None:
            found = data
        elif hasattr(serializer, "serialize"):
            found = serializer.serialize(topic, headers, data)
        else:
            found = serializer(data)
        if type(found) not in (bytes, bytearray, memoryview, type(None)):
            raise TypeError(f"Unsupported type for serialized {which}: {type(found)}")
        return None if found is None else bytes(found)

    def partitions_for(self, topic: str) -> set[int]:
        """The numbers of a topic's partitions. Raises `KafkaTimeoutError` after ``max_block_ms`` where there is no such
        topic."""
        check_topic(topic)
        if not self._out.partitions(topic):
            wait = self.config["max_block_ms"]
            self.group.clock.advance(milliseconds=wait)
            if not self._out.partitions(topic):
                raise errors.KafkaTimeoutError(f"Failed to update metadata after {wait / 1000:.1f} secs.")
        return set(self._out.partitions(topic))

    def flush(self, timeout: float | None = None) -> None:
        """Wait until all that was sent is acknowledged, so many seconds at most."""
        self._wait(lambda: self._out.is_empty, timeout)

    def close(self, timeout: float | None = None) -> None:
        """Flush; nothing can be sent any more."""
        if not self._closed:
            self.flush(timeout)
            self._closed = True

    def __enter__(self) -> "KafkaProducer":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def bootstrap_connected(self) -> bool:
        """Whether the brokers were found."""
        return True

    def _wait(self, there: Any, timeout: float | None) -> None:
        clock = self.group.clock
        longest = self.config["delivery_timeout_ms"] + 1000 if timeout is None else timeout * 1000
        until = clock.time + longest
        while not there() and clock.time < until:
            clock.run(min(until, clock.next_action))
        if not there():
            raise errors.KafkaTimeoutError(f"Timeout after waiting for {timeout} secs.")


def _check_headers(headers: Any) -> None:
    if headers is None:
        return
    if not isinstance(headers, list):
        raise TypeError("headers must be list-type")
    for each in headers:
        if not (isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str) and isinstance(each[1], bytes)):
            raise TypeError("All headers items must be (str, bytes) tuples")
