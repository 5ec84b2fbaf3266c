"""Records that are made so often that a half of their cost is worth a line."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

R = TypeVar("R", bound=tuple[object, ...])


def quickly_made(kind: type[R]) -> Callable[[tuple[object, ...]], R]:
    """What makes a record of a tuple of all its fields, in order: the same as ``kind(*fields)``, twice as fast, and
    nobody checks the fields."""
    return partial(tuple.__new__, kind)
