"""Time without progress: records wait in a queue, and nobody handles any of it, whoever owns it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from compare.measure.runs.harm.readers import ReadQueue
from compare.measure.runs.production_history import ProductionHistory
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.scenario.events import Event, MemberChange
from protocols.timeline import Timeline
from protocols.timeline.deliveries import Delivery, positions

LEAST_MS: Time = 1000.0
"""Records that wait for less are on their way: fetches, commits and short rebalances take their time in any system."""

Pauses: TypeAlias = Mapping[str, Sequence[tuple[Time, Time]]]
"""Member to when it stands still, in order, milliseconds."""


class Stall(NamedTuple):
    """Records of the queue waited from ``since`` to ``until`` (milliseconds) and nobody came any further."""

    read: ReadQueue
    since: Time
    until: Time

    @property
    def lasted(self) -> Time:
        """In milliseconds."""
        return self.until - self.since


def pauses_of(events: Iterable[Event], peers: Mapping[str, tuple[str, ...]]) -> Pauses:
    """When members stand still by events of the scenario. ``peers``: a member to all members of its process."""
    found: dict[str, list[tuple[Time, Time]]] = {}
    for event in events:
        if event.member_change is MemberChange.PAUSES:
            for name in event.members():
                for member in peers.get(name, (name,)) if event.strikes_process() else (name,):
                    found.setdefault(member, []).append((event.at, event.at + event.lasts()))
    return found


def stalls(
    timeline: Timeline, reads: Sequence[ReadQueue], production: Mapping[Queue, ProductionHistory], pauses: Pauses
) -> list[Stall]:
    """Every time without progress of at least `LEAST_MS`. Handling records again, which somebody handled before, is no
    progress; giving one up that nobody can handle is some."""
    deliveries = positions(timeline.counted_progress())
    found: list[Stall] = []
    for read in reads:
        history = production.get(read.queue)
        if history is not None:
            of_queue = (each for each in deliveries.get((read.reader, read.queue), ()) if each.until > history.since)
            found += _stalls_of(read, history, of_queue, pauses, timeline.end)
    return found


def _stalls_of(
    read: ReadQueue, history: ProductionHistory, deliveries: Iterable[Delivery], pauses: Pauses, end: Time
) -> Iterator[Stall]:
    reached, latest = history.end_offset(read.since), read.since
    for each in deliveries:
        if each.end <= reached:
            continue
        for since, until in _working(each, pauses.get(each.member, ())):
            if since - latest >= LEAST_MS:
                yield from _waiting(read, history, reached, latest, since)
            latest = max(latest, until)
        reached = each.end
    if end - latest >= LEAST_MS:
        yield from _waiting(read, history, reached, latest, end)


def _working(delivery: Delivery, pauses: Sequence[tuple[Time, Time]]) -> Iterator[tuple[Time, Time]]:
    """The times in which the member handled the records, without those in which it stood still."""
    since = delivery.since
    for start, stop in pauses:
        if since <= start < delivery.until:
            yield since, start
            since = min(stop, delivery.until)
    yield since, delivery.until


def _waiting(read: ReadQueue, history: ProductionHistory, reached: int, since: Time, until: Time) -> Iterator[Stall]:
    """From when the next record is there, if that is long enough before ``until``."""
    if history.end_offset(until - LEAST_MS) > reached:
        yield Stall(read, max(since, history.arrival(reached, until)), until)
