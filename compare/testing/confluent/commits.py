"""Commits of the user's code: what they are of, what they answer, and who is told how they came out."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from compare.testing.confluent import errors as errors
from compare.testing.confluent import offset_queries
from compare.testing.confluent.member import KafkaMember
from compare.testing.confluent.messages import EPOCH, Message
from compare.testing.confluent.reading import Stored
from compare.testing.kafka.node import Partition
from kafka_coordinator.consumer.commits import DONE

_UNKNOWN = "UNKNOWN_TOPIC_OR_PART"
_NOTHING = "Local: No offset stored"


class _Sent(NamedTuple):
    """An asynchronous commit; ``error``: why it fails already, empty where it is on its way."""

    listed: errors.Listed
    error: str


class Commits:
    """The commits of one consumer; ``metadata``: partition to the offset that was committed with one, and that."""

    def __init__(
        self,
        inner: KafkaMember,
        on_commit: Callable[..., object] | None,
        metadata: dict[Partition, tuple[int, str | None]],
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
        if not wanted:
            raise errors.exception("_NO_OFFSET", f"Commit failed: {_NOTHING}")
        outcome = self._send(wanted)
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
        error = self._send(wanted) if wanted else "_NO_OFFSET"
        if not error:
            self._note(listed)
        self._sent.append(_Sent(listed, error))

    def serve(self) -> None:
        """Call ``on_commit`` for the commits whose answers are there."""
        if self._inner.node is not None and self._inner.state.commits.by_user is not None:
            return
        if self._inner.node is not None:
            self._serve_timer()
        sent, self._sent = self._sent, []
        for each in sent:
            name = each.error
            if not name and self._outcome():
                error = errors.of_commit(self._outcome()).args[0]
            else:
                error = errors.error(name, errors.said(name)) if name else None
            if self._on_commit is not None:
                with self._inner.lent():
                    self._on_commit(error, each.listed)

    def _serve_timer(self) -> None:
        """Tell of offsets that the client has committed by itself, and that were not committed before."""
        if self._on_commit is None or not self._inner.state.config.settings.enable_auto_commit:
            return
        commits = self._inner.own_commits()
        new, self._heard = commits[self._heard :], len(commits)
        told: dict[float, errors.Listed] = {}
        for each in new:
            what = (each.queue.topic, each.queue.number), each.offset
            if what in self._by_user:
                self._by_user.discard(what)
            elif each.before != each.offset:
                told.setdefault(each.at, []).append(_partition(what[0], Stored(each.offset, EPOCH)))
        for listed in told.values():
            with self._inner.lent():
                self._on_commit(None, listed)

    def committed(self, partitions: errors.Partitions) -> errors.Listed:
        """The group's committed offsets, with what was committed beside them."""
        found = []
        for each in offset_queries.with_offsets(partitions, self._inner.committed()):
            offset, metadata = self._metadata.get((each.topic, each.partition), (None, None))
            known = offset == each.offset and metadata is not None
            found.append(errors.TopicPartition(each.topic, each.partition, each.offset, metadata) if known else each)
        return found

    def store(self, message: Message | None, offsets: errors.Partitions | None) -> None:
        """What commits that name no offsets are of, where ``enable.auto.offset.store`` is off."""
        listed = offset_queries.named(message, offsets)
        if listed is None:
            raise ValueError("expected either message or offsets")
        inner = self._inner
        if inner.node is None or not inner.stores_itself:
            raise errors.exception("_INVALID_ARG", f"StoreOffsets failed: {errors.said('_INVALID_ARG')}")
        if any((each.topic, each.partition) not in inner.read for each in listed):
            raise errors.exception("_STATE", f"StoreOffsets failed: {errors.said('_STATE')}")
        stored = [each for each in listed if each.offset >= 0]
        inner.store({(each.topic, each.partition): Stored(*_what(each)) for each in stored})

    def _listed(self, message: Message | None, offsets: errors.Partitions | None) -> errors.Listed:
        """What a commit is of: what it names, else the stored offsets of all that is read, `OFFSET_INVALID` where
        nothing new is stored."""
        listed = offset_queries.named(message, offsets)
        if listed is not None or self._inner.node is None:
            return listed or []
        committed = self._inner.committed()
        found = []
        for partition in sorted(self._inner.read):
            stored = self._inner.stored.get(partition)
            if stored is None or stored.offset <= committed.get(partition, errors.OFFSET_INVALID):
                found.append(errors.TopicPartition(*partition))
            else:
                found.append(_partition(partition, stored))
        return found

    def _send(self, wanted: Mapping[Partition, int]) -> str:
        """Send those that exist. Returns the error of those that do not; empty where all do."""
        good = {each: offset for each, offset in wanted.items() if self._inner.exists(each)}
        if good:
            self._by_user.update(good.items())
            self._inner.commit(good)
        return "" if len(good) == len(wanted) else _UNKNOWN

    def _outcome(self) -> str:
        """How the last commit came out; empty where it was taken."""
        outcome = self._inner.state.commits.outcome
        return "" if outcome == DONE else outcome

    def _note(self, listed: errors.Listed) -> None:
        for each in listed:
            if each.offset >= 0:
                self._metadata[each.topic, each.partition] = each.offset, each.metadata


def _what(each: errors.Partitioned) -> tuple[int, int | None, str | None]:
    return each.offset, getattr(each, "leader_epoch", None), each.metadata


def _partition(partition: Partition, stored: Stored) -> errors.TopicPartitionDouble:
    topic, number = partition
    made = errors.TopicPartition(topic, number, stored.offset, *(() if stored.metadata is None else (stored.metadata,)))
    return made if stored.epoch is None else offset_queries.with_epoch(made, stored.epoch)


def _valid(listed: errors.Listed) -> dict[Partition, int]:
    return {(each.topic, each.partition): each.offset for each in listed if each.offset >= 0}
