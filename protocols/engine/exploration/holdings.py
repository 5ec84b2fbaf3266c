"""All values that states of the explorer's world are made of, by their numbers.

A state while an action happens to it: its processes, what lies between them, and what is wrong with the network.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

from protocols.engine.exploration import states
from protocols.engine.exploration.rules import Watch
from protocols.engine.exploration.states import CUT, GONE, NOTHING, Bounds, Interned, Moved, Pair, Progress, Run
from protocols.engine.exploration.steps import TIMEOUT, Branch, Steps
from protocols.engine.nodes import ExploredNode


class Script:
    """What makes events happen, in a `protocols.engine.exploration.turn.Turn`. It may be in states of its own, which it
    numbers (`Turn.script_is`)."""

    events: Sequence[Any] = ()
    breaks_network = False
    """Whether there may ever be something wrong with the network."""
    changes_answers = False
    """Whether events may change what servers answer to requests that change nothing."""

    def befalls(self, since: int, name: str) -> bool:
        """Whether an event of this number or a later one may do anything to this process."""
        return since < len(self.events)

    def ends(self, since: int, name: str) -> bool:
        """Whether all that these events do to the process is to end it."""
        return False

    def happen(self, turn: Any, number: int) -> None:
        raise NotImplementedError

    def go_on(self, turn: Any, left: tuple[int, int, str]) -> None:
        """What an earlier event has left to come happens."""
        raise NotImplementedError


class Holdings:
    """``processes``: names of all that may ever run, in the order of their columns; ``pairs``: names of those that may
    talk, first and second. ``script`` makes the scenario's events happen.
    """

    def __init__(
        self,
        steps: Steps,
        processes: Sequence[str],
        pairs: Sequence[tuple[str, str]],
        watches: Sequence[Watch],
        script: Script,
        bounds: Bounds,
        clients: Collection[str] = (),
    ) -> None:
        self.clients = frozenset(clients)
        """The processes of members: what others do to them, they do by messages alone."""
        self.steps, self.script, self.bounds = steps, script, bounds
        self.watches = tuple(watches)
        self.processes = tuple(processes)
        self.servers = tuple(name for name in processes if name not in self.clients)
        self.named_pairs = tuple(pairs)
        self.runs: Interned[Run] = Interned()
        self.runs.number(GONE)
        self.pairs: Interned[Pair] = Interned()
        self.pairs.number(NOTHING)
        self.progress: Interned[Progress] = Interned()
        self.progress.number(Progress(0))
        self.column = {name: 1 + at for at, name in enumerate(self.processes)}
        first = 1 + len(self.processes)
        self.pair_column: dict[tuple[str, str], tuple[int, int]] = {}
        """(sender, receiver) to the pair's column and the direction."""
        for at, (one, other) in enumerate(self.named_pairs):
            self.pair_column[one, other] = first + at, 0
            self.pair_column[other, one] = first + at, 1
        self.width = first + len(self.named_pairs)
        self._branches: dict[tuple[int, int], tuple[Moved, ...]] = {}
        self._firing: dict[int, tuple[int, ...]] = {}

    def moved(self, run: int, name: str, event: int) -> tuple[Moved, ...]:
        """What an event of its node makes of a process, one for each way to choose."""
        found = self._branches.get((run, event))
        if found is None:
            before = self.runs.values[run]
            branches = self.steps.step(name, before.living, event)
            found = self._branches[run, event] = tuple([self._moved(before, branch, event) for branch in branches])
        return found

    def _moved(self, before: Run, branch: Branch, event: int) -> Moved:
        fired = self.steps.events[event].kind == TIMEOUT
        living = self.steps.livings[branch.living]
        assert living is not None
        after = before._replace(
            living=branch.living,
            firings=before.firings - fired,
            ids=living.ids,
            remembered=self.remember(before.remembered, branch.facts),
        )
        return Moved(self.runs.number(after), branch)

    def remember(self, before: tuple[Hashable, ...], facts: Sequence[tuple[object, ...]]) -> tuple[Hashable, ...]:
        """What the properties remember after these facts of a process."""
        after = before or tuple([watch.nothing for watch in self.watches])
        for fact in facts:
            after = tuple([watch.remember(each, fact) for watch, each in zip(self.watches, after, strict=True)])
        return after

    def firings_of(self, node: ExploredNode) -> int:
        """How often the timers of a new process may fire."""
        is_client = isinstance(node, self.steps.rules.clients)
        return self.bounds.client_firings if is_client else self.bounds.server_firings


class Draft:
    """A state that is being changed."""

    def __init__(self, world: Holdings, state: list[int]) -> None:
        self.world = world
        self.state = state

    @property
    def progress(self) -> Progress:
        """How far the events have come by now."""
        return self.world.progress.values[self.state[0]]

    def run(self, name: str) -> Run:
        return self.world.runs.values[self.state[self.world.column[name]]]

    def put(self, name: str, run: Run) -> None:
        self.state[self.world.column[name]] = self.world.runs.number(run)

    def set_fault(self, one: str, other: str, what: str | None) -> None:
        """This (`CUT`, `DEAF`, `LOSSY`) is wrong with the network between two processes from now on; None: nothing. Who
        could not be told that a connection has ended is told once the network is not cut any more."""
        progress, pair = self.progress, _in_order(one, other)
        faults = [fault for fault in progress.faults if fault[:2] != pair]
        untold = progress.untold
        if what is not None:
            faults.append((*pair, what))
        if what != CUT:
            for closer, peer in untold:
                if {closer, peer} == {one, other}:
                    column, side = self.world.pair_column[closer, peer]
                    self._set_pair(column, states.told_late(self._pair(column), side))
            untold = tuple([each for each in untold if set(each) != {one, other}])
        self._set_progress(progress._replace(faults=tuple(sorted(faults)), untold=untold))

    # For those who know what follows.

    def _set_progress(self, progress: Progress) -> None:
        self.state[0] = self.world.progress.number(progress)

    def _hang_up(self, name: str, peer: str, how: Callable[[Pair, int], Pair]) -> None:
        """A process closes a connection, if it has one; where the network is cut the peer does not hear of it."""
        column, side = self.world.pair_column[name, peer]
        before = self._pair(column)
        after = how(before, side)
        if self._fault(name, peer) == CUT and len(after.flights[side]) > len(before.flights[side]):
            after = states.unsent(after, side)
            progress = self.progress
            self._set_progress(progress._replace(untold=(*progress.untold, (name, peer))))
        self._set_pair(column, after)

    def _fault(self, one: str, other: str) -> str | None:
        """What is wrong with the network between two processes."""
        if not self.world.script.breaks_network:
            return None
        pair = _in_order(one, other)
        return next((what for first, second, what in self.progress.faults if (first, second) == pair), None)

    def _pair(self, column: int) -> Pair:
        return self.world.pairs.values[self.state[column]]

    def _set_pair(self, column: int, pair: Pair) -> None:
        self.state[column] = self.world.pairs.number(pair)


def _in_order(one: str, other: str) -> tuple[str, str]:
    return min(one, other), max(one, other)
