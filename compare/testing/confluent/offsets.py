"""Offsets as confluent-kafka's calls name them: where reading begins, what was written when, what is committed, and who
is told how a commit came out."""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any, Final, NamedTuple

from compare.testing.clock import in_ticks
from compare.testing.confluent import arguments, errors
from compare.testing.confluent.configuration import Callback
from compare.testing.confluent.errors import where_of
from compare.testing.confluent.member import KafkaMember
from compare.testing.confluent.messages import EPOCH, Message
from compare.testing.confluent.reading import Partition, Stored
from kafka_coordinator.cluster import DONE
from protocols.engine.nodes import TICK, Time

TAIL: Final = -2000
"""Offsets from here on down stand for so many records before the end."""

_LOOK_AGAIN_MS: Time = 1000.0
_UNKNOWN: Final = "UNKNOWN_TOPIC_OR_PART"
_LEFT: Final = "UNKNOWN_MEMBER_ID"
"""What a broker answers to a commit of a generation that the consumer has left."""


def named(message: Message | None, offsets: errors.Partitions | None) -> errors.Listed | None:
    """The offsets that a call names: the one after a message, or a list; None where it names nothing."""
    if message is not None and offsets is not None:
        raise ValueError("message and offsets are mutually exclusive")
    if message is not None:
        return [_after(arguments.message(message))]
    if offsets is not None:
        return [_made(where_of(given), given.offset, given.metadata) for given in arguments.partitions(offsets)]
    return None


def _after(message: Message) -> errors.TopicPartitionDouble:
    """The offset to commit when a message was handled. Raises `KafkaException` for an error."""
    error, topic, number, offset = message.error(), message.topic(), message.partition(), message.offset()
    if error is not None or topic is None or number is None or offset is None:
        said = "" if error is None else error.str()
        raise errors.exception("_INVALID_ARG", f"Cannot commit offsets for message with error: '{said}'")
    return _made((topic, number), offset + 1, None, message.leader_epoch())


def _made(
    partition: Partition, offset: int = errors.OFFSET_INVALID, metadata: str | None = None, epoch: int | None = None
) -> errors.TopicPartitionDouble:
    """A partition with an offset. confluent-kafka's class takes no None for what is left out."""
    given: dict[str, Any] = {"metadata": metadata, "leader_epoch": epoch}
    told = {name: value for name, value in given.items() if value is not None}
    return errors.TopicPartition(*partition, offset, **told)


def sought(inner: KafkaMember, partitions: Iterable[errors.Partitioned]) -> list[tuple[Partition, int]]:
    """The offsets to read on from, of those partitions that say one."""
    found = []
    for given in partitions:
        partition, offset = where_of(given), given.offset
        if offset == errors.OFFSET_BEGINNING:
            found.append((partition, 0))
        elif offset == errors.OFFSET_END:
            found.append((partition, inner.end_offset(partition)))
        elif offset >= 0:
            found.append((partition, offset))
        elif offset <= TAIL:
            found.append((partition, max(0, inner.end_offset(partition) + offset - TAIL)))
    return found


def check_answered(inner: KafkaMember, timeout: float | None) -> None:
    """Raises `KafkaException` after ``timeout`` seconds where no broker runs that could tell committed offsets."""
    until = inf if timeout is None else inner.now + in_ticks(timeout)
    while not inner.has_brokers and inner.now < until:
        inner.live(min(until, inner.now + _LOOK_AGAIN_MS), lambda: False)
    if not inner.has_brokers:
        raise errors.exception("_TIMED_OUT", f"Failed to get committed offsets: {errors.said('_TIMED_OUT')}")


def at_times(inner: KafkaMember, partitions: Iterable[errors.Partitioned]) -> errors.Listed:
    """Of each partition the first record written at the time that stands for its offset, or later; `OFFSET_END` where
    there is none."""
    if not inner.has_brokers:
        raise errors.exception("_UNKNOWN_PARTITION", f"Failed to get offsets: {errors.said('_UNKNOWN_PARTITION')}")
    found = []
    for given in partitions:
        partition, time = where_of(given), given.offset
        first = inner.end_offset(partition, time - TICK) if time > 0 else 0
        is_there = first < inner.end_offset(partition)
        found.append(_made(partition, first if is_there else errors.OFFSET_END))
    return found


def positions(inner: KafkaMember, partitions: errors.Partitions) -> errors.Listed:
    """Where the user's code stands: after the last record that it was given; else `OFFSET_INVALID`."""
    known = inner.position
    return [
        _made(partition, known[partition], epoch=EPOCH) if partition in known else _made(partition)
        for partition in map(where_of, partitions)
    ]


def watermarks(inner: KafkaMember, partition: errors.Partitioned, *, cached: bool) -> tuple[int, int]:
    """The first offset and the end; as told by the last fetch, if ``cached``. Raises `KafkaException` for a partition
    that is not there."""
    which = where_of(partition)
    if cached and which not in inner.position:
        return errors.OFFSET_INVALID, errors.OFFSET_INVALID
    if not inner.exists(which) or not (cached or inner.has_brokers):
        raise errors.exception("_UNKNOWN_PARTITION", "Failed to get watermark offsets: Local: Unknown partition")
    return 0, inner.end_offset(which)


class _Sent(NamedTuple):
    """An asynchronous commit; ``error``: why it fails already, empty where it is on its way."""

    listed: errors.Listed
    error: str


