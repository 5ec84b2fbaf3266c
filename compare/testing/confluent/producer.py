"""A producer with confluent-kafka's surface, in virtual time: what it writes stands in the group's topics."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, Self

from compare.testing.confluent import arguments, errors
from compare.testing.confluent.arguments import NOT_GIVEN, end_of
from compare.testing.confluent.configuration import Callback, producer_configuration
from compare.testing.confluent.messages import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    ClusterMetadataDouble,
    Message,
    made,
    metadata_of,
)
from compare.testing.confluent.sending import Outgoing, Process, Sending
from compare.testing.confluent.transactional import Transactional
from compare.testing.contents import Content, Headers
from compare.testing.faults import whole
from compare.testing.handling import HandlingGroup
from kafka_coordinator.cluster import KafkaCluster

_ANYWHERE: Final = -1


class KafkaProducer:
    """Stands for `confluent_kafka.Producer`; not to be used from several threads. Made by `Group.confluent`.

    Its background work (sending after ``linger.ms``, writing, answers) happens while virtual time passes: in its own
    ``poll`` and ``flush``, in a consumer's ``poll``, or by the clock.
    """

    def __init__(self, group: HandlingGroup, process: Process, config: Mapping[str, object]) -> None:
        self._group, self._process = group, process
        self._configuration = producer_configuration(config)
        self._sending = Sending(group, self._configuration, lambda: process.is_alive)
        self._transactional = Transactional(group, self._configuration, self._sending, self._flush)
        self._closed = False

    def __repr__(self) -> str:
        return f"<KafkaProducer {self._configuration.client_id} of {self._group!r}>"

    def __len__(self) -> int:
        return self._sending.count

    def __bool__(self) -> bool:
        return True

    # Records.

    def produce(
        self,
        topic: str = NOT_GIVEN,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = _ANYWHERE,
        callback: Callback | None = None,
        on_delivery: Callback | None = None,
        timestamp: int = 0,
        headers: object = None,
    ) -> None:
        """Send a record some time; ``on_delivery`` (or ``callback``) is told by poll() or flush() how it came out.

        Raises `BufferError` where too many records wait, `KafkaException` for a partition that is not there, a topic
        that was not found, and a record that is too large or outside of a transaction.
        """
        if topic is NOT_GIVEN:
            raise TypeError("function missing required argument 'topic' (pos 1)")
        content = arguments.content(value, 2), arguments.content(key, 3)
        where, number, when = arguments.topic(topic), whole(partition), whole(timestamp)
        pairs = arguments.headers(headers)
        with self._call():
            self._transactional.check_producing()
            report = on_delivery if on_delivery is not None else callback
            self._add(where, number, content, pairs, when, report)

    def _add(
        self,
        topic: str,
        partition: int,
        content: tuple[bytes | None, bytes | None],
        headers: Headers | None,
        timestamp: int,
        report: Callback | None,
    ) -> None:
        value, key = content
        configuration, sending, now = self._configuration, self._sending, self._group.clock.time
        if configuration.most_messages and len(self) >= configuration.most_messages:
            raise BufferError("Local: Queue full")
        if len(value or b"") + len(key or b"") > configuration.most_bytes:
            raise _unable("MSG_SIZE_TOO_LARGE")
        partitions = sending.partitions(topic)
        if partitions == 0:
            raise _unable("UNKNOWN_TOPIC_OR_PART")
        if partition < _ANYWHERE or (partitions is not None and partition >= partitions):
            raise _unable("_UNKNOWN_PARTITION")
        when = timestamp if timestamp > 0 else int(now)
        report = report if report is not None else configuration.on_delivery
        sending.add(Outgoing(topic, partition, Content(value, key, headers, when), report, now))

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = _ANYWHERE,
        on_delivery: Callback | None = None,
        callback: Callback | None = None,
    ) -> int:
        """Several records (``value``, ``key``, ``partition``, ``timestamp``, ``callback`` of each); how many were
        taken. The others have the key ``_error``."""
        if not isinstance(messages, list):
            raise TypeError("messages must be a list")
        self._check_open()
        for number, message in enumerate(messages):
            for field in ("value", "key"):
                if not isinstance(message.get(field), str | bytes | None):
                    raise TypeError(f"Message {field} at index {number} must be bytes or str")
        taken = 0
        for message in messages:
            report = message.get("callback", on_delivery if on_delivery is not None else callback)
            content = message.get("value"), message.get("key")
            where, when = message.get("partition", partition), message.get("timestamp", 0)
            try:
                self.produce(topic, *content, where, report, timestamp=when)
                taken += 1
            except (BufferError, errors.KafkaException) as error:
                message["_error"] = error.args[0]
        return taken

    def poll(self, timeout: float = -1) -> int:
        """Let at most so many seconds pass until delivery reports wait, and serve them; how many there were."""
        seconds = arguments.seconds(timeout)
        with self._call():
            until = end_of(seconds, self._group.clock.time)
            self._sending.wait(until, lambda: bool(self._sending.reports))
            return self._serve()

    def flush(self, timeout: float = -1) -> int:
        """Send everything at once and serve the reports; how many records are left after so many seconds."""
        seconds = arguments.seconds(timeout)
        with self._call():
            return self._flush(seconds)

    def _flush(self, seconds: float | None) -> int:
        sending = self._sending
        until = end_of(seconds, self._group.clock.time)
        while True:
            sending.send_now()
            self._serve()
            if not len(self) or self._group.clock.time >= min(until, self._group.clock.limit):
                return len(self)
            sending.wait(until, lambda: bool(sending.reports) or not len(self))

    def purge(self, in_queue: bool = True, in_flight: bool = True, blocking: bool = True) -> None:
        with self._call():
            self._sending.purge(in_queue=in_queue, in_flight=in_flight)

    def _serve(self) -> int:
        served = 0
        while self._sending.reports:
            record = self._sending.reports.popleft()
            served += 1
            if record.error:
                self._transactional.failed += 1
            if record.report is not None:
                error = errors.error(record.error, errors.said(record.error)) if record.error else None
                self._group.clock.turn.lend(record.report, error, _message(record))
        return served

    # Transactions.

    def init_transactions(self, timeout: float = -1) -> None:
        """Get the ``transactional.id``: older producers that have it are fenced, what they have open is aborted."""
        seconds = arguments.seconds(timeout)
        with self._call():
            self._transactional.init(seconds)

    def begin_transaction(self) -> None:
        with self._call():
            self._transactional.begin()

    def send_offsets_to_transaction(self, positions: object, group_metadata: object, timeout: float = -1) -> None:
        """Commit these offsets of a group with the transaction; ``group_metadata``: of its consumer."""
        seconds = arguments.seconds(timeout)
        with self._call():
            self._transactional.send_offsets(positions, group_metadata, seconds)

    def commit_transaction(self, timeout: float = -1) -> None:
        """Commit it. Raises `KafkaException`; where its error says ``txn_requires_abort``, abort it."""
        seconds = arguments.seconds(timeout)
        with self._call():
            self._transactional.commit(seconds)

    def abort_transaction(self, timeout: float = -1) -> None:
        seconds = arguments.seconds(timeout)
        with self._call():
            self._transactional.abort(seconds)

    # The rest.

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadataDouble:
        """Brokers and topics, or one topic alone."""
        if self._closed:
            raise RuntimeError("Handle has been closed")
        with self._call():
            return metadata_of(self._cluster, topic)

    def cluster_id(self, timeout: float = -1) -> str | None:
        return self.list_topics().cluster_id

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Taken, and left aside."""
        if self._closed:
            raise RuntimeError("Handle has been closed")

    def close(self) -> bool:
        """Abort a transaction that is open, send everything, and be of no use any more."""
        if not self._closed:
            with self._call():
                self._transactional.close()
                self._flush(None)
                self._closed = True
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def _cluster(self) -> KafkaCluster:
        cluster = self._group.world.cluster
        assert isinstance(cluster, KafkaCluster)
        return cluster

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Producer has been closed")

    def _call(self) -> AbstractContextManager[None]:
        self._check_open()
        return self._group.handling.call(self._process.caller)


def _unable(name: str) -> Exception:
    return errors.exception(name, f"Unable to produce message: {errors.said(name)}")


def _message(record: Outgoing) -> Message:
    """What a delivery report is about."""
    failed = bool(record.error)
    return made(
        "",
        topic=record.topic,
        partition=record.partition,
        offset=None if failed else record.offset,
        key=record.content.key,
        value=record.content.value,
        error=errors.error(record.error, errors.said(record.error)) if failed else None,
        timestamp=(TIMESTAMP_NOT_AVAILABLE, 0) if failed else (TIMESTAMP_CREATE_TIME, record.content.timestamp or 0),
        latency=record.took / 1000,
    )
