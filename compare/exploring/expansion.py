"""Many states as columns of numbers: those that a search has seen, and the successors of many at once.

What an action does depends on few columns of a state. So each action is carried out once for each combination of
values that it looks at, and its outcome is written to all states that have this combination. Nothing is left out: the
successors are those of `World.successors`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from protocols.engine.exploration import Action, World
from protocols.engine.exploration.states import DELIVER, FIRE, HAPPEN, Run

Rows: TypeAlias = NDArray[np.int32]
"""States, one a row."""

Ints: TypeAlias = NDArray[np.int64]


class Table:
    """A number for each of the values that a world has numbered so far, asked for once."""

    def __init__(self, make: Callable[[int], int]) -> None:
        self._make = make
        self._values = np.zeros(0, np.int64)

    def of(self, numbers: Rows) -> Ints:
        """Of each of these."""
        most = int(numbers.max(initial=-1)) + 1
        if most > len(self._values):
            more = [self._make(number) for number in range(len(self._values), most)]
            self._values = np.concatenate([self._values, np.array(more, np.int64)])
        return self._values[numbers]


def combinations(parts: Rows) -> tuple[Ints, Ints]:
    """Where each combination of values comes first in these rows, and for each row which combination it has."""
    which = np.zeros(len(parts), np.int64)
    firsts = np.zeros(min(len(parts), 1), np.int64)
    for column in range(parts.shape[1]):
        values, inner = np.unique(parts[:, column], return_inverse=True)
        if len(values) > 1:
            _, firsts, which = np.unique(which * len(values) + inner, return_index=True, return_inverse=True)
    return firsts, which


class Firings:
    """States apart from how often timers may still fire, and how often that is, process by process.

    Whatever can happen in a state can happen, and leads to the same, in one that differs from it only by more firings
    left: a state is superfluous beside such a one (it is *covered*).
    """

    def __init__(self, world: World) -> None:
        self._of_processes = slice(1, 1 + len(world.processes))
        alike: dict[Run, int] = {}
        runs = world.runs.values
        self._alike = Table(lambda number: alike.setdefault(runs[number]._replace(firings=0), len(alike)))
        self._left = Table(lambda number: runs[number].firings)

    def apart(self, rows: Rows) -> tuple[Rows, Ints]:
        """The states without their firings, and these."""
        keys = rows.copy()
        processes = rows[:, self._of_processes]
        keys[:, self._of_processes] = self._alike.of(processes)
        return keys, self._left.of(processes)


class Visited:
    """The states seen so far, found by a hash of all columns and compared in full. ``firings``: leave out those that
    others cover."""

    def __init__(self, width: int, firings: Firings | None = None) -> None:
        self.rows: Rows = np.zeros((1024, width), np.int32)
        self.parents = np.zeros(1024, np.int32)
        self.actions = np.zeros(1024, np.int32)
        self.count = 0
        self._firings = firings
        generator = np.random.Generator(np.random.PCG64(width))
        self._factors = generator.integers(1, 1 << 63, width, np.uint64) * np.uint64(2) + np.uint64(1)
        self._runs: list[tuple[NDArray[np.uint64], NDArray[np.int32]]] = []

    def add(self, rows: Rows, parents: NDArray[np.int32], actions: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Add those that are new, each once; which of them were."""
        keys, left = self._apart(rows)
        hashes = self._hashes(keys)
        order = np.lexsort((*left.T[::-1], -left.sum(axis=1), hashes))
        hashes, keys, left = hashes[order], keys[order], left[order]
        same = hashes[1:] == hashes[:-1]
        self._check(keys[1:][same], keys[:-1][same])
        kept = np.flatnonzero(np.append(True, ~(same & (left[1:] == left[:-1]).all(axis=1)))[: len(order)])
        kept = kept[~_covered(hashes[kept], left[kept])]
        kept = kept[~self._known(hashes[kept], keys[kept], left[kept])]
        was_new = np.zeros(len(order), bool)
        if len(kept):
            # In the order in which they were found.
            by_place = np.argsort(order[kept], kind="stable")
            found = order[kept[by_place]]
            self._append(rows[found], parents[found], actions[found])
            places = np.empty(len(kept), np.int32)
            places[by_place] = np.arange(self.count - len(kept), self.count, dtype=np.int32)
            self._insert(hashes[kept], places)
            was_new[found] = True
        return was_new

    def _apart(self, rows: Rows) -> tuple[Rows, Ints]:
        return (rows, np.zeros((len(rows), 0), np.int64)) if self._firings is None else self._firings.apart(rows)

    def _known(self, hashes: NDArray[np.uint64], keys: Rows, left: Ints) -> NDArray[np.bool_]:
        """Which of these states, each once, one that was seen before equals or covers."""
        known = np.zeros(len(hashes), bool)
        for run, places in self._runs:
            at = np.searchsorted(run, hashes)
            waiting = np.flatnonzero(~known)
            while len(waiting := waiting[at[waiting] < len(run)]):
                waiting = waiting[run[at[waiting]] == hashes[waiting]]
                others, theirs = self._apart(self.rows[places[at[waiting]]])
                self._check(keys[waiting], others)
                known[waiting] = (theirs >= left[waiting]).all(axis=1)
                waiting = waiting[~known[waiting]]
                at[waiting] += 1
        return known

    def story(self, place: int) -> list[int]:
        """The numbers of the actions that lead from the first state of all to the one at this place."""
        actions = []
        while place:
            actions.append(int(self.actions[place]))
            place = int(self.parents[place])
        return actions[::-1]

    def _hashes(self, rows: Rows) -> NDArray[np.uint64]:
        hashes = np.zeros(len(rows), np.uint64)
        for column, factor in enumerate(self._factors):
            hashes += (rows[:, column].astype(np.uint64) + np.uint64(1)) * factor
            hashes ^= hashes >> np.uint64(29)
        return hashes

    def _check(self, rows: Rows, others: Rows) -> None:
        if not np.array_equal(rows, others):
            raise AssertionError("two states have one hash: search again with other factors")

    def _append(self, rows: Rows, parents: NDArray[np.int32], actions: NDArray[np.int32]) -> None:
        needed = self.count + len(rows)
        if needed > len(self.rows):
            size = max(needed, len(self.rows) + len(self.rows) // 2)
            self.rows = np.resize(self.rows, (size, self.rows.shape[1]))
            self.parents, self.actions = np.resize(self.parents, size), np.resize(self.actions, size)
        self.rows[self.count : needed] = rows
        self.parents[self.count : needed] = parents
        self.actions[self.count : needed] = actions
        self.count = needed

    def _insert(self, hashes: NDArray[np.uint64], places: NDArray[np.int32]) -> None:
        """Runs of hashes, each sorted, the longest first; those of like lengths are merged."""
        while self._runs and len(self._runs[-1][0]) < 2 * len(hashes):
            other, theirs = self._runs.pop()
            hashes, places = np.concatenate([other, hashes]), np.concatenate([theirs, places])
            order = np.argsort(hashes, kind="stable")
            hashes, places = hashes[order], places[order]
        self._runs.append((hashes, places))


def _covered(hashes: NDArray[np.uint64], left: Ints) -> NDArray[np.bool_]:
    """Which states of equal hashes, those with most firings first, an earlier one covers."""
    covered = np.zeros(len(hashes), bool)
    for distance in range(1, len(hashes)):
        alike = np.flatnonzero(hashes[distance:] == hashes[:-distance])
        if not len(alike):
            break
        covered[alike + distance] |= (left[alike] >= left[alike + distance]).all(axis=1)
    return covered


Piece: TypeAlias = tuple[Rows, Ints, NDArray[np.int32]]
"""States, the places of those that they follow from, numbers of the actions."""


class Outcome(NamedTuple):
    """What an action does to states that are equal in some columns: for each way to choose the action's number and the
    columns' values afterwards."""

    actions: tuple[int, ...]
    after: tuple[tuple[int, ...], ...]


class _Seen(list[int]):
    """A state that remembers which of its columns were looked at or written."""

    def __init__(self, state: Sequence[int]) -> None:
        super().__init__(state)
        self.columns: set[int] = set()

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        self.columns.add(at)
        return list.__getitem__(self, at)

    def __setitem__(self, at, value):  # type: ignore[no-untyped-def]
        self.columns.add(at)
        list.__setitem__(self, at, value)


class Expansion:
    """The successors of many states at once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.actions: list[Action] = []
        """Those that were taken, with their choices, by number."""
        self._numbers: dict[Action, int] = {}
        self._looks_at: dict[tuple[Action, int, int], tuple[int, ...]] = {}
        self._outcomes: dict[tuple[Action, tuple[int, ...]], dict[tuple[int, ...], Outcome]] = {}
        self._flying = Table(lambda number: self._flights(number))
        self._hanging = Table(lambda number: int(world.runs.values[number].hangs))

    def successors(self, rows: Rows, only: str | tuple[str, str] | None = None) -> Iterator[Piece]:
        """Of these states. ``only``: by actions of this process alone, or by deliveries on this link (sender,
        receiver)."""
        for action, own, enabled in self._enabled(rows, only):
            yield from self._after(rows, action, own, enabled)

    def _flights(self, number: int) -> int:
        out, back = self.world.pairs.values[number].flights
        return bool(out) + 2 * bool(back)

    def _enabled(
        self, rows: Rows, only: str | tuple[str, str] | None
    ) -> Iterator[tuple[Action, tuple[int, int], Ints]]:
        """Actions, the two columns that they look at first, and the places of states in which they can happen."""
        world = self.world
        for (sender, receiver), (column, side) in world.pair_column.items():
            if only not in (None, receiver, (sender, receiver)):
                continue
            there = self._flying.of(rows[:, column]) & (1 << side) != 0
            there &= self._hanging.of(rows[:, world.column[receiver]]) == 0
            places = np.flatnonzero(there)
            if len(places):
                yield Action(DELIVER, sender, receiver), (column, world.column[receiver]), places
        if isinstance(only, tuple):
            return
        for name in world.processes if only is None else (only,):
            column = world.column[name]
            values, which = np.unique(rows[:, column], return_inverse=True)
            firing: dict[int, list[int]] = {}
            for at, value in enumerate(values.tolist()):
                for timer in world.firing(value, name):
                    firing.setdefault(timer, []).append(at)
            for timer in sorted(firing):
                is_there = np.zeros(len(values), bool)
                is_there[firing[timer]] = True
                yield Action(FIRE, name, timer), (column, column), np.flatnonzero(is_there[which])
        if only is not None:
            return
        values, which = np.unique(rows[:, 0], return_inverse=True)
        for at, value in enumerate(values.tolist()):
            progress = world.progress.values[value]
            left = [0] if progress.events < len(world.script.events) else []
            for what in [*left, *range(1, 1 + len(progress.later))]:
                yield Action(HAPPEN, "", what), (0, 0), np.flatnonzero(which == at)

    def _after(self, rows: Rows, action: Action, own: tuple[int, int], places: Ints) -> Iterator[Piece]:
        """The states after an action, by the columns that it looks at."""
        first, second = rows[places, own[0]].astype(np.int64), rows[places, own[1]].astype(np.int64)
        values, firsts, which = np.unique(first << 32 | second, return_index=True, return_inverse=True)
        by_columns: dict[tuple[int, ...], list[int]] = {}
        for at, value in enumerate(values.tolist()):
            key = action, value >> 32, value & 0xFFFFFFFF
            columns = self._looks_at.get(key)
            if columns is None:
                columns = self._looked_at(action, rows[places[firsts[at]]].tolist(), set(own))
                self._looks_at[key] = columns
            by_columns.setdefault(columns, []).append(at)
        for columns, groups in by_columns.items():
            if len(by_columns) == 1:
                chosen = places
            else:
                is_there = np.zeros(len(values), bool)
                is_there[groups] = True
                chosen = places[is_there[which]]
            waiting = [(columns, chosen)]
            while waiting:
                yield from self._carried_out(rows, action, *waiting.pop(), waiting, own)

    def _looked_at(self, action: Action, state: Sequence[int], own: set[int]) -> tuple[int, ...]:
        columns = set(own)
        for _, turn in self.world.turns(action, lambda: _Seen(state)):
            columns |= turn.state.columns  # type: ignore[attr-defined]
        return tuple(sorted(columns))

    def _carried_out(
        self,
        rows: Rows,
        action: Action,
        columns: tuple[int, ...],
        places: Ints,
        waiting: list[tuple[tuple[int, ...], Ints]],
        own: tuple[int, int],
    ) -> Iterator[Piece]:
        """Carry the action out once for each combination of values in these columns; where it looks at others besides,
        these states wait."""
        parts = rows[places][:, columns]
        firsts, which = combinations(parts)
        known = self._outcomes.setdefault((action, columns), {})
        outcomes: list[Outcome | None] = []
        for at, values in zip(firsts.tolist(), map(tuple, parts[firsts].tolist()), strict=True):
            outcome = known.get(values)
            if outcome is None:
                state = rows[places[at]].tolist()
                looked_at = self._looked_at(action, state, set(columns))
                if looked_at != columns:
                    self._looks_at[action, state[own[0]], state[own[1]]] = looked_at
                    waiting.append((looked_at, places[which == len(outcomes)]))
                    outcomes.append(None)
                    continue
                outcome = known[values] = self._outcome(action, columns, state)
            outcomes.append(outcome)
        most = max((len(each.actions) for each in outcomes if each is not None), default=0)
        for branch in range(most):
            taken = [each if each is not None and len(each.actions) > branch else None for each in outcomes]
            has = np.array([each is not None for each in taken])
            codes = np.array([0 if each is None else each.actions[branch] for each in taken], np.int32)
            nothing = (0,) * len(columns)
            after = [nothing if each is None else each.after[branch] for each in taken]
            mask = has[which]
            of, kept = (which, places) if has.all() else (which[mask], places[mask])
            made = rows[kept]
            made[:, columns] = np.array(after, np.int32).reshape(len(taken), len(columns))[of]
            yield made, kept, codes[of]

    def _outcome(self, action: Action, columns: tuple[int, ...], state: Sequence[int]) -> Outcome:
        numbers, after = [], []
        for chosen, turn in self.world.turns(action, lambda: list(state)):
            number = self._numbers.get(chosen)
            if number is None:
                number = self._numbers[chosen] = len(self.actions)
                self.actions.append(chosen)
            numbers.append(number)
            after.append(tuple([turn.state[column] for column in columns]))
        return Outcome(tuple(numbers), tuple(after))
