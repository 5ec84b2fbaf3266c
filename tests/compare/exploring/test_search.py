"""A search sees what single steps see, and leaving orders out changes no answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from compare.exploring.expansion import Firings, Visited
from compare.exploring.properties import ACKNOWLEDGED, COMMITS, PER_GENERATION, SINGLE_OWNER
from compare.exploring.search import Limits, Search
from protocols.engine.exploration import State, World
from protocols.engine.exploration.steps import Living
from tests.compare.exploring.scopes import group, subject

ALL = (PER_GENERATION, SINGLE_OWNER, ACKNOWLEDGED, COMMITS)
SCOPES = [
    ("kafka:range", 2, ("crash: c2",)),
    ("kafka:cooperative-sticky", 1, ("join: c2, subscribe: [A]",)),
    ("kafka:uniform", 2, ("hang: c2, for: 60s",)),
    ("rocketmq:AVG", 2, ("leave: c2",)),
    ("kafka:range", 2, ("broker: b1, does: kill", "broker: b1, does: return")),
    ("rocketmq:AVG", 1, ("broker: b1, does: stop", "broker: b1, does: return")),
    ("kafka:range", 1, ("network: cut, between: [c1, b1], for: 1s", "crash: c1")),
    ("rocketmq:AVG", 1, ("network: loss, loss: 0.5, between: [c1], for: 1s",)),
    ("rocketmq:AVG", 1, ("restart: c1, how: leave",)),
    ("kafka:range", 2, ("stop_polling: c2, for: 60s",)),
    ("kafka-zookeeper:range", 2, ("disconnect: c2", "broker: b1, does: kill")),
    ("kafka-zookeeper:roundrobin", 1, ("restart: c1, how: leave", "queues: {A: 3}")),
]


def _one_by_one(world: World, first: State, most: int) -> tuple[list[set[State]], int]:
    """The states of each level by single steps, and the number of transitions, up to so many states."""
    seen, levels, transitions = {first}, [{first}], 0
    while levels[-1] and len(seen) < most:
        level = set()
        for state in sorted(levels[-1]):
            for _, after in world.successors(state):
                transitions += 1
                if after not in seen:
                    seen.add(after)
                    level.add(after)
        levels.append(level)
    return levels, transitions


def test_whole_levels_hold_the_states_of_single_steps(subtests: pytest.Subtests) -> None:
    for system, members, events in SCOPES:
        with subtests.test(system=system, members=members, events=events):
            of = subject(group(system, members, *events), SINGLE_OWNER)
            world, first = of.settled.world, of.settled.first
            levels, transitions = _one_by_one(world, first, 1500)
            search = Search(world, first, [], Limits(depth=len(levels) - 1)).run(to_the_end=True)
            rows = search.visited.rows[: search.visited.count]
            assert {tuple(row) for row in rows.tolist()} == set().union(*levels)
            assert search.transitions == transitions


def test_stories_are_as_short_as_single_steps_find_them() -> None:
    of = subject(
        group("kafka:uniform", 2, "crash: c2", settings="group.consumer.assignment.interval.ms: 0"), SINGLE_OWNER
    )
    world, first = of.settled.world, of.settled.first
    levels, _ = _one_by_one(world, first, 20_000)
    depth = next(at for at, level in enumerate(levels) if any(world.violated(state) for state in level))
    search = Search(world, first, [0], Limits()).run()
    assert len(search.violations[0]) == depth
    state = first
    for action in search.violations[0]:
        assert not world.violated(state)
        state = world.step(state, action)
    assert world.violated(state) == [0]


WHOLE = [
    (*SCOPES[0], True),
    (*SCOPES[2], True),
    ("rocketmq:AVG", 2, ("crash: c2",), True),
    ("kafka:range", 1, ("queues: {A: 3}",), True),
    ("kafka:range", 1, ("broker: b1, does: kill", "broker: b1, does: return"), True),
    ("kafka:range", 1, ("network: loss, loss: 0.5, between: [c1], for: 1s",), False),
]
"""Small enough to be searched to the end; whether anything is left out there: orders, or fewer firings."""


def test_reduced_search_gives_the_same_answers(subtests: pytest.Subtests) -> None:
    for system, members, events, saves in WHOLE:
        with subtests.test(system=system, members=members, events=events, saves=saves):
            answers: list[Any] = []
            counts = []
            for reduced in (False, True):
                of = subject(group(system, members, *events), *ALL)
                search = Search(
                    of.settled.world, of.settled.first, range(len(ALL)), Limits(states=150_000), reduced=reduced
                )
                search.run(to_the_end=True)
                assert search.complete
                answers.append(sorted(search.violations))
                counts.append(search.visited.count)
            assert answers[0] == answers[1]
            assert (counts[1] < counts[0]) is saves


@pytest.mark.parametrize("scope", [WHOLE[0], WHOLE[3], WHOLE[4]], ids=str)
def test_fewer_firings_left_lead_nowhere_else(scope: tuple[str, int, tuple[str, ...], bool]) -> None:
    system, members, events, _ = scope
    of = subject(group(system, members, *events), SINGLE_OWNER)
    world, first = of.settled.world, of.settled.first
    firings = Firings(world)
    found, counts = [], []
    for visited in (Visited(world.width), Visited(world.width, firings)):
        search = Search(world, first, [], Limits(states=150_000))
        search.visited = visited
        visited.add(np.array([first], np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32))
        search.run(to_the_end=True)
        assert search.complete
        counts.append(visited.count)
        found.append({tuple(row) for row in firings.apart(visited.rows[: visited.count])[0].tolist()})
    assert found[0] == found[1]
    assert counts[1] < counts[0]


def _alternatives(
    world: World, rows: np.ndarray[Any, Any], events_of: Mapping[int, Sequence[int]]
) -> Iterator[tuple[str, Living, int]]:
    """Nodes that have the key of another node though another path led to them."""
    found: dict[int, list[Living]] = {}
    steps = world.steps
    original = steps.living

    def noticing(living: Living) -> int:
        number = original(living)
        if steps.livings[number] is not living:
            found.setdefault(number, []).append(living)
        return number

    steps.living = noticing  # type: ignore[method-assign]
    # What a node does in one state is what it does in every other one.
    states = [tuple(row) for row in rows.tolist()]
    nodes = dict.fromkeys((name, world.run(state, name).living) for state in states for name in world.processes)
    for name, number in nodes:
        before = steps.livings[number]
        for event in events_of.get(number, ()) if before is not None else ():
            for branch in steps.compute(name, before, event):
                for living in found.pop(branch.living, ()):
                    yield name, living, branch.living
    steps.living = original  # type: ignore[method-assign]


def test_equal_keys_behave_equally(subtests: pytest.Subtests) -> None:
    for system, members, events in SCOPES:
        with subtests.test(system=system, members=members, events=events):
            of = subject(group(system, members, *events), SINGLE_OWNER)
            world = of.settled.world
            search = Search(world, of.settled.first, [], Limits(states=2000)).run(to_the_end=True)
            steps = world.steps
            events_of: dict[int, list[int]] = {}
            for number, event in list(steps._steps):
                events_of.setdefault(number, []).append(event)
            rows = search.visited.rows[: search.visited.count : 40]
            compared = 0
            for name, living, number in _alternatives(world, rows, events_of):
                for event in events_of.get(number, ()):
                    assert steps.compute(name, living, event) == steps.step(name, number, event)
                    compared += 1
                if compared > 400:
                    break
            assert compared > 100
