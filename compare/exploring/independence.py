"""Which orders make no difference (a partial-order reduction by persistent sets)."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from compare.exploring.expansion import Rows, combinations
from protocols.engine.exploration import Action, World
from protocols.engine.exploration.states import CLOSES, DELIVER, FIRE, OPENS
from protocols.engine.exploration.steps import CONNECTED, RECEIVE, TIMEOUT, NodeEvent
from protocols.engine.nodes import Time, TimerName

NOBODY: Final = -1


class Independence:
    """For states, actions that may be taken alone, because the order of them and all others makes no difference: all
    that one client can do (`_acts_alone`), or one delivery (`_is_constant`, `_is_silent`).

    Others' actions do not stop these then, nor these theirs, both orders lead to the same state, and no property sees a
    difference. A state in which that leads to no new state is to be expanded in full, so that nothing is put off for
    ever.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._clients = [name for name in world.processes if name in world.clients]
        self._links = list(world.pair_column)
        self._columns = {
            name: [column for (_, receiver), (column, _) in world.pair_column.items() if receiver == name]
            for name in world.processes
        }
        self._known: dict[object, dict[tuple[int, ...], bool]] = {}
        self.choices: list[str | tuple[str, str]] = [*self._links, *self._clients]
        """What may be taken alone: a delivery (sender, receiver), or all actions of a client."""

    def alone(self, rows: Rows) -> NDArray[np.int64]:
        """For each state the place in ``choices`` of what may be taken alone; `NOBODY`: nothing."""
        world = self._world
        alone = np.full(len(rows), NOBODY, np.int64)
        for place, choice in enumerate(self.choices):
            if isinstance(choice, str):
                columns = [0, world.column[choice], *self._columns[choice]]
            elif choice[1] in world.clients:
                columns = [0, world.column[choice[1]], *self._columns[choice[1]]]
            else:
                columns = [world.pair_column[choice][0], world.column[choice[1]]]
                if world.script.changes_answers:
                    columns.append(0)
            left = np.flatnonzero(alone == NOBODY)
            parts = rows[left][:, columns]
            firsts, which = combinations(parts)
            known = self._known.setdefault(choice, {})
            answers = []
            for at, values in zip(firsts.tolist(), map(tuple, parts[firsts].tolist()), strict=True):
                answer = known.get(values)
                if answer is None:
                    answer = known[values] = self._may(choice, rows[left[at]].tolist())
                answers.append(answer)
            alone[left[np.array(answers, bool)[which]]] = place
        return alone

    def _may(self, choice: str | tuple[str, str], state: list[int]) -> bool:
        if isinstance(choice, str):
            return self._acts_alone(choice, state)
        is_client = choice[1] in self._world.clients
        return self._is_silent(choice, state) if is_client else self._is_constant(choice, state)

    # One delivery.

    def _is_constant(self, link: tuple[str, str], state: list[int]) -> bool:
        """Whether the server's answer is the same at any time, and nothing else comes of the delivery."""
        world, (sender, receiver) = self._world, link
        progress = world.progress.values[state[0]]
        if world.script.changes_answers and (progress.later or progress.events < len(world.script.events)):
            return False
        head = self._head(link, state)
        run = state[world.column[receiver]]
        if head is None or head == CLOSES:
            return False
        if head != OPENS and not isinstance(world.steps.messages[head], world.steps.rules.constant):
            return False
        event = NodeEvent(CONNECTED, sender) if head == OPENS else NodeEvent(RECEIVE, sender, head)
        moves = world.moved(run, receiver, world.steps.event(event))
        return len(moves) == 1 and moves[0].run == run and (head != OPENS or not moves[0].branch.sends)

    def _is_silent(self, link: tuple[str, str], state: list[int]) -> bool:
        """Whether the client only takes note of what is delivered, before or after any timers of its own alike."""
        world, (sender, receiver) = self._world, link
        head = self._head(link, state)
        progress = world.progress.values[state[0]]
        run = world.runs.values[state[world.column[receiver]]]
        if head in (None, OPENS, CLOSES) or not run.living or run.hangs or progress.later:
            return False
        if world.script.befalls(progress.events, receiver) and not world.script.ends(progress.events, receiver):
            return False
        if any(
            self._may_come(other, receiver, state) for other, to in self._links if to == receiver and other != sender
        ):
            return False
        event = world.steps.event(NodeEvent(RECEIVE, sender, head))
        return self._commutes(receiver, state[world.column[receiver]], event)

    def _commutes(self, name: str, run: int, event: int) -> bool:
        """Whether an event of a client is silent, and leads to the same before and after all timers that may fire."""
        world = self._world
        moves = world.moved(run, name, event)
        before, after = world.runs.values[run], world.runs.values[moves[0].run]
        if len(moves) > 1 or moves[0].branch.sends or before.remembered != after.remembered:
            return False
        for at in world.firing(run, name):
            living = world.steps.livings[before.living]
            assert living is not None
            timer = world.steps.event(NodeEvent(TIMEOUT, "", living.timers[at][0]))
            if living.timers[at][0] not in [each for each, _ in self._timers(after.living)]:
                return False
            first, then = world.moved(run, name, timer), world.moved(moves[0].run, name, timer)
            if len(first) != len(then):
                return False
            for one, other in zip(first, then, strict=True):
                if one.branch.sends != other.branch.sends or not self._commutes(name, one.run, event):
                    return False
                if world.moved(one.run, name, event)[0].run != other.run:
                    return False
        return True

    def _timers(self, number: int) -> tuple[tuple[TimerName, Time], ...]:
        living = self._world.steps.livings[number]
        return () if living is None else living.timers

    # All that a client can do.

    def _acts_alone(self, name: str, state: list[int]) -> bool:
        """Whether something waits for the client on each link over which anything may come before it asks again (what
        others send comes behind it), no event is left that befalls the client, and no property sees a difference."""
        world = self._world
        run = world.runs.values[state[world.column[name]]]
        progress = world.progress.values[state[0]]
        if not run.living or run.hangs or progress.later or world.script.befalls(progress.events, name):
            return False
        for link in self._links:
            if link[1] == name and self._head(link, state) is None and world.awaits(state, name, link[0]):
                return False
        actions = list(self._actions(name, state))
        return bool(actions) and all(self._is_unseen(name, state, action) for action in actions)

    def _actions(self, name: str, state: list[int]) -> Iterator[Action]:
        for link in self._links:
            if link[1] == name and self._head(link, state) is not None:
                yield Action(DELIVER, *link)
        for timer in self._world.firing(state[self._world.column[name]], name):
            yield Action(FIRE, name, timer)

    def _is_unseen(self, name: str, state: list[int], action: Action) -> bool:
        """Whether no property sees a difference, and no connection is opened."""
        world = self._world
        column = world.column[name]
        before = world.runs.values[state[column]].remembered
        for _, turn in world.turns(action, lambda: list(state)):
            if world.runs.values[turn.state[column]].remembered != before:
                return False
            for link in self._links:
                if link[0] == name and self._openings(link, turn.state) > self._openings(link, state):
                    return False
        return True

    # Links.

    def _flights(self, link: tuple[str, str], state: list[int]) -> tuple[int, ...]:
        column, side = self._world.pair_column[link]
        flights: tuple[int, ...] = self._world.pairs.values[state[column]].flights[side]
        return flights

    def _head(self, link: tuple[str, str], state: list[int]) -> int | None:
        return next(iter(self._flights(link, state)), None)

    def _openings(self, link: tuple[str, str], state: list[int]) -> int:
        return self._flights(link, state).count(OPENS)

    def _may_come(self, sender: str, receiver: str, state: list[int]) -> bool:
        return bool(self._flights((sender, receiver), state)) or self._world.awaits(state, receiver, sender)
