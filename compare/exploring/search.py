"""All states that can be reached, level by level: whole levels at once, as columns of numbers.

What an action does depends on few columns of a state. So each action is carried out once for each combination of
values that it looks at, and its outcome is written to all states that have this combination. Nothing is left out: the
states are those of `World.successors`, and the first one of a level that violates a property has a shortest story.
"""

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from protocols.engine.exploration import Action, State, World
from protocols.engine.exploration.connections import OPENS
from protocols.engine.exploration.states import DELIVER, FIRE, HAPPEN

Rows = NDArray[np.int32]
"""States, one a row."""

Ints = NDArray[np.int64]

Piece = tuple[Rows, Ints, NDArray[np.int32]]
"""States, the places of those that they follow from, numbers of the actions."""

CHUNK = 1 << 17
"""So many states are expanded at once."""


class Limits(NamedTuple):
    """Where a search ends before it has seen everything; None: nowhere."""

    depth: int | None = None
    states: int | None = None
    seconds: float | None = None


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

    def __getitem__(self, at):  # type: ignore[no-untyped-def, override]
        self.columns.add(at)
        return list.__getitem__(self, at)

    def __setitem__(self, at, value):  # type: ignore[no-untyped-def, override]
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
        self._flying = _Table(lambda number: self._flights(number))
        self._hanging = _Table(lambda number: int(world.runs.values[number].hangs))

    def successors(self, rows: Rows, only: str | None = None) -> Iterator[Piece]:
        """Of these states. ``only``: by actions of this process alone."""
        for action, own, enabled in self._enabled(rows, only):
            yield from self._after(rows, action, own, enabled)

    def _flights(self, number: int) -> int:
        out, back = self.world.pairs.values[number].flights
        return bool(out) + 2 * bool(back)

    def _enabled(self, rows: Rows, only: str | None) -> Iterator[tuple[Action, tuple[int, int], Ints]]:
        """Actions, the two columns that they look at first, and the places of states in which they can happen."""
        world = self.world
        for (sender, receiver), (column, side) in world.pair_column.items():
            if only not in (None, receiver):
                continue
            there = self._flying.of(rows[:, column]) & (1 << side) != 0
            there &= self._hanging.of(rows[:, world.column[receiver]]) == 0
            places = np.flatnonzero(there)
            if len(places):
                yield Action(DELIVER, sender, receiver), (column, world.column[receiver]), places
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

    def _after(
        self, rows: Rows, action: Action, own: tuple[int, int], places: Ints
    ) -> Iterator[Piece]:
        """The states after an action, by the columns that it looks at."""
        world = self.world
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
        del world

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
            has = np.array([each is not None and len(each.actions) > branch for each in outcomes])
            codes = np.array([each.actions[branch] if ok else 0 for each, ok in zip(outcomes, has, strict=True)], np.int32)  # type: ignore[union-attr]
            nothing = (0,) * len(columns)
            after = np.array(
                [each.after[branch] if ok else nothing for each, ok in zip(outcomes, has, strict=True)],  # type: ignore[union-attr]
                np.int32,
            ).reshape(len(outcomes), len(columns))
            if has.all():
                of, kept = which, places
            else:
                mask = has[which]
                of, kept = which[mask], places[mask]
            made = rows[kept]
            made[:, columns] = after[of]
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


class _Table:
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


