"""Facts about one name belong together wherever they come from, unless they contradict each other: two folders that
show different members under one name hold the output of two clusters, and their groups stay apart."""

from typing import Any, Protocol, TypeVar


class Lot(Protocol):
    """The facts about one group, the places (folders) they come from, and the ids of members that they show."""

    facts: list[Any]
    places: list[str]
    ids: set[str]


L = TypeVar("L", bound=Lot)


def merge(of_name: list[L], lot: L) -> None:
    """The lot becomes part of the first one of its name that it does not contradict, or stands by itself."""
    for other in of_name:
        if not lot.ids or not other.ids or not lot.ids.isdisjoint(other.ids):
            other.facts += lot.facts
            other.places += lot.places
            other.ids |= lot.ids
            return
    of_name.append(lot)
