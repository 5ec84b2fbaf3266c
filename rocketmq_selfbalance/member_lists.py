"""Member lists of a thousand ids that a thousand clients get again and again: each is looked into once.

Brokers give the same object while a list does not change, so a list is known by its identity; what is computed from
it depends on its value alone.
"""

from functools import lru_cache
from typing import Any

from protocols.java import sorted_as_java


class Same:
    """Stands for an object by its identity, in the keys of caches; the cache keeps the object alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


def in_order(members: tuple[str, ...]) -> tuple[str, ...]:
    """The ids sorted as Java does; equal lists, in whatever order, give the same object while it is remembered."""
    return _in_order(Same(members))


@lru_cache(maxsize=1024)
def _in_order(members: Same) -> tuple[str, ...]:
    return _first_of_its_value(tuple(sorted_as_java(members.value)))


@lru_cache(maxsize=1024)
def _first_of_its_value(members: tuple[str, ...]) -> tuple[str, ...]:
    return members
