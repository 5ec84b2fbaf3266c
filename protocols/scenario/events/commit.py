"""A member commits offsets."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from protocols.errors import UserError
from protocols.scenario.descriptions import listed
from protocols.scenario.events.base import Event
from protocols.scenario.events.cluster_state import ClusterState
from protocols.scenario.fields import Count
from protocols.scenario.paths import Path
from protocols.scenario.queue_names import NamedOffset, named_queue
from protocols.scenario.validation import PartError


class Commit(Event):
    """A member commits its positions at once; or the offsets given, per ``topic-number`` or ``topic-broker-number``,
    with ``generation`` if the commit is to claim another one (Kafka)."""

    commit: str
    """The member."""
    offsets: dict[str, Count] | None = None
    """Queue to offset, instead of the member's positions."""
    generation: Annotated[int, Field(strict=True)] | None = None
    """The generation that the commit claims, instead of the member's (Kafka)."""

    example: ClassVar[str] = "{at: 20s, commit: c1, offsets: {orders-0: 10, payments-broker-a-1: 8}, generation: 1}"
    can_rebalance = False

    def describe(self) -> str:
        what = "" if self.offsets is None else " " + listed(f"{queue} at {at}" for queue, at in self.offsets.items())
        claimed = "" if self.generation is None else f" claiming generation {self.generation}"
        return f"{self.commit} commits{what}{claimed}"

    def check(self, there: ClusterState, path: Path) -> None:
        try:
            offsets_of(self, there.topics)
        except UserError as error:
            raise PartError((*path, "offsets"), str(error)) from None

    def members(self) -> Mapping[str, Path]:
        return {self.commit: ("commit",)}


def offsets_of(event: Commit, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedOffset, ...]:
    """The offsets of a commit, in the order written; none where it commits the member's own positions.

    ``topics``: topic to its queues per broker. Raises `UserError` for a queue that does not exist.
    """
    return tuple(_named(queue, offset, topics) for queue, offset in (event.offsets or {}).items())


def _named(queue: str, offset: int, topics: Mapping[str, Mapping[str, int]]) -> NamedOffset:
    if offset < 0:
        raise UserError(f"offset {offset} of {queue!r} is negative, expected 0 or more")
    return NamedOffset(*named_queue(queue, topics), offset)
