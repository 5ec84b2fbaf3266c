"""The logs of a broker as its share-partitions read them: what producers write is a function of time.

Each record is a batch of its own, as producers send them that write few records per second; nothing is deleted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.consumer.settings import Load
from kafka_coordinator.coordinator.share_groups.initializing import persist
from kafka_coordinator.coordinator.share_groups.messages import DeleteShareStates, InitializeShareStates
from kafka_coordinator.errors import NONE, NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION
from kafka_coordinator.share import DeadLetter
from kafka_coordinator.share.acquiring import Read
from kafka_coordinator.share.persister import ShareStates
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.node_state import NodeState


class Singles(Sequence[tuple[int, int]]):
    """Batches of one record from ``first`` to ``end - 1``."""

    __slots__ = ("_offsets",)

    def __init__(self, first: int, end: int) -> None:
        self._offsets = range(first, end)

    def __len__(self) -> int:
        return len(self._offsets)

    @overload
    def __getitem__(self, index: int) -> tuple[int, int]: ...

    @overload
    def __getitem__(self, index: slice) -> "Singles": ...

    def __getitem__(self, index: int | slice) -> "tuple[int, int] | Singles":
        if isinstance(index, slice):
            part = self._offsets[index]
            return Singles(part.start, part.stop)
        offset = self._offsets[index]
        return offset, offset


class LoadLogs(NamedTuple):
    """See `kafka_coordinator.share.leader.Logs`; of the broker with this name, as it is ``now``."""

    name: str
    leaders: Mapping[str, tuple[str, ...]]
    """Topic to the leader of each partition."""
    load: Load
    now: Time
    ends: dict[Partition, int]
    """Those that were asked for."""

    def error(self, partition: Partition) -> str:
        leaders = self.leaders.get(partition[0], ())
        if partition[1] >= len(leaders):
            return UNKNOWN_TOPIC_OR_PARTITION
        return NONE if leaders[partition[1]] == self.name else NOT_LEADER_OR_FOLLOWER

    def leader_epoch(self, partition: Partition) -> int:
        return 0

    def start(self, partition: Partition) -> int:
        return 0

    def end(self, partition: Partition, only_committed: bool = False) -> int:
        end = self.ends.get(partition)
        if end is None:
            end = self.ends[partition] = self.load.production(partition).end_offset(self.now)
        return end

    def read(self, partition: Partition, offset: int, max_bytes: int, end: int) -> Singles:
        return Singles(offset, end)

    def aborted(self, partition: Partition, read: Read) -> Read:
        """Producers of a scenario have no transactions."""
        return ()

    def size(self, partition: Partition, offset: int, end: int) -> int:
        """A record counts as one byte."""
        return end - offset

    def comes(self, partition: Partition, offset: int) -> Time | None:
        production, now = self.load.production(partition), self.now
        if not production.per_second or (production.held and production.held[-1][1] > now):
            return None
        at_once = sum(count for at, count in production.bursts if at <= now)
        since, even = production.since, production._replace(bursts=(), held=())
        before = production.before
        for _, again in production.pauses:
            if since < again <= now:
                since, before = again, even.end_offset(again)
        if since == float("inf"):
            return None
        return even._replace(since=since, before=before, pauses=()).arrival(offset - at_once)

    def offset_at(self, partition: Partition, time: Time) -> int:
        return self.load.production(partition).end_offset(max(time, 0.0))

    def bury(self, group: str, partition: Partition, letter: DeadLetter) -> None:
        """The dead letter topic is none of the scenario's: nobody reads it."""


@dataclass(slots=True, eq=False)
class Persister(NodeState):
    """The cluster's share coordinators as one node, which never fails; leaders use ``states`` without a message.
    In Kafka `ShareCoordinatorService`."""

    states: ShareStates

    def start(self, now: Time, out: Outbox) -> None:
        """Nothing happens before it is asked."""

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if isinstance(message, InitializeShareStates | DeleteShareStates):
            out.send(sender, persist(self.states, message))

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """It sets no timer."""

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing changes."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing changes."""
