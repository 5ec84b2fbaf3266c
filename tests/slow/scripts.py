"""A script that is followed on the real clock."""

import time
from collections.abc import Callable, Iterable
from typing import TypeAlias

Moment: TypeAlias = tuple[float, Callable[[], None]]
"""Milliseconds since the script's beginning, and what is done then."""


def follow(began: float, moments: Iterable[Moment]) -> None:
    """Do everything at its time. ``began``: when the script begins, in seconds since the epoch."""
    for at, act in sorted(moments, key=lambda each: each[0]):
        time.sleep(max(0.0, began + at / 1000 - time.time()))
        act()
