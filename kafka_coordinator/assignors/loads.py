"""Members of a sticky group by load, then id ("C-order", spec 5.7), as integers that compare in that order."""

from collections.abc import Iterable, Sequence


class Loads:
    """Loads of the members 0, 1, ... whose numbers follow the order of their ids.

    ``key[m]`` is m's load shifted left by ``shift``, plus m: the least key belongs to the first in C-order.
    """

    __slots__ = ("key", "mask", "one", "shift")

    def __init__(self, sizes: Sequence[int]) -> None:
        self.shift = len(sizes).bit_length()
        self.mask = (1 << self.shift) - 1
        self.one = 1 << self.shift
        self.key = [size << self.shift | member for member, size in enumerate(sizes)]

    def of(self, member: int) -> int:
        return self.key[member] >> self.shift

    def spread_of(self, members: Iterable[int]) -> int:
        """Largest minus smallest load of these members; 0 where there are none."""
        keys = [self.key[member] for member in members]
        return (max(keys) >> self.shift) - (min(keys) >> self.shift) if keys else 0

    def imbalance(self, members: Iterable[int]) -> int:
        """Sum over all pairs of these members of the difference of their loads."""
        ascending = sorted(self.key[member] >> self.shift for member in members)
        highest = len(ascending) - 1
        return sum(load * (2 * place - highest) for place, load in enumerate(ascending))
