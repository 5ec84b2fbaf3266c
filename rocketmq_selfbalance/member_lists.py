"""Member lists of a thousand ids that a thousand clients get again and again: each is looked into once.

Brokers give the same object while a list does not change, so a list is known by its identity; what is computed from
it depends on its value alone.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from protocols.java import sorted_as_java

P = ParamSpec("P")
T = TypeVar("T")


def once_for_the_same(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """For pure functions: the value for the very same arguments (positional, by their identity) is kept. ``most``
    values are, then all are forgotten."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        known: dict[tuple[int, ...], tuple[object, T]] = {}

        @wraps(function)
        def found(*args: P.args, **kwargs: P.kwargs) -> T:
            key = tuple(map(id, args))
            value = known.get(key)
            if value is None:
                if len(known) >= most:
                    known.clear()
                # The arguments are kept as well: as long as they live nothing else has their identity.
                value = known[key] = args, function(*args, **kwargs)
            return value[1]

        return found

    return decorate


@lru_cache(maxsize=1024)
def first_of_its_value(value: T) -> T:
    """The same object for equal values, while it is remembered."""
    return value


@once_for_the_same(most=1024)
def in_order(members: tuple[str, ...]) -> tuple[str, ...]:
    """The ids sorted as Java does; equal lists, in whatever order, give the same object while it is remembered."""
    first: tuple[str, ...] = first_of_its_value(tuple(sorted_as_java(members)))
    return first
