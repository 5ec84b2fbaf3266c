"""Many states as columns of numbers."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

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
