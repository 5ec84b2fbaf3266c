"""All states that can be reached, level by level, so that the first state that violates a property has a shortest
story.

Nodes are deterministic and can be copied and compared; what is not determined in reality (which message arrives
first, which timer fires, when an event happens) is a choice, and a state has one successor for each. The search ends
with a proof (no state left), a story, or a limit, and says which. Orders of choices that cannot influence each other
are tried once (`independence`).
"""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from compare.exploring.expansion import Expansion, Firings, Piece, Rows, Table, Visited, combinations
from compare.exploring.independence import Independence
from protocols.engine.exploration import Action, State, World

CHUNK: Final = 1 << 17
"""So many states are expanded at once."""


class Limits(NamedTuple):
    """Where a search ends before it has seen everything; None: nowhere."""

    depth: int | None = None
    states: int | None = None
    seconds: float | None = None


class Search:
    """A search of all states from the first one on, until there is none left, each property that is asked for is
    violated, or a limit is hit.

    ``asked``: the properties (by their places in ``world.watches``); ``besides``: others, whose violations are told as
    well, but for which nothing is searched. ``reduced``: leave orders out that make no
    difference to any property (`Independence`); what is violated is violated all the same, but stories may be longer.
    ``on_level`` hears of depth and states after each level.
    """

    def __init__(
        self,
        world: World,
        first: State,
        asked: Sequence[int],
        limits: Limits = Limits(),  # noqa: B008 - immutable
        *,
        besides: Sequence[int] = (),
        reduced: bool = False,
        on_level: Callable[[int, int], None] | None = None,
    ) -> None:
        self.world, self.visited = world, Visited(world.width, Firings(world) if reduced else None)
        self.violations: dict[int, list[Action]] = {}
        """Property to the first story that violates it."""
        self.transitions = self.depth = 0
        self.complete = True
        """Whether no limit was hit."""
        self._limits, self._on_level = limits, on_level
        self._expansion = Expansion(world)
        self._independence = Independence(world) if reduced else None
        self._asked = frozenset(asked)
        self._checks = {at: _Check(world, at) for at in (*asked, *besides)}
        self._deadline = None if limits.seconds is None else monotonic() + limits.seconds
        self.visited.add(np.array([first], np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32))

    def run(self, *, to_the_end: bool = False) -> "Search":
        """Search; returns itself. ``to_the_end``: also where every property is violated already."""
        visited, begin = self.visited, 0
        self._check(0)
        while self.complete and begin < visited.count and (to_the_end or self._asked - self.violations.keys()):
            if self._limits.depth is not None and self.depth >= self._limits.depth:
                self.complete = False
                break
            end = visited.count
            for at in range(begin, end, CHUNK):
                self._expand(at, min(at + CHUNK, end))
                if self._is_over():
                    self.complete = False
                    break
            self._check(end)
            begin, self.depth = end, self.depth + 1
            if self._on_level is not None:
                self._on_level(self.depth, visited.count)
        return self

    def _expand(self, begin: int, end: int) -> None:
        rows = self.visited.rows[begin:end].copy()
        places = np.arange(len(rows))
        if self._independence is not None:
            alone = self._independence.alone(rows)
            pieces = [
                (made, mine[of], numbers)
                for at, choice in enumerate(self._independence.choices)
                if len(mine := np.flatnonzero(alone == at))
                for made, of, numbers in self._expansion.successors(rows[mine], choice)
            ]
            is_new = self._added(pieces, begin)
            leads_on = np.zeros(len(rows), bool)
            if pieces:
                leads_on[np.concatenate([piece[1] for piece in pieces])[is_new]] = True
            places = np.flatnonzero(~leads_on)
        successors = self._expansion.successors(rows[places])
        self._added([(made, places[of], numbers) for made, of, numbers in successors], begin)

    def _added(self, pieces: Sequence[Piece], since: int) -> NDArray[np.bool_]:
        """Add all these states, which follow from those that begin at ``since``; which of them are new."""
        if not pieces:
            return np.zeros(0, bool)
        parents = np.concatenate([piece[1] for piece in pieces]).astype(np.int32) + np.int32(since)
        numbers = np.concatenate([piece[2] for piece in pieces])
        is_new = self.visited.add(np.concatenate([piece[0] for piece in pieces]), parents, numbers)
        self.transitions += len(is_new)
        return is_new

    def _check(self, since: int) -> None:
        rows = self.visited.rows[since : self.visited.count]
        for at, check in self._checks.items():
            if at not in self.violations and (place := check.first(rows)) is not None:
                self.violations[at] = self.story(since + place)

    def story(self, place: int) -> list[Action]:
        """The actions that lead to the state at this place."""
        return [self._expansion.actions[number] for number in self.visited.story(place)]

    def _is_over(self) -> bool:
        most = self._limits.states
        is_late = self._deadline is not None and monotonic() > self._deadline
        return is_late or (most is not None and self.visited.count >= most)


class _Check:
    """One property, asked once for each combination of what it remembers."""

    def __init__(self, world: World, at: int) -> None:
        self._world, self._at = world, at
        self._remembered = Table(self._number)
        self._values: dict[object, int] = {}
        self._names: list[object] = []

    def _number(self, run: int) -> int:
        remembered = self._world.runs.values[run].remembered
        value = remembered[self._at] if remembered else self._world.watches[self._at].nothing
        number = self._values.setdefault(value, len(self._names))
        if number == len(self._names):
            self._names.append(value)
        return number

    def first(self, rows: Rows) -> int | None:
        """The first of these states in which the property does not hold."""
        processes = len(self._world.processes)
        parts = np.stack([self._remembered.of(rows[:, 1 + at]) for at in range(processes)], axis=1)
        firsts, which = combinations(parts.astype(np.int32))
        watch = self._world.watches[self._at]
        bad = [watch.is_violated([self._names[value] for value in each]) for each in parts[firsts].tolist()]
        if not any(bad):
            return None
        return int(np.flatnonzero(np.array(bad)[which])[0])
