"""A broker's Fetch sessions (KIP-227), and the fetches that wait for records; they end with it.

In Kafka `FetchSession`, `FetchManager` and `DelayedFetch`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

from kio.schema.errors import ErrorCode

from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.requests import Fetch
from protocols.engine.nodes import Time

if TYPE_CHECKING:
    from kio.schema.fetch.v18.request import FetchPartition, FetchRequest, FetchTopic

FIRST_EPOCH: Final = 0
LAST_EPOCH: Final = -1
"""Session epochs of a request that makes a session, and of one that ends it, or has none."""

Key: TypeAlias = tuple[str | UUID, int]
"""Topic as the request names it (by name, or by id), partition."""


class FetchedPartition:
    """A partition that is fetched; ``asked`` is its part of the newest request that named it. A session remembers the
    high watermark and the log start that were told last; -1: none."""

    __slots__ = ("asked", "high_watermark", "key", "log_start")

    def __init__(self, key: Key, asked: "FetchPartition") -> None:
        self.key, self.asked = key, asked
        self.high_watermark = self.log_start = -1


class Session:
    """What a client fetches, so that it need not say it again; ``epoch`` is that of its next request."""

    __slots__ = ("by_id", "epoch", "number", "partitions", "used")

    def __init__(self, number: int, partitions: dict[Key, FetchedPartition], by_id: bool, now: Time) -> None:
        self.number, self.partitions, self.by_id = number, partitions, by_id
        self.epoch, self.used = 1, now


@dataclass(slots=True)
class Context:
    """What one request fetches. ``session``: the one that it goes on with; ``makes_session``: it begins one."""

    partitions: list[FetchedPartition]
    session: Session | None = None
    makes_session: bool = False


@dataclass(slots=True)
class WaitingFetch:
    """A request that is answered when ``min_bytes`` are there, or when its time is over."""

    sender: str
    request: Fetch
    context: Context
    names: dict[Key, str]
    """Names of the topics of its partitions that were known when it came."""


@dataclass(slots=True)
class Fetches:
    """Sessions by number, least recently used first; waiting fetches by sender, and by the partitions they wait for."""

    sessions: dict[int, Session] = field(default_factory=dict)
    waiting: dict[str, WaitingFetch] = field(default_factory=dict)
    waiting_for: dict[tuple[str, int], dict[str, None]] = field(default_factory=dict)
    numbers: int = 0
    """How many sessions there were."""

    def open(self, request: Fetch, now: Time) -> Context:
        """What the request fetches. Raises `RefusedError` for a session that is not there, or not as it says."""
        body = request.body
        number, epoch = getattr(body, "session_id", 0), getattr(body, "session_epoch", LAST_EPOCH)
        if epoch in (FIRST_EPOCH, LAST_EPOCH):
            self.sessions.pop(number, None)
            parts = [FetchedPartition(*each) for each in _asked(body.topics)]
            unique = {part.key: part for part in parts}
            return Context(list(unique.values()), makes_session=epoch == FIRST_EPOCH)
        session = self.sessions.get(number)
        if session is None:
            raise RefusedError(ErrorCode.fetch_session_id_not_found)
        if session.epoch != epoch:
            raise RefusedError(ErrorCode.invalid_fetch_session_epoch)
        if session.by_id != (request.version >= 13):
            raise RefusedError(ErrorCode.fetch_session_topic_id_error)
        _update(session, body)
        if not session.partitions:
            del self.sessions[number]
            return Context([])
        session.epoch = 1 if epoch == 0x7FFFFFFF else epoch + 1
        session.used = now
        del self.sessions[number]
        self.sessions[number] = session
        return Context(list(session.partitions.values()), session)

    def new_session(
        self, fetched: Iterable[FetchedPartition], by_id: bool, now: Time, most: int, eviction_ms: int
    ) -> int:
        """The number of a new session with these partitions, which it keeps in this order: that of the answer. 0 where
        all numbers are taken."""
        if len(self.sessions) >= most:
            oldest = next(iter(self.sessions.values()), None)
            if oldest is None or now - oldest.used <= eviction_ms:
                return 0
            del self.sessions[oldest.number]
        self.numbers += 1
        partitions = {partition.key: partition for partition in fetched}
        self.sessions[self.numbers] = Session(self.numbers, partitions, by_id, now)
        return self.numbers

    def wait(self, fetch: WaitingFetch) -> None:
        """Wait for records of any of its partitions."""
        self.waiting[fetch.sender] = fetch
        for key, name in fetch.names.items():
            self.waiting_for.setdefault((name, key[1]), {})[fetch.sender] = None

    def forget(self, sender: str) -> WaitingFetch | None:
        """The fetch of this client waits no longer; None where none did."""
        fetch = self.waiting.pop(sender, None)
        if fetch is not None:
            for key, name in fetch.names.items():
                waiting = self.waiting_for.get((name, key[1]))
                if waiting is not None:
                    waiting.pop(sender, None)
                    if not waiting:
                        del self.waiting_for[name, key[1]]
        return fetch


def _asked(topics: "Iterable[FetchTopic]") -> "Iterable[tuple[Key, FetchPartition]]":
    for topic in topics:
        name = topic.topic_id or UUID(int=0) if hasattr(topic, "topic_id") else getattr(topic, "topic", "")
        for part in topic.partitions:
            yield (name, part.partition), part


def _update(session: Session, body: "FetchRequest") -> None:
    partitions = session.partitions
    for key, part in _asked(body.topics):
        known = partitions.get(key)
        if known is None:
            partitions[key] = FetchedPartition(key, part)
        else:
            known.asked = part
    for topic in body.forgotten_topics_data:
        name = topic.topic_id or UUID(int=0) if hasattr(topic, "topic_id") else getattr(topic, "topic", "")
        for number in topic.partitions:
            partitions.pop((name, number), None)
