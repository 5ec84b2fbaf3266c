"""Which partitions a consumer reads, from where, and the records of them that are there."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from compare.testing.confluent import errors
from compare.testing.confluent.messages import EPOCH, TIMESTAMP_CREATE_TIME, Log, Message, error_message, made
from compare.testing.confluent.node import Isolation, KafkaNode, Partition, queue_of, written_at
from compare.testing.handling import HandlingGroup
from kafka_coordinator.cluster import Assign, AssignAsMember, Handle, Seek, Store
from protocols.engine.nodes import Time

_NO_OFFSET, _FROM_COMMITTED = errors.OFFSET_INVALID, errors.OFFSET_STORED


class Stored(NamedTuple):
    """An offset that a commit without offsets of its own is of."""

    offset: int
    epoch: int | None = None
    metadata: str | None = None


class ReadPartitions(KafkaNode):
    """The partitions that the user's code reads, and where it stands in them."""

    def __init__(self, group: HandlingGroup, member: str, log: Log) -> None:
        super().__init__(group, member)
        self.log = log
        self.isolation = Isolation(group.transactions)
        self.read: dict[Partition, int] = {}
        """The partitions that records are taken from (those assigned and not unassigned by the user) to the offset that
        the user named; `OFFSET_INVALID` where none."""
        self.once_read: set[Partition] = set()
        """Partitions that were read at some time and then taken away."""
        self.paused: set[Partition] = set()
        self.position: dict[Partition, int] = {}
        """Where the user's code stands: the offset after the last record that it was given."""
        self.stored: dict[Partition, Stored] = {}
        """What a commit is of that names no offsets."""
        self.stuck: set[Partition] = set()
        """Partitions of which nothing comes until they are sought, paused or assigned again: after a seek() that the
        real client refuses when it has already thrown away what it had fetched."""
        self.failed: set[Partition] = set()
        """Partitions that are read no more: there was no offset to begin at (``auto.offset.reset=error``)."""
        self.awaited: set[Partition] = set()
        """Partitions that begin at their committed offsets, which have not come yet."""
        self.left_over = False
        """Whether what is read was assigned by hand, before the subscription."""
        self.resets = True
        """Whether ``auto.offset.reset`` names where to begin."""
        self._failures: list[Message] = []
        self.stores_itself = False
        """Whether the user's code says what is stored."""
        self._tells_ends = False
        self._ends: dict[Partition, int] = {}
        """The ends of partitions that were told."""

    def store(self, offsets: Mapping[Partition, Stored]) -> None:
        """These offsets are stored, beside those that are."""
        self.stored.update(offsets)
        self.tell(Store(tuple([(partition, stored.offset) for partition, stored in self.stored.items()])))

    def assign(self, partitions: Mapping[Partition, int], *, anew: bool = True) -> None:
        """Read these as nobody's member; ``anew``: not from where some of them were read to before."""
        kept = {} if anew else {read: at for read, at in self.position.items() if read in partitions}
        self.read = dict(partitions)
        self.paused &= self.read.keys()
        self._begin_anew(partitions if anew else partitions.keys() - kept.keys())
        self._ends = {}
        self.position = kept
        self.stored = {read: stored for read, stored in self.stored.items() if read in kept}
        self.tell(Assign(tuple([partition for partition in self.read if self.exists(partition)])))
        self.store({})

    def forget_read(self) -> None:
        """Nothing is read."""
        self.read.clear()
        self.position.clear()

    def hand_over(self) -> None:
        """What was assigned by hand is read until the group assigns something."""
        positions = self.state.subscription.positions
        standing = {partition: at.start for partition, at in positions.items() if partition in self.read}
        self.tell(Assign(()))
        self.tell(AssignAsMember(tuple([partition for partition in self.read if self.exists(partition)])))
        self.tell(Seek(tuple(standing.items())))
        self.left_over = bool(self.read)

    def _begin_anew(self, partitions: Iterable[Partition]) -> None:
        """These are read from the beginning of their assignment."""
        listed = list(partitions)
        self.stuck.difference_update(listed)
        self.failed.difference_update(listed)
        from_committed = (_NO_OFFSET, _FROM_COMMITTED)
        self.awaited.update([partition for partition in listed if self.read.get(partition, 0) in from_committed])

    def named(self, partition: Partition) -> int:
        """The offset that ``assignment`` tells of a partition: what the user named, else the committed one."""
        named = self.read[partition]
        return _FROM_COMMITTED if named == _NO_OFFSET and partition in self.state.subscription.positions else named

    def seek(self, offsets: Iterable[tuple[Partition, int]]) -> None:
        """Read on from these offsets."""
        listed = tuple(offsets)
        for partition, _ in listed:
            self.position.pop(partition, None)
            self._ends.pop(partition, None)
            self.stuck.discard(partition)
            self.awaited.discard(partition)
        self.tell(Seek(listed))

    def pause(self, partitions: Iterable[Partition]) -> None:
        """Hand out no records of these; whatever was fetched of them is fetched anew."""
        listed = list(partitions)
        self.paused.update(listed)
        self.stuck.difference_update(listed)

    def reset_offset(self, partition: Partition) -> int:
        """Where ``auto.offset.reset`` says that reading begins."""
        return 0 if self.state.config.settings.auto_offset_reset == "earliest" else self.end_offset(partition)

    def reset(self, partition: Partition, reason: str, at: int | None) -> None:
        """There is no such offset ``at`` (None: none at all): read where ``auto.offset.reset`` says, or no more."""
        if self.resets:
            self.seek([(partition, self.reset_offset(partition))])
            return
        self.failed.add(partition)
        self.position.pop(partition, None)
        where = errors.OFFSET_INVALID if at is None else at
        self._failures.append(error_message("_AUTO_OFFSET_RESET", reason, (*partition, where)))

    def _note_begun(self) -> None:
        """Committed offsets have come; where there are none, the model's client has reset to where it is told to."""
        begun = self.awaited & self.state.subscription.positions.keys() & self.read.keys()
        self.awaited -= begun
        committed = {} if self.resets or not begun else self.committed()
        for partition in sorted(begun):
            if not self.resets and partition not in committed:
                self.reset(partition, f"no previously committed offset available: {errors.said('_NO_OFFSET')}", None)

    def _reset_beyond(self) -> None:
        """Positions beyond the end of their partitions are reset."""
        positions = self.state.subscription.positions
        starts = [(partition, position.start) for partition, position in positions.items()]
        for partition, at in starts:
            if partition in self.read and partition not in self.failed and at > self.end_offset(partition):
                reason = "fetch failed due to requested offset not available on the broker: Broker: Offset out of range"
                self.reset(partition, f"{reason} (broker {self.broker_id(partition)})", at)

    def _skip_hidden(self) -> None:
        """Positions stand behind records that are not shown."""
        positions = self.state.subscription.positions
        shown = [(partition, self.isolation.after_hidden(partition, at.start)) for partition, at in positions.items()]
        skipped = [
            (partition, to) for partition, to in shown if partition in self.read and to != positions[partition].start
        ]
        if skipped:
            self.tell(Seek(tuple(skipped)))

    def readable_end(self, partition: Partition) -> int:
        """Up to where records are handed out."""
        return self.isolation.readable_end(partition, self.end_offset(partition))

    def _reached_ends(self, most: int) -> list[Message]:
        """That partitions were read to their ends, once for each end, where the user wants to be told."""
        if not self._tells_ends:
            return []
        found: list[Message] = []
        for partition, start in self._standing():
            if len(found) < most and self._ends.get(partition) != start == self.readable_end(partition):
                self._ends[partition] = end = start
                broker = self.broker_id(partition)
                said = f"Fetch from broker {broker} reached end of partition at offset {end} (HighwaterMark {end})"
                found.append(error_message("_PARTITION_EOF", said, (*partition, end)))
        return found

    def _due(self, most: int) -> list[Message]:
        """Records that are there, the oldest first."""
        found: list[Message] = []
        now = self._group.clock.time
        while len(found) < most:
            ready = [(at, partition) for at, partition in self._nexts() if at <= now]
            if not ready:
                break
            at, partition = min(ready)
            offset = self.state.subscription.positions[partition].start
            self.tell(Handle(partition, offset, offset + 1))
            self.position[partition] = offset + 1
            value, key, headers, written = self._group.records.content(queue_of(partition), offset)
            if not self.stores_itself:
                self.stored[partition] = Stored(offset + 1, EPOCH)
            message = made(
                self.name,
                topic=partition[0],
                partition=partition[1],
                offset=offset,
                key=key,
                value=value,
                headers=headers,
                timestamp=(TIMESTAMP_CREATE_TIME, int(at) if written is None else written),
                leader_epoch=EPOCH,
            )
            found.append(message)
            self._skip_hidden()
        if found and not self.stores_itself:
            self.store({})
        return found

    def _nexts(self) -> Iterable[tuple[Time, Partition]]:
        """When the next record of each partition that is read is there."""
        for partition, start in self._standing():
            at = written_at(self.state.load.production(partition), start)
            if at is not None and start < self.isolation.readable_end(partition, start + 1):
                yield at, partition

    def _standing(self) -> Iterable[tuple[Partition, int]]:
        """The partitions that records are handed out of now, each with the offset of the next."""
        silent = self.paused | self.stuck | self.failed
        for partition, position in self.state.subscription.positions.items():
            if partition in self.read and partition not in silent:
                yield partition, position.start
