"""The node of a group's member in the simulation, and what its cluster knows: partitions, their records, commits."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from compare.testing.group_interface import GroupInterface
from compare.testing.transactions import Transactions
from kafka_coordinator.cluster import Consumer, ConsumerState, KafkaCluster
from protocols.engine.nodes import TICK, Time
from protocols.engine.nodes import Message as Command
from protocols.java import Queue
from protocols.load import Production
from protocols.scenario.topology import MemberKey
from protocols.timeline.timeline import Commit

Partition = tuple[str, int]

_STOPPED_MS: Time = 3_600_000.0


def queue_of(partition: Partition) -> Queue:
    """The partition as the model names it."""
    topic, number = partition
    return Queue(topic, "", number)


class KafkaNode:
    """A member's process, and the cluster that it lives in."""

    def __init__(self, group: GroupInterface, member: str) -> None:
        self.name = member
        self._group = group
        self.node: Consumer | None = None

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

    def lent(self) -> AbstractContextManager[None]:
        """Around a callback of the user's code: other threads may call meanwhile."""
        return self._group.clock.turn.lent()

    @property
    def now(self) -> Time:
        """Milliseconds of virtual time."""
        return self._group.clock.time

    @property
    def has_brokers(self) -> bool:
        """Whether any broker runs."""
        return bool(self.cluster.controller.state.brokers)

    def tell(self, command: Command) -> None:
        """A command to its client."""
        self._group.world.tell(self.place, command)

    def live(self, until: Time, stop: Callable[[], bool]) -> None:
        """Let time pass up to ``until``, until ``stop`` says so, or the process is killed."""
        self._group.clock.run(until, self._group.world, lambda: stop() or not self.is_alive)

    @property
    def is_hung(self) -> bool:
        """Whether its process is stopped."""
        process = self._group.world.simulation.processes.get(self.place)
        return process is not None and process.hung

    def wake(self) -> None:
        """A process that was stopped does nothing before it goes on."""
        while self.node is not None and self.is_alive and self.is_hung:
            self.live(self._group.clock.time + _STOPPED_MS, lambda: not self.is_hung)

    @property
    def cluster(self) -> KafkaCluster:
        """Where it lives."""
        cluster = self._group.world.cluster
        assert isinstance(cluster, KafkaCluster)
        return cluster

    @property
    def place(self) -> str:
        """The name of its node."""
        return self.cluster.topology.node[MemberKey(self._group.name, self.name)]

    def exists(self, partition: Partition) -> bool:
        """Whether there is such a partition."""
        topic, number = partition
        return 0 <= number < len(self._group.topics.get(topic, ()))

    def end_offset(self, partition: Partition, at: Time | None = None) -> int:
        """The offset of the next record that will be written; or that would have been at an earlier time."""
        return self.cluster.topics.load.production(partition).end_offset(self._group.clock.time if at is None else at)

    def broker_id(self, partition: Partition) -> int:
        """The id of the broker that leads a partition."""
        topic, number = partition
        leader = self.cluster.controller.state.topics[topic][number]
        return list(self.cluster.scenario.brokers).index(leader) + 1

    def committed(self) -> dict[Partition, int]:
        """The group's committed offsets."""
        taken = [commit for commit in self._group.timeline.commits if commit.taken]
        return {(commit.queue.topic, commit.queue.number): commit.offset for commit in taken}

    def own_commits(self) -> list[Commit]:
        """The commits that this member has made and that were taken, in order of time."""
        name = None if self.state.subscription.assigned_by_user else self.name
        return [commit for commit in self._group.timeline.commits if commit.member == name and commit.taken]


class Isolation:
    """Which records one consumer is shown: ``isolation.level``, ``read_committed`` if nobody says otherwise."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self.committed_only = True
        """Whether it reads committed records only, and waits at open transactions."""

    def readable_end(self, partition: Partition, end: int) -> int:
        """Up to where records are handed out: the last stable offset, or the end of the partition."""
        return self._transactions.stable_end(queue_of(partition), end) if self.committed_only else end

    def after_hidden(self, partition: Partition, offset: int) -> int:
        """The first offset from this one on that is not hidden."""
        queue = queue_of(partition)
        while self._transactions.is_hidden(queue, offset, committed_only=self.committed_only):
            offset += 1
        return offset


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
