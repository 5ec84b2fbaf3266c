"""Facts about one name belong together wherever they come from, unless they contradict each other: two folders that
show different members under one name hold the output of two clusters, and their groups stay apart."""

from typing import Any, Protocol, TypeVar


class Mergeable(Protocol):
    """The facts about one group, the places (folders) they come from, and the ids of members that they show."""

    facts: list[Any]
    places: list[str]
    ids: set[str]


L = TypeVar("L", bound=Mergeable)


def merge(of_name: list[L], given: L) -> None:
    """What is given becomes part of the first one of its name that it does not contradict, or stands by itself."""
    for other in of_name:
        if not given.ids or not other.ids or not given.ids.isdisjoint(other.ids):
            other.facts += given.facts
            other.places += given.places
            other.ids |= given.ids
            return
    of_name.append(given)
