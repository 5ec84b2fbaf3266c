"""Counts of things that members name; what is counted down to nothing is forgotten."""

from typing import TypeAlias, TypeVar

T = TypeVar("T")

Counts: TypeAlias = dict[T, int]


def count(counts: dict[T, int], what: T, by: int) -> None:
    """Count ``what`` up or down."""
    left = counts.get(what, 0) + by
    if left:
        counts[what] = left
    else:
        del counts[what]
