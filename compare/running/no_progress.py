"""Time without progress: records wait in a queue, and nobody handles any of it, whoever owns it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from compare.running.doings import Pause, Pauses
from compare.running.production import ProductionHistory
from compare.running.work import ReadQueue
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Delivered
from protocols.offsets import OffsetSet
from protocols.scenario.events import Event, MemberChange
from protocols.timeline import Timeline

LEAST_MS: Time = 1000.0
"""Records that wait for less are on their way: fetches, commits and short rebalances take their time in any system."""

_UNTIL = attrgetter("until")


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
    pauses: dict[str, list[Pause]] = {}
    for event in events:
        if event.member_change is MemberChange.PAUSES:
            for name in event.members():
                strikes_process = event.strikes_process()
                for member in peers.get(name, (name,)) if strikes_process else (name,):
                    pause = Pause(event.at, event.at + event.lasts(), of_code=not strikes_process)
                    pauses.setdefault(member, []).append(pause)
    return pauses


def stalls(
    timeline: Timeline, reads: Sequence[ReadQueue], production: Mapping[Queue, ProductionHistory], pauses: Pauses
) -> list[Stall]:
    """Every time without progress of at least `LEAST_MS`. Handling records again, which somebody handled before, is no
    progress; giving one up that nobody can handle is some."""
    deliveries = timeline.progress
    found: list[Stall] = []
    for read in reads:
        history = production.get(read.queue)
        if history is not None:
            find = _stalls_given_out if read.reader in timeline.without_owners else _stalls_of
            found += find(read, history, deliveries.get((read.reader, read.queue), ()), pauses, timeline.end)
    return found


def _stalls_of(
    read: ReadQueue, history: ProductionHistory, deliveries: Iterable[Delivered], pauses: Pauses, end: Time
) -> Iterator[Stall]:
    reached, latest, made = history.end_offset(read.since), read.since, history.since
    for delivery in deliveries:
        _, member, _, _, stop, since, until, *_ = delivery
        if stop <= reached or until <= made:
            continue
        if member in pauses:
            times: Iterable[tuple[Time, Time]] = _working(delivery, pauses[member])
        else:
            times = ((since, until),)
        for since, until in times:
            if since - latest >= LEAST_MS:
                yield from _waiting(read, history, reached, latest, since)
            latest = max(latest, until)
        reached = stop
    if end - latest >= LEAST_MS:
        yield from _waiting(read, history, reached, latest, end)


def _stalls_given_out(
    read: ReadQueue, history: ProductionHistory, deliveries: Iterable[Delivered], pauses: Pauses, end: Time
) -> Iterator[Stall]:
    """Of a queue whose records are given out one by one: what one member has holds up nobody else, so that there is
    progress while anybody handles a record that nobody has handled."""
    done, new = OffsetSet(), list[Delivered]()
    for delivery in sorted(deliveries, key=_UNTIL):
        if delivery.until > history.since and done.add(delivery.first, delivery.end):
            new.append(delivery)
    work = sorted(piece for each in new for piece in _working(each, pauses.get(each.member, ())))
    done, handled, latest = OffsetSet(), 0, read.since
    for since, until in (*work, (end, end)):
        if since - latest >= LEAST_MS:
            while handled < len(new) and new[handled].until <= latest:
                done.add(new[handled].first, new[handled].end)
                handled += 1
            waiting = next(iter(done.gaps(history.end_offset(read.since), history.sent(since - LEAST_MS))), None)
            if waiting is not None:
                yield Stall(read, max(latest, history.arrival(waiting[0], since)), since)
        latest = max(latest, until)


def _working(delivery: Delivered, pauses: Sequence[Pause]) -> Iterator[tuple[Time, Time]]:
    """The times in which the member handled the records, without those in which it stood still."""
    since = delivery.since
    for start, stop, _ in pauses:
        if since <= start < delivery.until:
            yield since, start
            since = min(stop, delivery.until)
    yield since, delivery.until


def _waiting(read: ReadQueue, history: ProductionHistory, reached: int, since: Time, until: Time) -> Iterator[Stall]:
    """From when the next record is there, if that is long enough before ``until``."""
    if history.sent(until - LEAST_MS) > reached:
        yield Stall(read, max(since, history.arrival(reached, until)), until)
