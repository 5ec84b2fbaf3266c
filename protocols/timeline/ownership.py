"""Conditions that last: ownership of a queue, a queue without owner or with several, a member without any queue.

Times are milliseconds of virtual time; ``until`` is None where it still holds at the end of the run.

Who owns what, followed live: what members believe, what they were granted, and what follows from beliefs.

Gaps and double ownership are counted on beliefs, each queue after its first owner. A queue moves when a member begins
to believe in it that was not the last one to have it.

Observes a simulation and keeps the figures only: for benchmarks and for sweeps over thousands of runs.
"""

from collections.abc import Sequence
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.java import Queue
from protocols.load import quickly_made
from protocols.timeline.lifetimes import Lifetimes, time_existing


class Interval(NamedTuple):
    """A member owned a queue (believed that it did, or was granted it) within one generation.

    A queue that is kept from one generation to the next has one interval for each, without time between them.
    """

    group: str
    member: str
    queue: Queue
    since: Time
    until: Time | None
    generation: int | None


class Gap(NamedTuple):
    """Nobody believed to own the queue: from ``before``, who lost it, to ``after``, who got it."""

    group: str
    queue: Queue
    since: Time
    until: Time | None
    before: str
    after: str | None


class Double(NamedTuple):
    """Several members believed at the same time that they owned the queue: ``members``, as they came."""

    group: str
    queue: Queue
    since: Time
    until: Time | None
    members: tuple[str, ...]


class Pause(NamedTuple):
    """A member that had queues had none, until it got some again."""

    group: str
    member: str
    since: Time
    until: Time


def length(since: Time, until: Time | None, end: Time) -> Time:
    """Milliseconds of an interval in a run that ends at ``end``."""
    return (end if until is None else until) - since


HeldQueues = dict[Queue, tuple[Time, int | None]]
"""Queue to since when it is held, in which generation."""

_NOTHING: tuple[Queue, ...] = ()
_interval, _gap = quickly_made(Interval), quickly_made(Gap)


class OwnershipFigures(NamedTuple):
    """What followed from all beliefs up to a moment. Times in milliseconds; queue times add up over queues."""

    unowned: Time
    """Queue time without an owner."""
    double_owned: Time
    """Queue time with more than one owner."""
    longest_gap: Time
    """The longest time that one queue was without an owner."""
    moves: int
    """How often a queue went to another owner."""
    last_change: Time
    """When any member's belief changed last."""


class OwnershipView:
    """What each member holds in one view, from one statement to the next; intervals go to ``intervals``, if given."""

    def __init__(self, intervals: list[Interval] | None = None) -> None:
        self.held: dict[tuple[str, str], HeldQueues] = {}
        self._stated: dict[tuple[str, str], tuple[tuple[Queue, ...], int | None]] = {}
        self._intervals = intervals

    def change(
        self, now: Time, group: str, member: str, queues: tuple[Queue, ...], generation: int | None
    ) -> tuple[Sequence[Queue], Sequence[Queue]]:
        """From now on the member holds exactly these queues; returns what it lost and what it gained."""
        key = group, member
        stated = self._stated.get(key)
        if stated == (queues, generation):
            return _NOTHING, _NOTHING
        self._stated[key] = queues, generation
        held = self.held.get(key)
        if held is None:
            held = self.held[key] = {}
        if not held:
            held.update(dict.fromkeys(queues, (now, generation)))
            return _NOTHING, queues
        if not queues:
            lost = list(held)
            self._close(now, key, lost, held)
            return lost, _NOTHING
        stays = dict.fromkeys(queues)
        lost = [queue for queue in held if queue not in stays]
        self._close(now, key, lost, held)
        gained = [queue for queue in queues if queue not in held]
        if self._intervals is not None and held:
            renewed = [queue for queue, (_, within) in held.items() if within != generation]
            self._close(now, key, renewed, held)
            held.update(dict.fromkeys(renewed, (now, generation)))
        held.update(dict.fromkeys(gained, (now, generation)))
        return lost, gained

    def _close(self, now: Time, key: tuple[str, str], lost: Sequence[Queue], held: HeldQueues) -> None:
        group, member = key
        for queue in lost:
            since, generation = held.pop(queue)
            if self._intervals is not None:
                self._intervals.append(_interval((group, member, queue, since, now, generation)))

    def open(self) -> list[Interval]:
        """What is held now, as intervals without an end."""
        return [
            Interval(group, member, queue, since, None, generation)
            for (group, member), held in self.held.items()
            for queue, (since, generation) in held.items()
        ]


