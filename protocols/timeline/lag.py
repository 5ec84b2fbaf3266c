"""How far behind a group is: records written to a queue and not yet handled, over time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor
from typing import NamedTuple, Protocol

from protocols.engine.nodes import Time
from protocols.queues import Queue
from protocols.timeline.deliveries import Delivery, positions


class Growing(Protocol):
    """What is written to a queue."""

    def end_offset(self, now: Time) -> int:
        """Offset of the next record to be written."""


class Lag(NamedTuple):
    """``records`` of a queue that a group has not handled at ``at`` (milliseconds)."""

    at: Time
    group: str
    queue: Queue
    records: int


def lag_over_time(
    deliveries: Iterable[Delivery], production: Mapping[Queue, Growing], times: Sequence[Time]
) -> list[Lag]:
    """The lag of every queue that a group has read and that is written to, at each of the times (ascending)."""
    return [
        Lag(now, group, queue, max(0, production[queue].end_offset(now) - reached))
        for (group, queue), of_queue in positions(deliveries).items()
        if queue in production
        for now, reached in zip(times, _reached(of_queue, times), strict=True)
    ]


def _reached(deliveries: Sequence[Delivery], times: Sequence[Time]) -> Iterator[int]:
    """The offset up to which any member has come, at each of the times; deliveries in the order of their beginnings."""
    begun, finished = 0, 0
    active: list[Delivery] = []
    for now in times:
        while begun < len(deliveries) and deliveries[begun].since <= now:
            active.append(deliveries[begun])
            begun += 1
        finished = max([finished, *(each.end for each in active if each.until <= now)])
        active = [each for each in active if each.until > now]
        yield max([finished, *(_within(each, now) for each in active)])


def _within(delivery: Delivery, now: Time) -> int:
    share = (now - delivery.since) / (delivery.until - delivery.since)
    return delivery.first + floor((delivery.end - delivery.first) * share)
