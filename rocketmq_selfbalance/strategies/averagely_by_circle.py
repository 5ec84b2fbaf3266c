"""AVG_BY_CIRCLE: queues are dealt in turn, like cards (spec 4.6)."""

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class AveragelyByCircle:
    """``AllocateMessageQueueAveragelyByCircle``."""

    name: ClassVar[str] = "AVG_BY_CIRCLE"

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
        return range(0) if given is None else range(given.own_index, len(given.mq_all), len(given.cid_all))

    def positions_of_all(self, mq_all: Sequence[Queue] | None, cid_all: Sequence[str] | None) -> dict[str, range]:
        """See `PositionStrategy.positions_of_all`."""
        queues, cids = check_lists(mq_all, cid_all)
        return {cid: range(index, len(queues), len(cids)) for cid, index in first_indexes(cids).items()}


def make(settings: Settings, group: Group) -> OfMember:
    """It has no settings."""
    return same(AveragelyByCircle())
