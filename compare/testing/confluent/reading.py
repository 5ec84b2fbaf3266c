"""The node of a group's member in the simulation: which partitions it reads, from where, and the records that are
there; and what its cluster knows: partitions, their records, commits."""

from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import NamedTuple

from compare.testing.confluent import errors
from compare.testing.confluent.messages import EPOCH, TIMESTAMP_CREATE_TIME, Log, Message, error_message, made
from compare.testing.handling import HandlingGroup
from kafka_coordinator.cluster import Assign, AssignAsMember, Consumer, ConsumerState, Handle, KafkaCluster, Seek, Store
from protocols.engine.nodes import TICK, Time
from protocols.engine.nodes import Message as Command
from protocols.java import Queue
from protocols.load import Production
from protocols.scenario.topology import MemberKey
from protocols.timeline.timeline import Commit

_NO_OFFSET, _FROM_COMMITTED = errors.OFFSET_INVALID, errors.OFFSET_STORED


Partition = tuple[str, int]

_STOPPED_MS: Time = 3_600_000.0


def queue_of(partition: Partition) -> Queue:
    """The partition as the model names it."""
    topic, number = partition
    return Queue(topic, "", number)


class Stored(NamedTuple):
    """An offset that a commit without offsets of its own is of."""

    offset: int
    epoch: int | None = None
    metadata: str | None = None


