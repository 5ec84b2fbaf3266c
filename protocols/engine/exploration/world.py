"""The explorer's world: whole states as tuples of small numbers, what can happen in each, and what it leads to.

Column 0 of a state is how far the scenario's events have come; then one column for each process, one for each pair of
processes that talk. A number stands for a value that is held once (`World.runs`, `World.pairs`), so that two states are
equal exactly where their tuples are.
"""

from collections.abc import Callable, Iterator, Sequence

from protocols.engine.exploration.holdings import Holdings
from protocols.engine.exploration.states import CLOSES, DELIVER, FIRE, HAPPEN, OPENS, Action, Happened, Run, State
from protocols.engine.exploration.steps import TIMEOUT, NodeEvent
from protocols.engine.exploration.turn import Turn
from protocols.engine.nodes import ExploredNode, Message, TimerName


class World(Holdings):
    """Nodes whose messages, timers, choices and events may come in any order. Deterministic; not thread-safe."""

    # What can happen.

    def deliveries(self, state: State) -> Iterator[Action]:
        """Messages that can arrive, and ends and beginnings of connections."""
        for at, (one, other) in enumerate(self.named_pairs):
            number = state[1 + len(self.processes) + at]
            if number:
                out, back = self.pairs.values[number].flights
                if out and not self.run(state, other).hangs:
                    yield Action(DELIVER, one, other)
                if back and not self.run(state, one).hangs:
                    yield Action(DELIVER, other, one)

    def firings(self, state: State) -> Iterator[Action]:
        """Timers that can fire. Those that would only be set anew are left out: nothing can follow from them that
        cannot follow without."""
        for name in self.processes:
            for at in self.firing(state[self.column[name]], name):
                yield Action(FIRE, name, at)

    def firing(self, run: int, name: str) -> tuple[int, ...]:
        """Which timers of a process can fire, and make a difference: their places in `timers`."""
        found = self._firing.get(run)
        if found is None:
            of = self.runs.values[run]
            living = self.steps.livings[of.living]
            if living is None or not of.firings or of.hangs:
                found = ()
            else:
                found = tuple([at for at, (timer, _) in enumerate(living.timers) if self._matters(run, name, timer)])
            self._firing[run] = found
        return found

    def _matters(self, run: int, name: str, timer: TimerName) -> bool:
        if not self.bounds.housekeeping and self.steps.rules.housekeeping(timer):
            return False
        before = self.runs.values[run]
        for moved in self.moved(run, name, self.steps.event(NodeEvent(TIMEOUT, "", timer))):
            after = self.runs.values[moved.run]
            if moved.branch.sends or after._replace(firings=before.firings) != before:
                return True
        return False

    def happenings(self, state: State) -> Iterator[Action]:
        """The scenario's next event, and what earlier ones have left to come."""
        progress = self.progress.values[state[0]]
        if progress.events < len(self.script.events):
            yield Action(HAPPEN, "", 0)
        for at in range(len(progress.later)):
            yield Action(HAPPEN, "", 1 + at)

    def actions(self, state: State) -> list[Action]:
        """All that can happen in a state, in a fixed order; choices are still open."""
        return [*self.deliveries(state), *self.firings(state), *self.happenings(state)]

    def step(self, state: State, action: Action, told: list[Happened] | None = None) -> State:
        """What an action leads to; choices that it leaves open take their first option. What happens is appended to
        ``told``. Raises `ValueError` where it cannot happen here."""
        turn = Turn(self, list(state), action.choices, told)
        turn.act(action)
        return tuple(turn.state)

    def successors(self, state: State, actions: Sequence[Action] | None = None) -> Iterator[tuple[Action, State]]:
        """Each action, with each way to choose, and the state that it leads to."""
        for action in self.actions(state) if actions is None else actions:
            for chosen, turn in self.turns(action, lambda: list(state)):
                yield chosen, tuple(turn.state)

    def turns(self, action: Action, copied: Callable[[], list[int]]) -> Iterator[tuple[Action, Turn]]:
        """An action with each way to choose, in a state of which ``copied`` gives a copy."""
        scripts: list[tuple[int, ...]] = [()]
        while scripts:
            chosen = scripts.pop()
            turn = Turn(self, copied(), chosen, None)
            turn.act(action)
            yield action._replace(choices=chosen), turn
            for at in range(len(turn.options) - 1, len(chosen) - 1, -1):
                taken = (*chosen, *(0,) * (at - len(chosen)))
                scripts += [(*taken, other) for other in range(turn.options[at] - 1, 0, -1)]

    # What is where.

    def run(self, state: State, name: str) -> Run:
        """A process; `GONE` where it does not run and never did."""
        return self.runs.values[state[self.column[name]]]

    def node(self, state: State, name: str) -> ExploredNode | None:
        """The node of a process, not to be changed; None where none runs."""
        living = self.steps.livings[self.run(state, name).living]
        return None if living is None else living.node

    def timers(self, state: State, name: str) -> list[TimerName]:
        """The timers of a process that are set, in the order in which actions count them."""
        living = self.steps.livings[self.run(state, name).living]
        return [] if living is None else [each for each, _ in living.timers]

    def in_flight(self, state: State, sender: str, receiver: str) -> list[Message | str]:
        """What is on its way, the oldest first: messages, ``opens`` and ``closes`` of connections."""
        column, side = self.pair_column[sender, receiver]
        flights = self.pairs.values[state[column]].flights[side]
        names = {OPENS: "opens", CLOSES: "closes"}
        return [names.get(flight) or self.steps.messages[flight] for flight in flights]

    def awaits(self, state: Sequence[int], name: str, peer: str) -> bool:
        """Whether anything may come from a peer to a process before this acts again."""
        steps = self.steps
        living = steps.livings[self.runs.values[state[self.column[name]]].living]
        theirs = steps.livings[self.runs.values[state[self.column[peer]]].living]
        if living is None or theirs is None or not isinstance(theirs.node, steps.rules.answering):
            return True
        numbering = steps.rules.numberings.get(type(living.node))
        asked = [] if numbering is None else list(numbering.outstanding(living.node).values())
        return peer in (*asked, *(each for _, each in living.given_up))

    def is_quiet(self, state: State) -> bool:
        """Whether nothing is on its way and nobody hangs: only a timer or an event goes on from here."""
        return next(self.deliveries(state), None) is None and not any(
            self.run(state, name).hangs for name in self.processes
        )

    def violated(self, state: State) -> list[int]:
        """The properties (by their places in ``watches``) that do not hold here."""
        runs = [self.runs.values[state[1 + at]] for at in range(len(self.processes))]
        return [
            at
            for at, watch in enumerate(self.watches)
            if watch.is_violated([run.remembered[at] for run in runs if run.remembered])
        ]
