"""Records that are made so often that a half of their cost is worth a line; records changed by their fields' names."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

D = TypeVar("D", bound="DataclassInstance")
R = TypeVar("R", bound=tuple[object, ...])


def quickly_made(kind: type[R]) -> Callable[[tuple[object, ...]], R]:
    """What makes a record of a tuple of all its fields, in order: the same as ``kind(*fields)``, twice as fast, and
    nobody checks the fields."""
    return partial(tuple.__new__, kind)


def changed(record: D, changes: Mapping[str, object]) -> D:
    """The same with these values in these fields."""
    return replace(record, **changes)
