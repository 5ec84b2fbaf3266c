"""A state while an action happens to it: its processes, what lies between them, and what is wrong with the network."""

from collections.abc import Callable

from protocols.engine.exploration import connections
from protocols.engine.exploration.connections import Pair
from protocols.engine.exploration.holdings import Holdings
from protocols.engine.exploration.states import CUT, Progress, Run


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
        """A process as it is now."""
        return self.world.runs.values[self.state[self.world.column[name]]]

    def put(self, name: str, run: Run) -> None:
        """The process is this from now on."""
        self.state[self.world.column[name]] = self.world.runs.number(run)

    def set_fault(self, one: str, other: str, what: str | None) -> None:
        """This (`CUT`, `DEAF`, `LOSSY`) is wrong with the network between two processes from now on; None: nothing. Who
        could not be told that a connection has ended is told once the network is not cut any more."""
        progress, pair = self.progress, _in_order(one, other)
        faults = [each for each in progress.faults if each[:2] != pair]
        untold = progress.untold
        if what is not None:
            faults.append((*pair, what))
        if what != CUT:
            for closer, peer in untold:
                if {closer, peer} == {one, other}:
                    column, side = self.world.pair_column[closer, peer]
                    self._set_pair(column, connections.told_late(self._pair(column), side))
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
            after = connections.unsent(after, side)
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
