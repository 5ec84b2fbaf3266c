"""Which orders make no difference (a partial-order reduction by persistent sets)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from compare.exploring.columns import Rows, combinations
from protocols.engine.exploration import Action, World
from protocols.engine.exploration.connections import OPENS
from protocols.engine.exploration.states import DELIVER, FIRE


class Independence:
    """States in which one client may act alone, because the order of its actions and all others' makes no difference.

    So it is where something waits for the client on each link over which anything may come before it asks again (what
    others send comes behind it), no event is left that befalls the client, and no property sees any difference in what it can do now.
    Its actions do not stop others' then, nor theirs its, and both orders lead to the same state. A state in which
    that leads to no new state is expanded in full (so nothing is put off for ever).
    """

    def __init__(self, world: World) -> None:
        self._world = world
        servers = {name for name in world.processes if not self._is_client(name)}
        self._columns = {
            name: [world.pair_column[peer, name] for peer in world.processes if (peer, name) in world.pair_column]
            for name in world.processes
            if name not in servers
        }
        self._known: dict[str, dict[tuple[int, ...], bool]] = {name: {} for name in self._columns}

    def _is_client(self, name: str) -> bool:
        return name in self._world.clients

    def alone(self, rows: Rows) -> NDArray[np.int64]:
        """For each state the place of the process that may act alone; -1: none."""
        world = self._world
        alone = np.full(len(rows), -1, np.int64)
        for place, name in enumerate(world.processes):
            if name not in self._columns:
                continue
            columns = [0, world.column[name], *(column for column, _ in self._columns[name])]
            open_ = np.flatnonzero(alone == -1)
            parts = rows[open_][:, columns]
            firsts, which = combinations(parts)
            known = self._known[name]
            is_alone = []
            for at, values in zip(firsts.tolist(), map(tuple, parts[firsts].tolist()), strict=True):
                answer = known.get(values)
                if answer is None:
                    answer = known[values] = self._may(name, rows[open_[at]].tolist())
                is_alone.append(answer)
            alone[open_[np.array(is_alone, bool)[which]]] = place
        return alone

    def _may(self, name: str, state: list[int]) -> bool:
        world = self._world
        run = world.runs.values[state[world.column[name]]]
        progress = world.progress.values[state[0]]
        if not run.living or run.hangs or progress.later or world.script.befalls(progress.events, name):
            return False
        for (peer, receiver), (column, side) in world.pair_column.items():
            is_empty = receiver == name and not world.pairs.values[state[column]].flights[side]
            if is_empty and world.awaits(state, name, peer):
                return False
        actions = list(self._actions(name, state))
        return bool(actions) and all(self._is_unseen(name, state, action) for action in actions)

    def _actions(self, name: str, state: list[int]) -> Iterator[Action]:
        world = self._world
        for (sender, receiver), (column, side) in world.pair_column.items():
            if receiver == name and world.pairs.values[state[column]].flights[side]:
                yield Action(DELIVER, sender, name)
        for timer in world.firing(state[world.column[name]], name):
            yield Action(FIRE, name, timer)

    def _is_unseen(self, name: str, state: list[int], action: Action) -> bool:
        """Whether no property sees a difference, and no connection is opened."""
        world = self._world
        column = world.column[name]
        before = world.runs.values[state[column]].remembered
        for _, turn in world.turns(action, lambda: list(state)):
            if world.runs.values[turn.state[column]].remembered != before:
                return False
            for of, side in self._columns[name]:
                was, is_ = world.pairs.values[state[of]], world.pairs.values[turn.state[of]]
                if is_.flights[1 - side].count(OPENS) > was.flights[1 - side].count(OPENS):
                    return False
        return True
