"""Which epoch of the consumer protocol a member's join has raised, where only clients' logs are there.

A member is answered with the epoch of the target that there is: its own join may have raised a later one, whose target
the coordinator computes up to a second afterwards (4.4: group.consumer.assignment.interval.ms). So an epoch has two
bounds: the one that the join is answered with, and the first in which the member is given partitions, since it was in
the group by then. Every join raises one epoch (but for static members, which may take their place back): as many joins
as there are epochs between their bounds have raised these epochs, whichever raised which.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compare.logs.client_events import Assigned, Given, Moved
from compare.logs.events import Event
from compare.logs.identity import Process, Processes, has_partitions

_WIDEST = 20
"""So many joins that overlap are looked at together."""


@dataclass(frozen=True, slots=True)
class Join:
    """A member that joined, the state before, and the first and the last epoch that this may have raised."""

    member: str
    before: str
    first: int
    last: int


class Epochs:
    """``events``: of the group, in order of time."""

    def __init__(self, events: Sequence[Event], processes: Processes) -> None:
        moved = [event for event in events if isinstance(event, Moved) and not event.instance]
        self._joined = {event.member for event in moved if event.before == "JOINING"}
        self._of_epoch: dict[int, tuple[Join, ...]] = {}
        by_first = sorted(_joins(events, processes), key=lambda join: join.first)
        starts = [join.first for join in by_first]
        for first in dict.fromkeys(starts):
            near = by_first[bisect_left(starts, first) : bisect_left(starts, first + _WIDEST)]
            for last in sorted({join.last for join in near if join.last < first + _WIDEST}):
                within = tuple(join for join in near if join.last <= last)
                if len(within) != last - first + 1:
                    continue
                for epoch in range(first, last + 1):
                    known = self._of_epoch.get(epoch)
                    if known is None or len(within) < len(known):
                        self._of_epoch[epoch] = within

    def knows(self, member: str) -> bool:
        """Whether the member prints what the coordinator answered its join."""
        return member in self._joined

    def raised_by(self, epoch: int | None) -> tuple[Join, ...]:
        """The joins of which one raised the epoch; none where that is open."""
        joins = self._of_epoch.get(epoch, ()) if epoch is not None else ()
        if len(joins) < 2:
            return joins
        others = [self._of_epoch.get(each, ()) for each in range(joins[0].first, max(each.last for each in joins) + 1)]
        alone = {each[0].member for each in others if len(each) == 1}
        return tuple(join for join in joins if join.member not in alone)


def _joins(events: Sequence[Event], processes: Processes) -> Iterator[Join]:
    asked: dict[Process, Moved] = {}
    answered: dict[Process, tuple[Moved, Moved]] = {}
    latest: dict[Process, Moved] = {}
    for event in events:
        if isinstance(event, Moved) and not event.instance:
            process = processes.of(event)
            if event.after == "JOINING":
                asked[process] = event
                answered.pop(process, None)
            elif event.before == "JOINING" and event.epoch > 0 and process in asked:
                answered[process] = event, asked.pop(process)
            latest[process] = event
        elif isinstance(event, Assigned | Given) and has_partitions(event.partitions):
            process = processes.of(event)
            # One that is settled takes up nothing: the line about the epoch of these partitions is missing.
            if (told := answered.pop(process, None)) and latest[process].after != "STABLE":
                answer, question = told
                yield Join(answer.member, question.before, answer.epoch, latest[process].epoch)
