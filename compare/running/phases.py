"""What each event led to: the group as the scenario then has it, who owned what just before the next event, and what
the time in between cost.

Queues that somebody reads and that nobody has ever owned: gaps count only from a queue's first owner on.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import NamedTuple, TypeVar

from compare.running.run_variant import Ending, ending
from protocols import sort_queues
from protocols.engine.nodes import Time
from protocols.facts import Owns
from protocols.java import Queue
from protocols.scenario.events import Event
from protocols.scenario.model import Scenario
from protocols.timeline import Numbering, Timeline
from protocols.timeline.lifetimes import time_existing
from protocols.timeline.ownership import Beliefs, Double, Gap

Owned = Mapping[tuple[str, str], tuple[Queue, ...]]
"""(Group, member) to what it believes to own."""

_Span = TypeVar("_Span", Gap, Double)


@dataclass(frozen=True, slots=True)
class Phase:
    """``events`` happen at ``at``; until ``until`` nothing else does. ``then``: who and what is there after them. The
    first moment is the beginning, with the events of 0s, if there are any. Times in milliseconds."""

    at: Time
    until: Time
    events: tuple[Event, ...]
    then: Ending


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a moment, by beliefs.

    ``before`` and ``after``: what was owned just before its events and just before the next ones; ``latest``: every
    queue that had an owner before, to the last one it had. ``moves`` as the figure, in between; ``settle``:
    milliseconds from the events to the last change of any belief. ``gaps`` and ``doubles`` are those that began in
    between, milliseconds of each while its queue existed.
    """

    phase: Phase
    before: Owned
    after: Owned
    latest: Mapping[tuple[str, Queue], str]
    moves: int
    settle: Time
    gaps: tuple[tuple[Gap, Time], ...]
    doubles: tuple[tuple[Double, Time], ...]
    rebalances: int


def phases_of(scenario: Scenario, numbering: Numbering, made: Collection[Event] = ()) -> tuple[Phase, ...]:
    """The scenario cut at its events, as a system sees it that numbers queues in this way. ``made``: those of its
    events that it is not cut at, as every run decides upon its own; who is there is told for the end of a phase."""
    if made:
        written = tuple(event for event in scenario.events if not any(event is each for each in made))
        cut = phases_of(scenario.model_copy(update={"events": written}), numbering)
        last = len(cut) - 1
        return tuple(
            replace(phase, then=ending(_up_to(scenario, phase.until - (number < last)), numbering))
            for number, phase in enumerate(cut)
        )
    end = scenario.run.for_
    by_time: dict[Time, list[Event]] = {0.0: []}
    for event in sorted(scenario.events, key=lambda each: each.at):
        if event.at <= end:
            by_time.setdefault(event.at, []).append(event)
    times = list(by_time)
    return tuple(
        Phase(at, until, tuple(by_time[at]), ending(_up_to(scenario, at), numbering))
        for at, until in zip(times, [*times[1:], end], strict=True)
    )


def at_other_times(phases: Sequence[Phase], scenario: Scenario) -> tuple[Phase, ...]:
    """The phases of a scenario in which the same events happen in the same order at other times
    (`protocols.scenario.jitter`): who and what is there after them is the same."""
    events = iter(scenario.events)
    happening = [tuple(islice(events, len(phase.events))) for phase in phases]
    times = [0.0, *(each[0].at for each in happening[1:]), scenario.run.for_]
    return tuple(
        replace(phase, at=at, until=until, events=each)
        for phase, each, (at, until) in zip(phases, happening, pairwise(times), strict=True)
    )


def _up_to(scenario: Scenario, at: Time) -> Scenario:
    return scenario.model_copy(update={"run": scenario.run.model_copy(update={"for_": at})})


