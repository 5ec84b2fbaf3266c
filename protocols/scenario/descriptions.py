"""Words that descriptions of events and results have in common."""

from collections.abc import Iterable, Sequence


def listed(names: Iterable[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


MOST_NAMES = 6
"""Lists of more names, or ranges of them, end in "and 3 more"."""
LEAST_RANGE = 4
"""So many names that are numbered one after the other make a range: "c1 to c4"."""


def listed_members(names: Sequence[str]) -> str:
    """Members in few words: "c1, c2 and c3", "c1 to c8", "c1 to c4 and c9", "a, b, c, d, e and 7 more"."""
    runs = _runs(names)
    if len(runs) <= MOST_NAMES:
        return listed(map(_run_text, runs))
    shown = runs[: MOST_NAMES - 1]
    return listed([*map(_run_text, shown), f"{len(names) - sum(map(len, shown))} more"])


def _runs(names: Iterable[str]) -> list[list[str]]:
    """The names in their order; those numbered one after the other together, where they are enough for a range."""
    runs: list[list[str]] = []
    for name in names:
        if runs and name == _next_name(runs[-1][-1]):
            runs[-1].append(name)
        else:
            runs.append([name])
    return [part for run in runs for part in ([run] if len(run) >= LEAST_RANGE else [[name] for name in run])]


def _run_text(run: Sequence[str]) -> str:
    return run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}"


def _next_name(name: str) -> str | None:
    """The name with the next number at its end, as wide as this one where it begins with a zero."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    if not 0 < len(digits) < 10:
        return None
    return f"{stem}{int(digits) + 1:0{len(digits) if digits[0] == '0' else 0}d}"