class Visited:
    """The states seen so far, found by a hash of all columns and compared in full."""

    def __init__(self, width: int) -> None:
        self.rows: Rows = np.zeros((1024, width), np.int32)
        self.parents = np.zeros(1024, np.int32)
        self.actions = np.zeros(1024, np.int32)
        self.count = 0
        generator = np.random.Generator(np.random.PCG64(width))
        self._factors = generator.integers(1, 1 << 63, width, np.uint64) * np.uint64(2) + np.uint64(1)
        self._runs: list[tuple[NDArray[np.uint64], NDArray[np.int32]]] = []

    def add(self, rows: Rows, parents: NDArray[np.int32], actions: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Add those that are new, each once; which of them were."""
        hashes = self._hashes(rows)
        order = np.argsort(hashes, kind="stable")
        hashes, rows = hashes[order], rows[order]
        is_new = np.ones(len(order), bool)
        is_new[1:] = hashes[1:] != hashes[:-1]
        repeated = np.flatnonzero(~is_new)
        if len(repeated):
            leaders = np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))
            self._check(rows[repeated], rows[leaders[repeated]])
        for known, places in self._runs:
            at = np.searchsorted(known, hashes)
            at[at == len(known)] = 0
            found = np.flatnonzero((known[at] == hashes) & is_new)
            if len(found):
                self._check(rows[found], self.rows[places[at[found]]])
                is_new[found] = False
        kept = np.flatnonzero(is_new)
        if len(kept):
            # In the order in which they were found.
            by_place = np.argsort(order[kept], kind="stable")
            self._append(rows[kept[by_place]], parents[order[kept[by_place]]], actions[order[kept[by_place]]])
            places = np.empty(len(kept), np.int32)
            places[by_place] = np.arange(self.count - len(kept), self.count, dtype=np.int32)
            self._insert(hashes[kept], places)
        was_new = np.zeros(len(order), bool)
        was_new[order[kept]] = True
        return was_new

    def story(self, place: int) -> tuple[list[int], State]:
        """The first state of all, and the numbers of the actions that lead to the one at this place."""
        actions = []
        while place:
            actions.append(int(self.actions[place]))
            place = int(self.parents[place])
        return actions[::-1], tuple(self.rows[0].tolist())

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
            self.rows = np.concatenate([self.rows[: self.count], np.zeros((size - self.count, self.rows.shape[1]), np.int32)])
            self.parents = np.concatenate([self.parents[: self.count], np.zeros(size - self.count, np.int32)])
            self.actions = np.concatenate([self.actions[: self.count], np.zeros(size - self.count, np.int32)])
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


class Found(NamedTuple):
    """The outcome of a search. ``violations``: place of each property that did not hold to its shortest story."""

    states: int
    transitions: int
    depth: int
    complete: bool
    seconds: float
    violations: dict[int, list[Action]]


def search(
    world: World,
    first: State,
    limits: Limits = Limits(),  # noqa: B008
    on_level: Callable[[int, int], None] | None = None,
    *,
    reduced: bool = False,
) -> Found:
    """Search all states from the first one on until there is none left, every property is violated or a limit is hit.

    ``reduced``: leave orders out that make no difference to any property (`Independence`); stories may be longer then.
    """
    began = monotonic()
    expansion = Expansion(world)
    visited = Visited(world.width)
    visited.add(np.array([first], np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32))
    independence = Independence(world) if reduced else None
    checks = [_Check(world, at) for at in range(len(world.watches))]
    violations: dict[int, list[Action]] = {}

    def check(since: int) -> None:
        rows = visited.rows[since : visited.count]
        for at, each in enumerate(checks):
            if at not in violations and (place := each.first(rows)) is not None:
                numbers, _ = visited.story(since + place)
                violations[at] = [expansion.actions[number] for number in numbers]

    check(0)
    begin, depth, transitions, complete = 0, 0, 0, True
    while begin < visited.count and len(violations) < max(len(checks), 1):
        if limits.depth is not None and depth >= limits.depth:
            complete = False
            break
        end = visited.count
        for at in range(begin, end, CHUNK):
            rows = visited.rows[at : min(at + CHUNK, end)].copy()
            full = np.arange(len(rows))
            if independence is not None:
                alone = independence.alone(rows)
                pieces = [
                    (made, places[of], numbers)
                    for column, name in enumerate(world.processes)
                    if len(places := np.flatnonzero(alone == column))
                    for made, of, numbers in expansion.successors(rows[places], name)
                ]
                is_new = _added(visited, pieces, at)
                transitions += len(is_new)
                leads_on = np.zeros(len(rows), bool)
                if pieces:
                    leads_on[np.concatenate([piece[1] for piece in pieces])[is_new]] = True
                full = np.flatnonzero(~leads_on)
            pieces = [(made, full[of], numbers) for made, of, numbers in expansion.successors(rows[full])]
            transitions += len(_added(visited, pieces, at))
            is_late = limits.seconds is not None and monotonic() - began > limits.seconds
            if is_late or (limits.states is not None and visited.count >= limits.states):
                complete = False
                break
        check(end)
        begin, depth = end, depth + 1
        if on_level is not None:
            on_level(depth, visited.count)
        if not complete:
            break
    complete = complete and begin >= visited.count
    return Found(visited.count, transitions, depth, complete, monotonic() - began, violations)


def _added(visited: Visited, pieces: Sequence[Piece], since: int) -> NDArray[np.bool_]:
    """Add all these states, which follow from those that begin at ``since``; which of them are new."""
    if not pieces:
        return np.zeros(0, bool)
    parents = np.concatenate([piece[1] for piece in pieces]).astype(np.int32) + np.int32(since)
    numbers = np.concatenate([piece[2] for piece in pieces])
    return visited.add(np.concatenate([piece[0] for piece in pieces]), parents, numbers)


class Independence:
    """States in which one client may act alone, because the order of its actions and all others' makes no difference.

    So it is where something waits for the client on each link over which anything may come (what others send comes
    behind it), no event is left that befalls the client, and no property sees any difference in what it can do now.
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
        for column, side in self._columns[name]:
            pair = world.pairs.values[state[column]]
            if not pair.flights[side]:
                return False
        return all(self._is_unseen(name, state, action) for action in self._actions(name, state))

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


class _Check:
    """One property, asked once for each combination of what it remembers."""

    def __init__(self, world: World, at: int) -> None:
        self._world, self._at = world, at
        self._remembered = _Table(self._number)
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