def outcomes(timeline: Timeline, phases: Sequence[Phase]) -> Iterator[Outcome]:
    """What came of each moment."""
    said = list(timeline.told(Owns))
    beliefs = Beliefs(timeline.lives, timeline.uncounted, broadcasting=timeline.broadcasting)
    starts = [phase.at for phase in phases]
    gaps = _by_start(timeline.gaps, starts)
    doubles = _by_start(timeline.doubles, starts)
    rebalances = [0] * len(phases)
    for rebalance in timeline.rebalances:
        if rebalance.ended is not None:
            rebalances[_place(starts, rebalance.cause.event.at)] += 1
    position = 0
    before: Owned = {}
    for number, phase in enumerate(phases):
        last = number == len(phases) - 1
        moves, latest = beliefs.moves, beliefs.latest()
        changed = phase.at
        while position < len(said) and (last or said[position][0] < phase.until):
            now, fact = said[position]
            if beliefs.change(now, *fact):
                changed = now
            position += 1
        after = {key: sort_queues(held) for key, held in beliefs.view.held.items() if held}
        yield Outcome(
            phase=phase,
            before=before,
            after=after,
            latest=latest,
            moves=beliefs.moves - moves,
            settle=changed - phase.at,
            gaps=tuple(_lasting(timeline, gaps[number])),
            doubles=tuple(_lasting(timeline, doubles[number])),
            rebalances=rebalances[number],
        )
        before = after


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What came of everything from a moment on: ``moves`` as the figure; the ``gaps`` and ``doubles`` that began then,
    milliseconds of each while its queue existed."""

    moves: int
    gaps: tuple[tuple[Gap, Time], ...]
    doubles: tuple[tuple[Double, Time], ...]


def aftermath(timeline: Timeline, since: Time) -> Aftermath:
    """The same as the `outcomes` of all moments from this one on, added up."""
    beliefs = Beliefs(timeline.lives, timeline.uncounted, broadcasting=timeline.broadcasting)
    for now, fact in timeline.told(Owns):
        if now >= since:
            break
        beliefs.change(now, *fact)
    return Aftermath(
        timeline.ownership.moves - beliefs.moves,
        tuple(_lasting(timeline, [gap for gap in timeline.gaps if gap.since >= since])),
        tuple(_lasting(timeline, [double for double in timeline.doubles if double.since >= since])),
    )


def ownership_changes(timeline: Timeline, phases: Sequence[Phase]) -> Iterator[tuple[Time, Phase, Owned]]:
    """After each time at which a belief changed or an event happened: the time, the moment it is in, who owns what."""
    said = list(timeline.told(Owns))
    beliefs = Beliefs(timeline.lives, timeline.uncounted)
    starts = [phase.at for phase in phases]
    position = 0
    for now in sorted({*starts, *(at for at, _ in said)}):
        changed = now in starts
        while position < len(said) and said[position][0] <= now:
            at, fact = said[position]
            changed |= beliefs.change(at, *fact)
            position += 1
        if changed:
            owned = {key: sort_queues(held) for key, held in beliefs.view.held.items() if held}
            yield now, phases[_place(starts, now)], owned


def _by_start(found: Sequence[_Span], starts: Sequence[Time]) -> list[list[_Span]]:
    by_moment: list[list[_Span]] = [[] for _ in starts]
    for each in found:
        by_moment[_place(starts, each.since)].append(each)
    return by_moment


def _place(starts: Sequence[Time], at: Time) -> int:
    return max(0, bisect_right(starts, at) - 1)


def _lasting(timeline: Timeline, found: Sequence[_Span]) -> Iterator[tuple[_Span, Time]]:
    for each in found:
        until = timeline.end if each.until is None else each.until
        lasted = time_existing(timeline.lives, each.queue, each.since, until)
        if lasted > 0:
            yield each, lasted


class Waiting(NamedTuple):
    """``queues``: how many have not had any owner when a phase ends; ``longest``: the longest time, in milliseconds,
    that one of these has waited by then."""

    queues: int
    longest: Time


class NeverOwned:
    """When every queue got its first owner, by beliefs; to be asked of one moment after the other."""

    __slots__ = ("_first", "_not_shared", "_since")

    def __init__(self, timeline: Timeline) -> None:
        self._not_shared = timeline.not_shared
        self._first: dict[tuple[str, Queue], Time] = {}
        for belief in timeline.beliefs:
            self._first.setdefault((belief.group, belief.queue), belief.since)
        self._since: dict[tuple[str, Queue], Time] = {}
        """Queue that somebody reads now to the moment from which on somebody did."""

    def waiting(self, phase: Phase) -> Waiting:
        """What waits for its first owner when the phase ends."""
        read = [key for key in phase.then.expected() if key[0] not in self._not_shared]
        self._since = {key: self._since.get(key, phase.at) for key in read}
        waits = [
            phase.until - since
            for key, since in self._since.items()
            if self._first.get(key, phase.until) >= phase.until > since
        ]
        return Waiting(len(waits), max(waits, default=0.0))
