"""The member of a group behind a consumer of Python's clients (aiokafka, kafka-python): what it reads, and from where.

Both keep a position per partition and fetch records ahead: the records of one partition that a fetch brought are handed
out before those of the next.
"""

from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

from compare.testing.contents import Content
from compare.testing.handling import HandlingGroup
from compare.testing.kafka.node import KafkaNode, Partition
from compare.testing.kafka.written import written_at
from kafka_coordinator.consumer.commands import Assign, CommitNow, Handle, Seek
from kafka_coordinator.consumer.commits import DONE
from protocols.engine.nodes import TICK, Time
from protocols.queues import Queue
from protocols.scenario.topology import MemberKey

EARLIEST, LATEST, NONE = "earliest", "latest", "none"


class Taken(NamedTuple):
    """A record that is handed out; ``timestamp`` in milliseconds of virtual time."""

    partition: Partition
    offset: int
    timestamp: int
    content: Content


class Missing(NamedTuple):
    """A partition that cannot be read on by itself, because ``auto_offset_reset`` is none. ``offset``: where it stands
    outside of the partition; None where nothing is committed."""

    partition: Partition
    offset: int | None


class Reader(KafkaNode):
    """A member whose code reads through `fetch` and `take`; ``reset``: ``auto_offset_reset``."""

    def __init__(self, group: HandlingGroup, member: str, reset: str) -> None:
        super().__init__(group, member)
        self._records = group.records
        self.reset = reset
        self.read: tuple[Partition, ...] = ()
        """What the user's code takes for its assignment, sorted."""
        self.paused: set[Partition] = set()
        self.highwater: dict[Partition, int] = {}
        """Partition to its end as the last fetch told."""
        self._fetched: dict[Partition, int] = {}
        """Partition to the end of its records that were fetched and not handed out, in the order of the fetches."""
        self._sought: set[Partition] = set()
        self._last: dict[Partition, int] = {}
        self.consumed: set[Partition] = set()
        """Partitions whose positions are those after a record."""
        self._lacking: dict[Partition, bool] = {}

    def begin(self, subscription: Mapping[str, object], settings: Mapping[str, object], **fields: object) -> None:
        """The process starts, and joins if it subscribes to something."""
        self.cluster.members.by_hand.add(MemberKey(self._group.name, self.name))
        self._group.happen(join=self.name, **subscription, **fields, settings=dict(settings))
        self.node = self.cluster.consumer(self.place)

    def subscribe(self, topics: list[str]) -> None:
        """Another subscription, after the first."""
        self._group.happen(subscribe={self.name: topics})

    def live_on(self, until: Time) -> None:
        """Let time pass, with nothing to wait for."""
        self._group.clock.run(until, self._group.world)

    @property
    def is_there(self) -> bool:
        """Whether its process was not killed: it runs, has not begun to, or has ended by itself."""
        return self.is_alive or (self.node is not None and self.node.is_over)

    @property
    def stands(self) -> bool:
        """Whether its process is stopped."""
        return self.node is not None and not self.node.is_over and self.is_alive and self.is_hung

    def known(self, topics: Iterable[str]) -> list[str]:
        """Those of the topics that are there."""
        return [topic for topic in topics if topic in self._group.topics]

    def all_topics(self) -> list[str]:
        """The topics that there are."""
        return list(self._group.topics)

    def queues(self, topics: Iterable[str]) -> list[Queue]:
        """Their partitions."""
        return [queue for topic in topics for queue in self._group.topics.get(topic, ())]

    # What is read.

    def take_over(self, partitions: Iterable[Partition]) -> None:
        """These are assigned from now on; positions of those kept stay."""
        self.read = tuple(sorted(partitions))
        self.paused &= set(self.read)
        self._sought &= set(self.read)
        self.consumed &= set(self.read)
        self._lacking = {each: lacks for each, lacks in self._lacking.items() if each in self.read}
        self._fetched = {each: end for each, end in self._fetched.items() if each in self.read}
        self._last = {each: at for each, at in self._last.items() if each in self.read}
        self.highwater = {each: at for each, at in self.highwater.items() if each in self.read}

    def assign(self, partitions: Iterable[Partition], *, from_committed: bool) -> None:
        """Read these as nobody's member, from the group's offsets or from where ``auto_offset_reset`` says."""
        listed = tuple(sorted(partitions))
        self.take_over(())
        self.take_over(listed)
        there = tuple([each for each in listed if self.exists(each)])
        self.tell(Assign(there))
        if not from_committed:
            self.seek([(each, self.reset_offset(each)) for each in there])
            self._sought.clear()

    def position(self, partition: Partition) -> int | None:
        """Where the user's code stands; None where that is not known yet."""
        reading = self.state.subscription.positions.get(partition)
        return self._last.get(partition) if reading is None else reading.start

    def positions(self) -> dict[Partition, int]:
        """The positions that are known."""
        found = {each: self.position(each) for each in self.read}
        return {each: at for each, at in found.items() if at is not None}

    def has_positions(self) -> bool:
        """Whether the positions of all partitions are known."""
        return all(self.position(each) is not None for each in self.read if self.exists(each))

    def seek(self, offsets: Iterable[tuple[Partition, int]]) -> None:
        """Read on from these offsets; what was fetched of the partitions is dropped."""
        listed = tuple(offsets)
        for partition, offset in listed:
            self._fetched.pop(partition, None)
            self.consumed.discard(partition)
            self._sought.add(partition)
            self._last[partition] = offset
        self.tell(Seek(listed))

    def reset_offset(self, partition: Partition) -> int:
        """Where ``auto_offset_reset`` says that reading begins."""
        return 0 if self.reset == EARLIEST else self.end_offset(partition)

    # Records.

    def fetch(self) -> Missing | None:
        """Fetch what is there; or a partition that cannot be read."""
        for partition in self.read:
            at = self.position(partition)
            if partition in self._fetched or partition in self.paused or at is None:
                continue
            if self._lacks(partition):
                return Missing(partition, None)
            end = self.end_offset(partition)
            if at > end:
                if self.reset == NONE:
                    return Missing(partition, at)
                self.seek([(partition, self.reset_offset(partition))])
                continue
            self.highwater[partition] = end
            if at < end and self._reads(partition):
                self._fetched[partition] = end
        return None

    def _lacks(self, partition: Partition) -> bool:
        """Whether nothing says where to read it: no committed offset, no seek, no reset."""
        if self.reset != NONE or partition in self._sought:
            return False
        if partition not in self._lacking:
            self._lacking[partition] = partition not in self.committed()
        return self._lacking[partition]

    def take(self, most: int, wanted: Iterable[Partition] = ()) -> list[Taken]:
        """Up to so many of the records that were fetched, of one partition after the other; only of the ``wanted``."""
        only = set(wanted)
        found: list[Taken] = []
        for partition, end in list(self._fetched.items()):
            if only and partition not in only:
                continue
            at = self.position(partition)
            if partition in self.paused or at is None or not self._reads(partition):
                del self._fetched[partition]
                continue
            until = min(end, at + most - len(found))
            found += [self._taken(partition, offset) for offset in range(at, until)]
            if until == end:
                del self._fetched[partition]
            if len(found) == most:
                break
        return found

    def hand_out(self, records: Iterable[Taken]) -> None:
        """The user's code has these in hand: positions move behind them."""
        ends: dict[Partition, tuple[int, int]] = {}
        for each in records:
            first, _ = ends.get(each.partition, (each.offset, 0))
            ends[each.partition] = first, each.offset + 1
        for partition, (first, end) in ends.items():
            self._last[partition] = end
            self.consumed.add(partition)
            self.tell(Handle(partition, first, end))

    def hand_out_one(self, partition: Partition, offset: int) -> None:
        """The same for one record of a poll."""
        self._last[partition] = offset + 1
        self.consumed.add(partition)
        self.tell(Handle(partition, offset, offset + 1))

    def next_due(self) -> Time:
        """When a record of those that are read is there next, in milliseconds."""
        found = inf
        for partition in self.read:
            if partition in self.paused or not self._reads(partition):
                continue
            start = self.position(partition) or 0
            if self._lacks(partition) or start > self.end_offset(partition):
                return 0.0
            at = written_at(self.state.load.production(partition), start)
            found = min(found, inf if at is None else at)
        return found

    def _reads(self, partition: Partition) -> bool:
        """Whether the client has it: between the loss of a partition and the new assignment it has not."""
        return partition in self.state.subscription.positions

    def _taken(self, partition: Partition, offset: int) -> Taken:
        topic, number = partition
        content = self._records.content(Queue(topic, "", number), offset)
        at = content.timestamp
        if at is None:
            written = written_at(self.state.load.production(partition), offset)
            at = int(0 if written is None else written)
        return Taken(partition, offset, at, content)

    # Offsets.

    def at_time(self, partition: Partition, time: int) -> tuple[int, int] | None:
        """The first record written then (milliseconds) or later, and when it was; None where there is none."""
        first = self.end_offset(partition, time - TICK) if time > 0 else 0
        return (first, self._taken(partition, first).timestamp) if first < self.end_offset(partition) else None

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Send a commit; see `is_committing`."""
        self.tell(CommitNow(tuple(offsets.items())))

    @property
    def is_committing(self) -> bool:
        """Whether the answer to a commit is awaited."""
        return self.state.commits.by_user is not None

    @property
    def refusal(self) -> str:
        """How the last commit came out; empty where it was taken."""
        outcome = self.state.commits.outcome
        return "" if outcome == DONE else outcome
