"""What a served broker holds beside the state of the simulation's broker: limits and sides of real brokers that the
simulation has no use for (``BrokerConfig``, ``MessageStoreConfig``), and a store with real records, bounded in memory.

The store stands where the simulation's stands (`rocketmq_selfbalance.broker.store`), whose queues are functions of time
and hold no record. Times here are those of the world; stored records hold milliseconds since 1970.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn, TypeAlias

from protocols.engine.nodes import Outbox, Time
from protocols.java import Queue
from rocketmq_selfbalance.broker.state import Broker
from rocketmq_selfbalance.broker.store import Delayed, MessageStore, StoredQueue
from rocketmq_selfbalance.messages.nameserver import Route
from rocketmq_selfbalance.messages.offsets import Retried
from rocketmq_selfbalance.wire import stored_messages
from rocketmq_selfbalance.wire.messages import Pull
from rocketmq_selfbalance.wire.ownership import Ownership
from rocketmq_selfbalance.wire.stored_messages import Envelope, Record

REAL_NAMES: Mapping[str, str] = {
    "autoCreateTopicEnable": "auto_create_topic",
    "defaultTopicQueueNums": "default_topic_queues",
    "maxMessageSize": "most_message_bytes",
    "maxTransferCountOnMessageInMemory": "most_pulled_records",
    "maxTransferBytesOnMessageInMemory": "most_pulled_bytes",
    "brokerClusterName": "cluster",
    "transactionTimeOut": "transaction_timeout_ms",
    "transactionCheckMax": "transaction_check_max",
    "transactionCheckInterval": "transaction_check_interval_ms",
}
"""The system's own configuration name to the field."""


@dataclass(frozen=True, slots=True)
class WireSettings:
    """Of every broker. Sizes are bytes."""

    cluster: str = "DefaultCluster"
    auto_create_topic: bool = True
    """Producers bring topics into being, after the model of ``TBW102``."""
    default_topic_queues: int = 8
    most_message_bytes: int = 4 * 1024 * 1024
    most_pulled_records: int = 32
    most_pulled_bytes: int = 256 * 1024
    transaction_timeout_ms: Time = 6_000.0
    """How long a producer has to end a transaction before it is asked."""
    transaction_check_max: int = 15
    transaction_check_interval_ms: Time = 30_000.0
    most_stored_bytes: int = 256 * 1024 * 1024
    """Of one broker's records, with what keeping them costs; the oldest ones go first."""
    most_topics: int = 20_000
    """That clients may bring into being at a broker, retry topics included."""
    most_groups: int = 10_000
    """That clients may bring into being at a broker."""
    most_unanswered: int = 20_000
    """Requests of one connection that wait for their answers."""
    most_frame_bytes: int = 16 * 1024 * 1024
    """``com.rocketmq.remoting.frameMaxLength``."""


KEEPING = 250
"""Bytes that keeping a record costs beside its own."""


class StoredRecord:
    """A record at its place."""

    __slots__ = ("content", "position", "queue", "tags", "written")

    def __init__(self, content: bytes, position: int, queue: "RecordQueue", tags: int, written: Time) -> None:
        self.content, self.position, self.queue, self.tags, self.written = content, position, queue, tags, written


MOST_LOOKED_AT = 16_000
"""Records that one request looks at for some with wanted tags (``maxFilterMessageSize``)."""


class RecordQueue(StoredQueue):
    """One queue with its records, the oldest of which may be gone."""

    __slots__ = ("stored",)

    def __init__(self, now: Time) -> None:
        super().__init__(now)
        self.stored: deque[StoredRecord] = deque()
        """Those with the offsets ``min_offset`` and on."""

    def copy(self) -> NoReturn:
        raise TypeError("a queue with real records belongs to real connections and is not copied")

    def produce(self, now: Time, per_second: float) -> None:
        """Nobody produces here but clients."""

    def max_offset(self, now: Time) -> int:
        return self.min_offset + len(self.stored)

    def next_arrival(self, offset: int) -> Time | None:
        return None

    def written_at(self, offset: int) -> Time | None:
        found = self.at(offset)
        return None if found is None else found.written

    def offset_at(self, time: Time, now: Time) -> int:
        return self.min_offset + bisect_left(self.stored, time, key=_written)

    def at(self, offset: int) -> StoredRecord | None:
        """The record with this offset; None where it is gone or not there yet."""
        place = offset - self.min_offset
        return self.stored[place] if 0 <= place < len(self.stored) else None

    def passing(
        self, first: int, end: int, most: int, room: int, wanted: Container[int] | None
    ) -> tuple[list[int], int]:
        """Offsets of those records with wanted tags (None: all) from ``first`` to before ``end`` that one answer holds,
        and the offset to go on with: so many bytes, but for a single longer one (`DefaultMessageStore.isTheBatchFull`).
        """
        passed, at = list[int](), first
        end = min(end, first + MOST_LOOKED_AT)
        while at < end and len(passed) < most:
            record = self.stored[at - self.min_offset]
            if wanted is None or record.tags in wanted:
                room -= len(record.content)
                if room < 0 and passed:
                    break
                passed.append(at)
            at += 1
        return passed, at