class Commits:
    """The commits of one consumer; ``metadata``: partition to the offset that was committed with one, and that."""

    def __init__(
        self, inner: KafkaMember, on_commit: Callback | None, metadata: dict[Partition, tuple[int, str | None]]
    ) -> None:
        self._inner, self._on_commit, self._metadata = inner, on_commit, metadata
        self._sent: list[_Sent] = []
        self._heard = 0
        """How many of the commits were looked at for `_serve_timer`."""
        self._by_user: set[tuple[Partition, int]] = set()
        """What the user's code has committed and `_serve_timer` has not seen yet."""

    def commit(self, message: Message | None, offsets: errors.Partitions | None) -> errors.Listed:
        """Commit and wait for the answer. Raises `KafkaException` where there is nothing to commit, or the answer is a
        refusal."""
        listed = self._listed(message, offsets)
        wanted = _valid(listed)
        if wanted and self._inner.has_left:
            raise errors.of_commit(_LEFT)
        outcome = self._send(wanted) if wanted else "_NO_OFFSET"
        if outcome:
            raise errors.exception(outcome, f"Commit failed: {errors.said(outcome)}")
        refused = self._inner.committed_now() if self._inner.state.commits.by_user is not None else self._outcome()
        if refused:
            raise errors.of_commit(refused)
        self._note(listed)
        return listed

    def send(self, message: Message | None, offsets: errors.Partitions | None) -> None:
        """Commit without waiting; ``on_commit`` is told in a later poll()."""
        listed = self._listed(message, offsets)
        wanted = _valid(listed)
        error = "_NO_OFFSET" if not wanted else _LEFT if self._inner.has_left else self._send(wanted)
        if not error:
            self._note(listed)
        self._sent.append(_Sent(listed, error))

    def serve(self) -> None:
        """Call ``on_commit`` for the commits whose answers are there."""
        if self._inner.state.commits.by_user is not None:
            return
        self._serve_timer()
        sent, self._sent = self._sent, []
        for listed, name in sent:
            if not name and self._outcome():
                error = errors.of_commit(self._outcome()).args[0]
            else:
                error = errors.error(name, errors.said(name)) if name else None
            if self._on_commit is not None:
                self._inner.lend(self._on_commit, error, listed)

    def _serve_timer(self) -> None:
        """Tell of offsets that the client has committed by itself, and that were not committed before."""
        if self._on_commit is None or not self._inner.state.config.settings.enable_auto_commit:
            return
        commits = self._inner.own_commits()
        new, self._heard = commits[self._heard :], len(commits)
        told: dict[float, errors.Listed] = {}
        for commit in new:
            partition = commit.queue.topic, commit.queue.number
            if (partition, commit.offset) in self._by_user:
                self._by_user.discard((partition, commit.offset))
            elif commit.before != commit.offset:
                told.setdefault(commit.at, []).append(_made(partition, commit.offset, epoch=EPOCH))
        for listed in told.values():
            self._inner.lend(self._on_commit, None, listed)

    def committed(self, partitions: errors.Partitions) -> errors.Listed:
        """The group's committed offsets, with what was committed beside them."""
        committed = self._inner.committed()
        found = []
        for partition in map(where_of, partitions):
            offset = committed.get(partition, errors.OFFSET_INVALID)
            at, metadata = self._metadata.get(partition, (None, None))
            found.append(_made(partition, offset, metadata if at == offset else None))
        return found

    def store(self, message: Message | None, offsets: errors.Partitions | None) -> None:
        """What commits that name no offsets are of, where ``enable.auto.offset.store`` is off."""
        listed = named(message, offsets)
        if listed is None:
            raise ValueError("expected either message or offsets")
        inner = self._inner
        if inner.node is None or not inner.stores_itself:
            raise errors.exception("_INVALID_ARG", f"StoreOffsets failed: {errors.said('_INVALID_ARG')}")
        if any(where_of(given) not in inner.read for given in listed):
            raise errors.exception("_STATE", f"StoreOffsets failed: {errors.said('_STATE')}")
        stored = [given for given in listed if given.offset >= 0]
        inner.store({where_of(given): Stored(given.offset, given.leader_epoch, given.metadata) for given in stored})

    def _listed(self, message: Message | None, offsets: errors.Partitions | None) -> errors.Listed:
        """What a commit is of: what it names, else the stored offsets of all that is read, `OFFSET_INVALID` where
        nothing new is stored."""
        listed = named(message, offsets)
        if listed is not None or self._inner.node is None:
            return listed or []
        committed = self._inner.committed()
        found = []
        for partition in sorted(self._inner.read):
            stored = self._inner.stored.get(partition)
            if stored is None or stored.offset <= committed.get(partition, errors.OFFSET_INVALID):
                found.append(_made(partition))
            else:
                found.append(_made(partition, stored.offset, stored.metadata, stored.epoch))
        return found

    def _send(self, wanted: Mapping[Partition, int]) -> str:
        """Send those that exist. Returns the error of those that do not; empty where all do."""
        good = {partition: offset for partition, offset in wanted.items() if self._inner.exists(partition)}
        if good:
            self._by_user.update(good.items())
            self._inner.commit(good)
        return "" if len(good) == len(wanted) else _UNKNOWN

    def _outcome(self) -> str:
        """How the last commit came out; empty where it was taken."""
        outcome = self._inner.state.commits.outcome
        return "" if outcome == DONE else outcome

    def _note(self, listed: errors.Listed) -> None:
        for given in listed:
            if given.offset >= 0:
                self._metadata[where_of(given)] = given.offset, given.metadata


def _valid(listed: errors.Listed) -> dict[Partition, int]:
    return {where_of(given): given.offset for given in listed if given.offset >= 0}
