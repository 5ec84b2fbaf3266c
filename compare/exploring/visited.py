"""The states that a search has seen."""

import numpy as np
from numpy.typing import NDArray

from compare.exploring.columns import Rows


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
