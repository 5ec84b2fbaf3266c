"""What a strategy is: a client's question about one topic, and its answer (spec 4.2).

Queues are positions in the list that was handed over, so that a queue listed twice stays two; records appear
only in `Strategy.allocate`, which is what clients call and what users write.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from protocols.java import Queue

Positions: TypeAlias = Sequence[int]
"""Positions in the list of all queues, in the order in which the strategy returns them."""


class Strategy(Protocol):
    """A strategy object with its settings, as each client has one."""

    @property
    def name(self) -> str:
        """What its ``getName()`` returns."""

    def allocate(
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[Queue] | None,
        cid_all: Sequence[str] | None,
    ) -> Sequence[Queue] | None:
        """The queues of one topic that the client ``current_cid`` takes; None stands for Java's null.

        Clients hand over ``mq_all`` and ``cid_all`` sorted. Raises `AllocationError` where the real one throws.
        """


@runtime_checkable
class PositionStrategy(Strategy, Protocol):
    """A strategy that picks from the queues it is given. All of RocketMQ's do, except CONFIG."""

    def positions(
        self, current_cid: str | None, mq_all: Sequence[Queue] | None, cid_all: Sequence[str] | None
    ) -> Positions:
        """`allocate` in positions."""

    def positions_of_all(
        self, mq_all: Sequence[Queue] | None, cid_all: Sequence[str] | None
    ) -> Mapping[str, Positions]:
        """`positions` of every (not empty) id of ``cid_all`` at once, at about the price of one client.

        Raises `AllocationError` where one of the clients meets it; the others may not, so then ask each.
        """


def queues_at(positions: Positions, mq_all: Sequence[Queue] | None) -> list[Queue]:
    """The queues at these positions."""
    return [mq_all[position] for position in positions] if mq_all else []
