"""Measurements beside their peers and budgets: `make bench`; README.md holds the figures."""

import sys
from collections.abc import Callable, Mapping


def run_parts(parts: Mapping[str, Callable[[], object]]) -> None:
    """Every part of a program, or those that the command line names."""
    chosen = sys.argv[1:] or list(parts)
    unknown = [name for name in chosen if name not in parts]
    if unknown:
        sys.exit(f"unknown part {unknown[0]!r}, expected one of {', '.join(parts)}")
    for name in chosen:
        print(f"\n{name}\n", flush=True)
        parts[name]()