class Writing(NamedTuple):
    """One request's records on their way into a queue."""

    now: Time
    queue: RecordQueue
    envelope: Envelope


def _written(record: StoredRecord) -> Time:
    return record.written


def _position(record: StoredRecord) -> int:
    return record.position


class HalfMessage(NamedTuple):
    """The first half of a transaction that is not decided. ``stored``: milliseconds since 1970; ``asker`` is the node
    that its producer's clients are asked by; ``checks``: how often they were."""

    record: Record
    stored: int
    asker: str
    checks: int = 0


class RecordStore(MessageStore):
    """The queues of one broker and its commit log. ``most_bytes``: what all records may take in memory."""

    __slots__ = (
        *("_bytes", "_log", "_waiting", "epoch_ms", "half_count", "halves", "host", "most_bytes", "popped"),
        *("position", "written"),
    )

    def __init__(self, most_bytes: int, epoch_ms: Time = 0.0) -> None:
        super().__init__()
        self.most_bytes = most_bytes
        self.epoch_ms = epoch_ms
        """Milliseconds from 1970 to the beginning of this world."""
        self.host = stored_messages.host("127.0.0.1", 0)
        """The broker's address, as records hold it."""
        self.position = 0
        """Where the next record will stand in the commit log, in bytes."""
        self.written = 0
        """How many records were written."""
        self.popped: dict[tuple[str, str], object] = {}
        """Topic and group to what the group was given out of it."""
        self.halves: dict[int, HalfMessage] = {}
        """Number of a transaction's first half to it, in the order of the queue that they stand in."""
        self.half_count = 0
        self._log: deque[StoredRecord] = deque()
        self._bytes = 0
        self._waiting: dict[int, Record] = {}
        """Number of what waits for its delivery to the record."""

    def open(self, now: Time, topic: str, count: int, *, write: bool) -> None:
        queues = self.queues.setdefault(topic, {})
        for number in range(count):
            if number not in queues:
                queues[number] = RecordQueue(now)

    def records(self, topic: str, number: int) -> RecordQueue | None:
        queue = self.queue(topic, number)
        return queue if isinstance(queue, RecordQueue) else None

    def append(self, now: Time, record: Record, properties: Mapping[str, str]) -> StoredRecord:
        """Write a record at the end of its queue. ``properties`` are those of the record."""
        tags = stored_messages.tags_code(properties)
        return self.write(self.open_queue(now, record), record.flag, record.body, record.properties.encode(), tags)

    def open_queue(self, now: Time, model: Record) -> Writing:
        """What is needed to write records that are like this one but for flag, body and properties."""
        queue = self.records(model.topic, model.queue_number)
        if queue is None:
            queue = self.queues.setdefault(model.topic, {})[model.queue_number] = RecordQueue(now)
        return Writing(now, queue, Envelope(model, int(now + self.epoch_ms), self.host))

    def write(self, writing: Writing, flag: int, body: bytes, properties: bytes, tags: int) -> StoredRecord:
        """Write a record at the end of the queue; ``tags``: their hash."""
        now, queue, envelope = writing
        stored, position = queue.stored, self.position
        content = envelope.fill(flag, body, properties, queue.min_offset + len(stored), position)
        kept = StoredRecord(content, position, queue, tags, now)
        stored.append(kept)
        self._log.append(kept)
        size = len(content)
        self.position += size
        self.written += 1
        self._bytes += size + KEEPING
        while self._bytes > self.most_bytes and len(self._log) > 1:
            self._forget_oldest()
        return kept

    def _forget_oldest(self) -> None:
        oldest = self._log.popleft()
        self._bytes -= len(oldest.content) + KEEPING
        if oldest.queue.stored and oldest.queue.stored[0] is oldest:
            oldest.queue.stored.popleft()
            oldest.queue.min_offset += 1

    def delete(self, topic: str) -> None:
        gone = {id(queue) for queue in self.queues.get(topic, {}).values()}
        super().delete(topic)
        if gone:
            self._log = deque(each for each in self._log if id(each.queue) not in gone)
            self._bytes = sum(len(each.content) + KEEPING for each in self._log)

    def found_at(self, position: int) -> StoredRecord | None:
        """The record that stands there in the commit log; None where it is gone or where none begins."""
        place = bisect_left(self._log, position, key=_position)
        if place < len(self._log) and self._log[place].position == position:
            return self._log[place]
        return None

    @property
    def oldest(self) -> Time | None:
        return self._log[0].written if self._log else None

    def keep_until(self, due: Time, record: Record) -> None:
        """The record is to be written when it is due."""
        self._sent_back += 1
        number = self._sent_back
        origin = Queue(record.topic, "", record.queue_number)
        delayed = Delayed(due, number, *origin[::2], Retried(origin, -1, record.reconsume_times))
        insort(self.delayed, delayed)
        self._waiting[number] = record
        self._bytes += len(record.body) + KEEPING

    def deliver(self, now: Time) -> list[tuple[str, int]]:
        count = bisect_left(self.delayed, (now, self._sent_back + 1))
        due, self.delayed = self.delayed[:count], self.delayed[count:]
        for each in due:
            record = self._waiting.pop(each.number)
            self._bytes -= len(record.body) + KEEPING
            self.append(now, record, stored_messages.parse_properties(record.properties))
        return list(dict.fromkeys((each.topic, each.queue_number) for each in due))

    def copy(self) -> "RecordStore":
        raise TypeError("a store with real records belongs to real connections and is not copied")


