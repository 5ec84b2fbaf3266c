"""The node of a group's member in the simulation, and what its cluster knows."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from compare.testing.group_interface import GroupInterface
from kafka_coordinator.cluster import KafkaCluster
from kafka_coordinator.consumer import Consumer
from kafka_coordinator.consumer.state import ConsumerState
from protocols.engine.nodes import Message as Command
from protocols.engine.nodes import Time
from protocols.scenario.topology import MemberKey
from protocols.timeline.commits import Commit

Partition = tuple[str, int]

_STOPPED_MS: Time = 3_600_000.0


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
        commits = self._group.timeline.commits
        return {(each.queue.topic, each.queue.number): each.offset for each in commits if each.taken}

    def own_commits(self) -> list[Commit]:
        """The commits that this member has made and that were taken, in order of time."""
        name = None if self.state.subscription.assigned_by_user else self.name
        return [each for each in self._group.timeline.commits if each.member == name and each.taken]