class _Queue:
    __slots__ = ("latest", "members", "owners", "since")

    def __init__(self, owner: str) -> None:
        self.owners: dict[str, None] = {owner: None}
        self.latest = owner
        """Who of those who own it came last; of a queue without owner, who had it last."""
        self.since: Time = 0.0
        """Since when it has no owner, or several."""
        self.members: dict[str, None] = {}
        """Who owned it since it had several."""


class Beliefs:
    """What members believe, and the figures that follow, kept up with every statement.

    ``lives``: queues that do not exist all the time; gaps and double ownership count only while a queue does.
    ``uncounted``: queues of topics whose names begin with one of these are not counted in any figure.
    ``broadcasting``: groups in which every member reads every queue: nothing is shared there, no figure counts them.
    ``intervals``, ``gaps``, ``doubles``: filled where given.
    """

    def __init__(
        self,
        lives: Lifetimes | None = None,
        uncounted: tuple[str, ...] = (),
        intervals: list[Interval] | None = None,
        gaps: list[Gap] | None = None,
        doubles: list[Double] | None = None,
        broadcasting: frozenset[str] = frozenset(),
    ) -> None:
        self._broadcasting = broadcasting
        self.view = OwnershipView(intervals)
        self.moves = 0
        self.last_change: Time = 0.0
        self.unowned: Time = 0.0
        self.double_owned: Time = 0.0
        self.longest_gap: Time = 0.0
        self._lives: Lifetimes = lives or {}
        self._uncounted = uncounted
        self._gaps, self._doubles = gaps, doubles
        self._queues: dict[tuple[str, Queue], _Queue] = {}

    def change(self, now: Time, group: str, member: str, queues: tuple[Queue, ...], generation: int | None) -> bool:
        """From now on the member believes that it owns exactly these queues; whether that is anything new."""
        lost, gained = self.view.change(now, group, member, queues, generation)
        if not lost and not gained:
            return False
        self.last_change = now
        if group in self._broadcasting:
            return True
        uncounted = self._uncounted
        for queue in lost:
            if not uncounted or not queue[0].startswith(uncounted):
                self._lose(now, group, member, queue)
        for queue in gained:
            if not uncounted or not queue[0].startswith(uncounted):
                self._gain(now, group, member, queue)
        return True

    def figures(self, now: Time) -> OwnershipFigures:
        """The figures as they would be if all stayed as it is until ``now``; changes nothing."""
        unowned, double_owned, longest = self.unowned, self.double_owned, self.longest_gap
        for (_, queue), state in self._queues.items():
            if len(state.owners) != 1:
                lasted = time_existing(self._lives, queue, state.since, now)
                if state.owners:
                    double_owned += lasted
                else:
                    unowned += lasted
                    longest = max(longest, lasted)
        return OwnershipFigures(unowned, double_owned, longest, self.moves, self.last_change)

    def open_gaps(self) -> list[Gap]:
        return [
            Gap(group, queue, state.since, None, state.latest, None)
            for (group, queue), state in self._queues.items()
            if not state.owners
        ]

    def open_doubles(self) -> list[Double]:
        return [
            Double(group, queue, state.since, None, tuple(state.members))
            for (group, queue), state in self._queues.items()
            if len(state.owners) > 1
        ]

    def latest(self) -> dict[tuple[str, Queue], str]:
        """Every queue that ever had an owner to whom it went last of those who have it, or to who had it last."""
        return {key: state.latest for key, state in self._queues.items()}

    def _gain(self, now: Time, group: str, member: str, queue: Queue) -> None:
        key = group, queue
        state = self._queues.get(key)
        if state is None:
            self._queues[key] = _Queue(member)
            return
        owners = state.owners
        if not owners:
            self._end_of_gap(now, group, queue, state, member)
        else:
            if len(owners) == 1:
                state.since, state.members = now, dict(owners)
            state.members[member] = None
        if state.latest != member:
            self.moves += 1
            state.latest = member
        owners[member] = None

    def _lose(self, now: Time, group: str, member: str, queue: Queue) -> None:
        state = self._queues[group, queue]
        owners = state.owners
        del owners[member]
        if not owners:
            state.since = now
            return
        if len(owners) == 1 and now > state.since:
            self.double_owned += time_existing(self._lives, queue, state.since, now)
            if self._doubles is not None:
                self._doubles.append(Double(group, queue, state.since, now, tuple(state.members)))
        if state.latest == member:
            state.latest = next(reversed(owners))

    def _end_of_gap(self, now: Time, group: str, queue: Queue, state: _Queue, after: str) -> None:
        if now > state.since:
            lasted = time_existing(self._lives, queue, state.since, now) if self._lives else now - state.since
            self.unowned += lasted
            self.longest_gap = max(self.longest_gap, lasted)
            if self._gaps is not None:
                self._gaps.append(_gap((group, queue, state.since, now, state.latest, after)))