class ClientKind(NamedTuple):
    """Who speaks on a connection, as its heartbeats say."""

    client_id: str
    language: str
    version: int


Arrived: TypeAlias = Callable[["Served", Time, str, int, Outbox], None]
"""What is done when records have come to a queue: topic and number."""


class Served:
    """A broker before real clients. ``address`` is the ``host:port`` that they reach it at; ``epoch_ms``: milliseconds
    from 1970 to the beginning of the world; ``ownership`` is shared by the brokers of a cluster."""

    def __init__(
        self, broker: Broker, store: RecordStore, wire: WireSettings, ownership: Ownership, address: str, epoch_ms: Time
    ) -> None:
        self.broker, self.store, self.wire, self.ownership = broker, store, wire, ownership
        self.address, self.epoch_ms = address, epoch_ms
        self.filters: dict[str, dict[int, Pull]] = {}
        """Client to number of a pull of it that is held to the whole of it."""
        self.clients: dict[str, ClientKind] = {}
        """Connection to who speaks on it."""
        self.producers: dict[str, dict[str, ClientKind]] = {}
        """Group of producers to its connections."""
        self.places: dict[str, dict[str, str]] = {}
        """Connection to its groups of consumers, to the client's id in each."""
        self.questions: dict[int, tuple[str, int, str]] = {}
        """Number of a question that was passed on to a client to who asked, the number there, and whom."""
        self.unfinished: dict[str, deque[Iterator[None]]] = {}
        """Topic to what producers have sent to it and what is not written yet."""
        self.asked = 0
        self.read = 0
        """How many records pulls have carried."""
        self.arrivals: tuple[Arrived, ...] = ()
        """Who is told that records have come."""
        self.route_of: Callable[[str], Route | None] = lambda topic: None
        """What the name server answers for a topic."""
        self.revive_queue: Callable[[int], int | None] = lambda number: None
        """The revive queue of the pop of this number, where a replay knows it; None: the next one in turn."""
        self.revive_phases: Sequence[Time] = (0.0,) * 8
        """How much later than usual each of the threads begins that bring back what nobody has acked."""
        self.started: Time = 0.0
        self.now: Time = 0.0
        """When the present event came."""
        self.locked: tuple[Queue, ...] = ()
        """What the last request for locks was given."""

    def arrived(self, now: Time, topic: str, number: int, out: Outbox) -> None:
        """Records have come to a queue."""
        for told in self.arrivals:
            told(self, now, topic, number, out)

    def client_id(self, peer: str, group: str) -> str | None:
        """The client's id in this group; None where it is not in it."""
        known = self.broker.consumers.groups.get(group)
        channel = None if known is None else known.channels.get(peer)
        return None if channel is None else channel.client_id

    def epoch(self, now: Time) -> int:
        return int(now + self.epoch_ms)
