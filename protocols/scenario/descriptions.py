"""Words that descriptions of events and results have in common."""

from collections.abc import Iterable


def listed(names: Iterable[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
