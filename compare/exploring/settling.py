"""What follows from each reachable state once nothing is late any more and no event comes: the fair run.

Whatever is on its way arrives before any timer fires, and that leads to a state that is reachable too, in which nothing
is on its way. So it is enough to run on from those, once for each that differs in more than how often timers may still
fire.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from compare.exploring.expansion import Rows
from compare.exploring.given_out import Lives, Record, open_records
from compare.exploring.properties import Beliefs, Subject
from compare.running.run_variant import Ending, broadcasting_groups, ending, groups_without_owners
from compare.running.systems import system_of
from protocols.engine.exploration import State, World
from protocols.java import Queue, sort_queues
from protocols.scenario.exploring import fair_run


class Unfair(NamedTuple):
    """A member, what it owns at the end, and what the strategy gives it; None: it is not in the group any more."""

    member: str
    owned: tuple[Queue, ...]
    share: tuple[Queue, ...] | None


class Fate(NamedTuple):
    """A quiet state (its place in the search), and what its fair run leads to: whether the group settles, the queues
    that nobody owns at the end, and those that several members own who were to share them; and the members that do not
    own what the strategy gives them."""

    place: int
    settled: bool
    unowned: tuple[tuple[str, Queue], ...]
    shared: tuple[tuple[str, Queue], ...]
    unfair: tuple[Unfair, ...]
    open: tuple[Record, ...] = ()
    """Records that somebody had been given, and that have not ended."""


def quiet_states(world: World, rows: Rows) -> Iterator[int]:
    """The places of the states from which fair runs go on: nothing is on its way, nothing hangs or is to come."""
    pairs = np.array([any(value.flights) for value in world.pairs.values], bool)
    hangs = np.array([value.hangs for value in world.runs.values], bool)
    later = np.array([bool(value.later) for value in world.progress.values], bool)
    first = 1 + len(world.processes)
    is_busy = pairs[rows[:, first:]].any(axis=1) | hangs[rows[:, 1:first]].any(axis=1) | later[rows[:, 0]]
    seen: set[tuple[int, ...]] = set()
    for place in np.flatnonzero(~is_busy).tolist():
        row = rows[place].tolist()
        alike = (row[0], *(world.runs.values[each].living for each in row[1:first]), *row[first:])
        if alike not in seen:
            seen.add(alike)
            yield place


def fates(subject: Subject, rows: Rows) -> Iterator[Fate]:
    """The fate of each quiet state, in the order in which the search found them."""
    known = Fates(subject)
    for place in quiet_states(subject.settled.world, rows):
        yield known.run(tuple(rows[place].tolist()), place)


class Fates:
    """What fair runs lead to."""

    def __init__(self, subject: Subject) -> None:
        self._world = subject.settled.world
        self._expected = _Expected(subject)
        self._known: dict[State, Fate] = {}

    def of(self, state: State) -> Fate | None:
        """The fate of a state (with place 0), found once; None for one that is not quiet."""
        world = self._world
        if not world.is_quiet(state) or world.progress.values[state[0]].later:
            return None
        first = 1 + len(world.processes)
        alike = (state[0], *(world.runs.values[each].living for each in state[1:first]), *state[first:])
        if alike not in self._known:
            self._known[alike] = self.run(state, 0)
        return self._known[alike]

    def run(self, state: State, place: int) -> Fate:
        """The fate of a quiet state at this place of a search."""
        world, expected = self._world, self._expected
        events = world.progress.values[state[0]].events
        wanted = expected.after(events)
        end = fair_run(world, state, {} if expected.without_owners else dict(_owned(world, state)), wanted)
        given = open_records(_lives(world, state)) if expected.without_owners else frozenset()
        owners = Counter((group, queue) for (group, _), queues in end.owned.items() for queue in queues)
        shared = [each for each in wanted if owners[each] > 1 and each[0] not in expected.broadcasting]
        unowned = tuple([each for each in wanted if not owners[each]])
        unfair = tuple(treated_unfairly(end.shares, end.owned, expected.ending(events)))
        return Fate(place, end.settled, unowned, tuple(shared), unfair, tuple(sorted(given - end.ended)))


def treated_unfairly(
    shares: Mapping[str, Mapping[str, tuple[Queue, ...]]],
    owned: Mapping[tuple[str, str], tuple[Queue, ...]],
    last: Ending,
) -> Iterator[Unfair]:
    """By group and name. ``shares``: as `NodeRules.shares` gives them; ``owned``: (group, member) to queues; ``last``:
    who is there, of whom everybody who subscribes to a topic that there is must be in the group."""
    for name, given in shares.items():
        group = last.groups[name]
        there = [each.id for each in group.members if not group.topics.keys().isdisjoint(each.subscription)]
        for member in sorted({*given, *there}):
            share, has = given.get(member), sort_queues(owned.get((name, member), ()))
            if share != has:
                yield Unfair(member, has, share)


def _lives(world: World, state: State) -> Iterator[Lives]:
    for name in world.processes:
        run = world.run(state, name)
        if run.remembered:
            yield run.remembered[-1]  # type: ignore[misc]


def _owned(world: World, state: State) -> Iterator[tuple[tuple[str, str], tuple[Queue, ...]]]:
    for name in world.processes:
        run = world.run(state, name)
        beliefs: Beliefs = run.remembered[-1] if run.remembered else ()  # type: ignore[assignment]
        for belief in beliefs:
            yield (belief.group, belief.member), belief.queues


class _Expected:
    """What is wanted after so many events: a queue that somebody alive subscribes to must have an owner, but for those
    at a broker that is down."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.broadcasting = broadcasting_groups(subject.variant)
        """Groups whose members all read every queue."""
        self.without_owners = groups_without_owners(subject.variant)
        """Groups whose records are given out one by one."""
        self._known: dict[int, Ending] = {}

    def ending(self, events: int) -> Ending:
        """Who and what is there."""
        known = self._known.get(events)
        if known is None:
            lived = self._subject.lived
            so_far = lived.model_copy(update={"events": lived.events[:events]})
            known = self._known[events] = ending(so_far, system_of(self._subject.variant.part.system).numbering)
        return known

    def after(self, events: int) -> Mapping[tuple[str, Queue], None]:
        """(Group, queue) of each."""
        so_far = self._subject.lived.events[:events]
        runs = {broker: does_run for event in so_far for broker, does_run in event.broker_changes().items()}
        expected = [each for each in self.ending(events).expected() if each[0] not in self.without_owners]
        return dict.fromkeys([each for each in expected if runs.get(each[1].broker, True)])