class ReadPartitions:
    """A member's process, the partitions that the user's code reads, and where it stands in them."""

    def __init__(self, group: HandlingGroup, member: str, log: Log) -> None:
        self.name, self.log = member, log
        self._group = group
        self.node: Consumer | None = None
        self.committed_only = True
        """``isolation.level``: whether committed records only are read, and reading waits at open transactions."""
        self.read: dict[Partition, int] = {}
        """The partitions that records are taken from (those assigned and not unassigned by the user) to the offset that
        the user named; `OFFSET_INVALID` where none."""
        self.once_read: set[str] = set()
        """Topics of which partitions were read at some time."""
        self.paused: set[Partition] = set()
        """It lasts until resume(), whoever is given the partition in between."""
        self._since: dict[Partition, Time] = {}
        """When they were assigned last."""
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

    @property
    def state(self) -> ConsumerState:
        """What its client knows; it has been started."""
        assert self.node is not None
        return self.node.state

    @property
    def is_alive(self) -> bool:
        """Whether its process runs, or has not begun to."""
        if self.node is None:
            return True
        process = self._group.world.simulation.processes.get(self.place)
        return process is not None and process.node is self.node

    def lend(self, callback: Callable[..., object], *arguments: object) -> None:
        """Call the user's code: other threads may call meanwhile."""
        self._group.clock.turn.lend(callback, *arguments)

    @property
    def now(self) -> Time:
        return self._group.clock.time

    @property
    def has_brokers(self) -> bool:
        return bool(self.cluster.controller.state.brokers)

    def tell(self, command: Command) -> None:
        self._group.world.tell(self.place, command)

    def live(self, until: Time, stop: Callable[[], bool]) -> None:
        """Let time pass up to ``until``, until ``stop`` says so, or the process is killed."""
        self._group.clock.run(until, self._group.world, lambda: stop() or not self.is_alive)

    @property
    def is_hung(self) -> bool:
        process = self._group.world.simulation.processes.get(self.place)
        return process is not None and process.hung

    def wake(self) -> None:
        """A process that was stopped does nothing before it goes on."""
        while self.node is not None and self.is_alive and self.is_hung:
            self.live(self._group.clock.time + _STOPPED_MS, lambda: not self.is_hung)

    @property
    def cluster(self) -> KafkaCluster:
        cluster = self._group.world.cluster
        assert isinstance(cluster, KafkaCluster)
        return cluster

    @property
    def place(self) -> str:
        return self.cluster.topology.node[MemberKey(self._group.name, self.name)]

    def exists(self, partition: Partition) -> bool:
        topic, number = partition
        return 0 <= number < len(self._group.topics.get(topic, ()))

    def knows(self, partition: Partition) -> bool:
        """Whether librdkafka has a handle of it: it makes those of all of a topic's partitions when it reads one."""
        return self.exists(partition) and partition[0] in self.once_read | {topic for topic, _ in self.read}

    def end_offset(self, partition: Partition, at: Time | None = None) -> int:
        """The offset of the next record that will be written; or that would have been at an earlier time."""
        return self.cluster.topics.load.production(partition).end_offset(self._group.clock.time if at is None else at)

    def broker_id(self, partition: Partition) -> int:
        topic, number = partition
        leader = self.cluster.controller.state.topics[topic][number]
        return list(self.cluster.scenario.brokers).index(leader) + 1

    def committed(self) -> dict[Partition, int]:
        taken = [commit for commit in self._group.timeline.commits if commit.taken]
        return {(commit.queue.topic, commit.queue.number): commit.offset for commit in taken}

    def own_commits(self) -> list[Commit]:
        """The commits that this member has made and that were taken, in order of time."""
        name = None if self.state.subscription.assigned_by_user else self.name
        return [commit for commit in self._group.timeline.commits if commit.member == name and commit.taken]

    # What is read.

    def store(self, offsets: Mapping[Partition, Stored]) -> None:
        """These offsets are stored, beside those that are."""
        self.stored.update(offsets)
        self.tell(Store(tuple([(partition, stored.offset) for partition, stored in self.stored.items()])))

    def assign(self, partitions: Mapping[Partition, int], *, anew: bool = True) -> None:
        """Read these as nobody's member; ``anew``: not from where some of them were read to before."""
        kept = {} if anew else {read: at for read, at in self.position.items() if read in partitions}
        gone = self.read.keys() - partitions.keys() - self.position.keys()
        # What is unassigned at once has never been started, and its pause is forgotten.
        self.paused.difference_update([each for each in gone if self._since.get(each) == self._group.clock.time])
        self.read = dict(partitions)
        self._begin_anew(partitions if anew else partitions.keys() - kept.keys())
        self._ends = {}
        self.position = kept
        self.stored = {read: stored for read, stored in self.stored.items() if read in kept}
        self.tell(Assign(tuple([partition for partition in self.read if self.exists(partition)])))
        self.store({})

    def forget_read(self) -> None:
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
        self._since.update(dict.fromkeys(listed, self._group.clock.time))
        self.stuck.difference_update(listed)
        self.failed.difference_update(listed)
        from_committed = (_NO_OFFSET, _FROM_COMMITTED)
        self.awaited.update([partition for partition in listed if self.read.get(partition, 0) in from_committed])

    def named(self, partition: Partition) -> int:
        """The offset that ``assignment`` tells of a partition: what the user named, else the committed one."""
        named = self.read[partition]
        return _FROM_COMMITTED if named == _NO_OFFSET and partition in self.state.subscription.positions else named

    def seek(self, offsets: Iterable[tuple[Partition, int]]) -> None:
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
        shown = [(partition, self._after_hidden(partition, at.start)) for partition, at in positions.items()]
        skipped = [
            (partition, to) for partition, to in shown if partition in self.read and to != positions[partition].start
        ]
        if skipped:
            self.tell(Seek(tuple(skipped)))

    def _after_hidden(self, partition: Partition, offset: int) -> int:
        """The first offset from this one on that is not hidden."""
        queue, transactions = queue_of(partition), self._group.transactions
        while transactions.is_hidden(queue, offset, committed_only=self.committed_only):
            offset += 1
        return offset

    def _readable_end(self, partition: Partition, end: int) -> int:
        """Up to where records are handed out: the last stable offset, or the end of the partition."""
        return self._group.transactions.stable_end(queue_of(partition), end) if self.committed_only else end

    def count_ready(self) -> int:
        """How many messages `take` would find now."""
        count = len(self._failures)
        for partition, start in self._standing():
            end = self.end_offset(partition)
            readable, queue = self._readable_end(partition, end), queue_of(partition)
            hidden = self._group.transactions.count_hidden(queue, start, readable, committed_only=self.committed_only)
            count += max(0, readable - start) - hidden
            count += self._tells_ends and readable == end and self._ends.get(partition) != end
        return count

    def next_arrival(self) -> Time:
        """When the next record of the partitions that are read will be written that is known of."""
        production = self.state.load.production
        times = [written_at(production(read), max(start, self.end_offset(read))) for read, start in self._standing()]
        return min((at for at in times if at is not None), default=inf)

    def take(self, most: int) -> list[Message]:
        """Up to so many failures and records, the oldest first, and that ends were reached."""
        messages, self._failures = self._failures[:most], self._failures[most:]
        messages += self._due(most - len(messages))
        return messages + self._reached_ends(most - len(messages))

    def _reached_ends(self, most: int) -> list[Message]:
        """That partitions were read to their ends, once for each end, where the user wants to be told."""
        messages: list[Message] = []
        for partition, start in self._standing() if self._tells_ends else ():
            is_end = start == self._readable_end(partition, self.end_offset(partition))
            if len(messages) < most and is_end and self._ends.get(partition) != start:
                self._ends[partition] = end = start
                broker = self.broker_id(partition)
                said = f"Fetch from broker {broker} reached end of partition at offset {end} (HighwaterMark {end})"
                messages.append(error_message("_PARTITION_EOF", said, (*partition, end)))
        return messages

    def _due(self, most: int) -> list[Message]:
        """Records that are there, the oldest first."""
        messages: list[Message] = []
        now = self._group.clock.time
        while len(messages) < most:
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
            messages.append(message)
            self._skip_hidden()
        if messages and not self.stores_itself:
            self.store({})
        return messages

    def _nexts(self) -> Iterable[tuple[Time, Partition]]:
        """When the next record of each partition that is read was or will be there."""
        for partition, start in self._standing():
            at = written_at(self.state.load.production(partition), start)
            if at is not None and start < self._readable_end(partition, start + 1):
                yield at, partition

    def _standing(self) -> Iterable[tuple[Partition, int]]:
        """The partitions that records are handed out of now, each with the offset of the next."""
        silent = self.paused | self.stuck | self.failed
        for partition, position in self.state.subscription.positions.items():
            if partition in self.read and partition not in silent:
                yield partition, position.start


def written_at(production: Production, offset: int) -> Time | None:
    """When a record was or will be written, in milliseconds; None where nobody ever writes it."""
    if offset < production.before:
        return 0.0
    even, come = production._replace(bursts=()), 0
    for at, count in production.bursts:
        earlier = _evenly(even, offset - come)
        if earlier is not None and earlier <= at:
            return earlier
        come += count
        if even.end_offset(at) + come > offset:
            return at
    return _evenly(even, offset - come)


def _evenly(production: Production, offset: int) -> Time | None:
    """The same where records come evenly only."""
    if production.per_second <= 0:
        return None
    at = round((production.since + (offset + 1 - production.before) * 1000 / production.per_second) / TICK) * TICK
    while production.end_offset(at) <= offset:
        at += TICK
    return at
