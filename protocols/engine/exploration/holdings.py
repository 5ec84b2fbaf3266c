"""All values that states of the explorer's world are made of, by their numbers."""

from collections.abc import Collection, Hashable, Sequence
from typing import Any

from protocols.engine.exploration.connections import NOTHING, Pair
from protocols.engine.exploration.observing import Watch
from protocols.engine.exploration.states import GONE, Bounds, Interned, Moved, Progress, Run
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
        """The event of this number happens."""
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
            found = self._branches[run, event] = tuple([self._moved(before, each, event) for each in branches])
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
