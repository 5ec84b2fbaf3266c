"""A record is written that the user's code cannot handle."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from protocols.errors import UserError
from protocols.scenario.events.base import Event
from protocols.scenario.events.cluster_state import ClusterState
from protocols.scenario.fields import Duration
from protocols.scenario.paths import Path
from protocols.scenario.queue_names import NamedCount, named_queue
from protocols.scenario.validation import PartError


class Poison(Event):
    """One record is written, beside those of the load, that no member's code can handle: every attempt throws.

    Kafka's clients try nothing again, nor do RocketMQ's pull consumers: the user's loop tries the record in place and
    polls no more meanwhile. RocketMQ's push consumers give it back to the broker (concurrent: RECONSUME_LATER) or
    suspend its queue (orderly). Code of your own in a test decides for itself."""

    poison: str
    """The queue (``topic-number`` or ``topic-broker-number``)."""
    attempts: Annotated[int, Field(strict=True, ge=1)] | None = None
    """After so many attempts the user's code skips the record; left out: it tries for ever. Where it tries in place,
    each member counts anew; what comes from RocketMQ's retry topic says how often it was tried. The system's own limit
    (``maxReconsumeTimes``) holds besides."""
    pause: Duration = 1000.0
    """Between attempts, where the user's code tries in place."""

    example: ClassVar[str] = "{at: 30s, poison: orders-2, attempts: 10, pause: 1s}"
    writes_records = True

    def describe(self) -> str:
        if self.attempts is None:
            return f"{self.poison} gets a record that no attempt can handle"
        skipped = f"{self.attempts} attempt{'' if self.attempts == 1 else 's'}"
        return f"{self.poison} gets a record that is skipped after {skipped}"

    def check(self, there: ClusterState, path: Path) -> None:
        try:
            self.written(there.topics)
        except UserError as error:
            raise PartError((*path, "poison"), str(error)) from None

    def written(self, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedCount, ...]:
        return (NamedCount(*named_queue(self.poison, topics), 1),)
