"""What outlives the leader of a share-partition: its start offset and the states of records (spec share 4.8)."""

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.share.records import Persisted
from protocols.node_state import NodeState

NO_OFFSET = -1
"""The start offset of a share-partition that nobody has initialized: the reset policy decides."""


class Write(NamedTuple):
    """A request to the persister: states that changed, with the start offset of this moment."""

    state_epoch: int
    start_offset: int
    leader_epoch: int
    complete_count: int
    batches: tuple[Persisted, ...]


@dataclass(slots=True)
class Kept(NodeState):
    """What the persister has of one share-partition."""

    start_offset: int = NO_OFFSET
    state_epoch: int = 0
    batches: tuple[Persisted, ...] = ()
    complete_count: int = 0
    """Of the last write: records of aborted transactions count as complete, although none of the batches has them."""
    writes: int = 0
    """How often it was changed."""

    def take(self, write: Write, join_all: bool) -> None:
        """Merge what is written with what is there; ``join_all`` as in `combined`."""
        self.writes += 1
        if write.start_offset != NO_OFFSET:
            self.start_offset = write.start_offset
        self.complete_count = write.complete_count
        self.batches = combined(self.batches, write.batches, self.start_offset, join_all)


@dataclass(slots=True, eq=False)
class ShareStates(NodeState):
    """What a cluster's share coordinators keep (``__share_group_state``): by group and partition, older and younger
    than any leader. A write counts at once: the way to the share coordinator takes no time, and none of them fails."""

    kept: dict[tuple[str, Partition], Kept] = field(default_factory=dict)

    def initialize(self, group: str, partition: Partition, state_epoch: int, start_offset: int = NO_OFFSET) -> None:
        """The group coordinator begins to give the partition to members; nothing else makes a state."""
        self.kept[group, partition] = Kept(start_offset, state_epoch)

    def find(self, group: str, partition: Partition) -> Kept | None:
        return self.kept.get((group, partition))

    def catch_up(self, other: "ShareStates") -> None:
        """Take over what was changed there more often."""
        for key, kept in other.kept.items():
            if key not in self.kept or self.kept[key].writes < kept.writes:
                self.kept[key] = kept.copy()

    def delete(self, group: str, partition: Partition) -> None:
        self.kept.pop((group, partition), None)


def combined(
    old: Iterable[Persisted], new: Iterable[Persisted], start_offset: int, join_all: bool
) -> tuple[Persisted, ...]:
    """Old and new states without what lies below the start offset. Where two overlap the higher delivery count wins,
    then the higher state; equal neighbours are joined, before 4.2 only where they meet while others are merged."""
    waiting = sorted(
        {batch._replace(first=max(batch.first, start_offset)) for batch in (*old, *new) if batch.last >= start_offset},
        key=_order,
    )
    done: list[Persisted] = []
    while waiting:
        one = waiting.pop(0)
        if waiting and (waiting[0].first <= one.last or _joins(one, waiting[0])):
            for part in _merged(one, waiting.pop(0)):
                insort(waiting, part, key=_order)
        elif join_all and done and _joins(done[-1], one):
            done[-1] = done[-1]._replace(last=one.last)
        else:
            done.append(one)
    return tuple(done)


def _order(batch: Persisted) -> tuple[int, int, int, int]:
    return batch.first, batch.last, batch.deliveries, batch.state.number


def _joins(one: Persisted, other: Persisted) -> bool:
    return one.last + 1 == other.first and one[2:] == other[2:]


def _merged(one: Persisted, other: Persisted) -> Iterator[Persisted]:
    """Two that overlap or join: the winner whole, of the loser what lies before and behind it."""
    if one[2:] == other[2:]:
        yield one._replace(last=max(one.last, other.last))
        return
    loser, winner = sorted((one, other), key=lambda batch: (batch.deliveries, batch.state.number))
    yield winner
    if loser.first < winner.first:
        yield loser._replace(last=winner.first - 1)
    if loser.last > winner.last:
        yield loser._replace(first=winner.last + 1)
