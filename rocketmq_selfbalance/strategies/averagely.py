"""AVG: contiguous blocks, the first members get one queue more (spec 4.5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from protocols.groups import Group
from protocols.java import Queue
from rocketmq_selfbalance.strategies.interface import (
    OfMember,
    Settings,
    check,
    check_lists,
    first_indexes,
    queues_at,
    same,
)


def block(queues: int, members: int, index: int) -> range:
    """Positions that member number ``index`` of ``members`` takes of so many queues."""
    base, extra = divmod(queues, members)
    start = index * base + min(index, extra)
    return range(start, start + base + (index < extra))


@lru_cache(maxsize=4)
def _blocks(queues: int, cids: tuple[str, ...]) -> dict[str, range]:
    """The block of every client id; the same for all topics with so many queues."""
    return {cid: block(queues, len(cids), index) for cid, index in first_indexes(cids).items()}


@dataclass(frozen=True, slots=True)
class Averagely:
    """``AllocateMessageQueueAveragely``, the default of all consumers."""

    name: ClassVar[str] = "AVG"

    def allocate(
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[Queue] | None,
        cid_all: Sequence[str] | None,
    ) -> list[Queue]:
        """See `Strategy.allocate`."""
        return queues_at(self.positions(current_cid, mq_all, cid_all), mq_all)

    def positions(
        self, current_cid: str | None, mq_all: Sequence[Queue] | None, cid_all: Sequence[str] | None
    ) -> range:
        """See `PositionStrategy.positions`."""
        given = check(current_cid, mq_all, cid_all)
        return range(0) if given is None else block(len(given.mq_all), len(given.cid_all), given.own_index)

    def positions_of_all(self, mq_all: Sequence[Queue] | None, cid_all: Sequence[str] | None) -> dict[str, range]:
        """See `PositionStrategy.positions_of_all`."""
        queues, cids = check_lists(mq_all, cid_all)
        return _blocks(len(queues), tuple(cids))


def make(settings: Settings, group: Group) -> OfMember:
    """It has no settings."""
    return same(Averagely())
