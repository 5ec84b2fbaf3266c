"""Many records are written at once."""

from collections.abc import Mapping
from typing import ClassVar

from protocols.errors import UserError
from protocols.scenario.descriptions import listed
from protocols.scenario.events.base import Event
from protocols.scenario.events.cluster_state import ClusterState
from protocols.scenario.fields import Count
from protocols.scenario.paths import Path
from protocols.scenario.queue_names import NamedCount, named_queue
from protocols.scenario.validation import PartError


class Produce(Event):
    """So many records are written at once, beside those of the load: to a topic, whose queues they are dealt over in
    turn, or to one queue (``topic-number`` or ``topic-broker-number``)."""

    produce: dict[str, Count]
    """Topic or queue to its number of records."""

    example: ClassVar[str] = "{at: 30s, produce: {orders: 1000, payments-broker-a-1: 50}}"
    can_rebalance = False
    writes_records = True

    def describe(self) -> str:
        return listed(
            f"{name} gets {count} record{'' if count == 1 else 's'} at once" for name, count in self.produce.items()
        )

    def check(self, there: ClusterState, path: Path) -> None:
        try:
            records_of(self, there.topics)
        except UserError as error:
            raise PartError((*path, "produce"), f"{error}, or a topic") from None

    def written(self, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedCount, ...]:
        return records_of(self, topics)


def records_of(event: Produce, topics: Mapping[str, Mapping[str, int]]) -> tuple[NamedCount, ...]:
    """How many records each queue gets, in the order written.

    ``topics``: topic to its queues per broker. Raises `UserError` for a queue that does not exist.
    """
    found: list[NamedCount] = []
    for name, count in event.produce.items():
        if name in topics:
            queues = sum(topics[name].values())
            shares = [(count + queues - 1 - number) // queues for number in range(queues)]
            found += [NamedCount(name, "", number, share) for number, share in enumerate(shares) if share]
        else:
            found.append(NamedCount(*named_queue(name, topics), count))
    return tuple(found)
