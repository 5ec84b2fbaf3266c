"""Sets of offsets, kept as ranges: what is fetched and not finished, what is committed, what was delivered twice.

A range is half-open: ``first`` to ``end - 1``. A set of a million offsets without a hole costs as much as one of two.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from protocols.node_state import NodeState

Range = tuple[int, int]
"""``first`` and ``end`` of the offsets ``first`` to ``end - 1``; empty where ``end <= first``."""


class OffsetSet(NodeState):
    """A set of whole numbers as a sorted list of bounds: at each, membership changes. (So the bounds at even places
    begin a range, the others end one, and no two are equal.)

    A step costs a binary search and as many bounds as it swallows.
    """

    __slots__ = ("_bounds",)

    _bounds: list[int]

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        self._bounds = []
        if ranges:
            self.update(ranges)

    def add(self, first: int, end: int) -> int:
        """Add a range. Returns how many of its offsets are new."""
        if first >= end:
            return 0
        bounds = self._bounds
        if bounds and first >= bounds[-1]:
            # What comes in order, as nearly everything does.
            if first == bounds[-1]:
                bounds[-1] = end
            else:
                bounds += (first, end)
            return end - first
        begin, stop = bisect_left(bounds, first), bisect_right(bounds, end)
        new = end - first - self._held(first, end, begin, stop)
        bounds[begin:stop] = [first] * (begin % 2 == 0) + [end] * (stop % 2 == 0)
        return new

    def remove(self, first: int, end: int) -> int:
        """Take a range out. Returns how many of its offsets were in."""
        if first >= end:
            return 0
        bounds = self._bounds
        begin, stop = bisect_left(bounds, first), bisect_right(bounds, end)
        gone = self._held(first, end, begin, stop)
        bounds[begin:stop] = [first] * (begin % 2) + [end] * (stop % 2)
        return gone

    def update(self, ranges: Iterable[Range]) -> int:
        """Add all of these (another set's `ranges()`: the union). Returns how many offsets are new."""
        return sum(self.add(first, end) for first, end in ranges)

    def count(self, first: int, end: int) -> int:
        if first >= end or not self._bounds or first >= self._bounds[-1]:
            return 0
        return self._held(first, end, bisect_left(self._bounds, first), bisect_right(self._bounds, end))

    def next_missing(self, offset: int) -> int:
        """The first offset from here on that is not in the set."""
        at = bisect_right(self._bounds, offset)
        return self._bounds[at] if at % 2 else offset

    def last_missing(self, first: int, end: int) -> int | None:
        """The last offset of a range that is not in the set; None where all are in."""
        at = bisect_left(self._bounds, end)
        last = (self._bounds[at - 1] if at % 2 else end) - 1
        return last if last >= first else None

    def gaps(self, first: int, end: int) -> Iterator[Range]:
        """The ranges within this one that are not in the set, in order."""
        while (first := self.next_missing(first)) < end:
            at = bisect_right(self._bounds, first)
            stop = min(self._bounds[at], end) if at < len(self._bounds) else end
            yield first, stop
            first = stop

    def ranges(self) -> tuple[Range, ...]:
        """The ranges, in order: no two overlap or touch. Equal sets have equal ranges."""
        return tuple(zip(self._bounds[::2], self._bounds[1::2], strict=True))

    def first_range(self) -> Range:
        """The range of the smallest offsets; `IndexError` for an empty set."""
        return self._bounds[0], self._bounds[1]

    @property
    def first(self) -> int:
        """The smallest offset; `IndexError` for an empty set."""
        return self._bounds[0]

    @property
    def end(self) -> int:
        """One more than the largest offset; `IndexError` for an empty set."""
        return self._bounds[-1]

    def clear(self) -> None:
        self._bounds.clear()

    def __contains__(self, offset: int) -> bool:
        return bisect_right(self._bounds, offset) % 2 == 1

    def __len__(self) -> int:
        return sum(self._bounds[1::2]) - sum(self._bounds[::2])

    def __bool__(self) -> bool:
        return bool(self._bounds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OffsetSet) and self._bounds == other._bounds

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"OffsetSet({list(self.ranges())})"

    def _held(self, first: int, end: int, begin: int, stop: int) -> int:
        """Offsets of the range that are in; ``begin`` and ``stop``: the bounds from first to end, both included."""
        held = end * (stop % 2) - first * (begin % 2)
        for at in range(begin, stop):
            held += self._bounds[at] if at % 2 else -self._bounds[at]
        return held
