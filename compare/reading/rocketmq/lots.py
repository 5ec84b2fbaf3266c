"""Sort facts into lots, one per group: find the group that a fact is about, and the routes of its topics.

A group's name is, in this order: what the text says (completed where the view cuts it), ``NAME=FILE``, the only group
that the same file names, the only one that its folder's files name (where the file is called like a view), what file
or folder are called. Facts about one name belong together wherever they come from, unless they contradict each other:
two folders that show different members under one name hold the output of two clusters.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from compare.reading.rocketmq.cut import FullNames
from compare.reading.rocketmq.facts import (
    Answered,
    BrokerLag,
    Connections,
    Fact,
    GroupFact,
    GroupLine,
    Progress,
    Route,
    Running,
)
from compare.reading.rocketmq.names import folder_of, is_called_like_view, stand_in


@dataclass(slots=True)
class Lot:
    """The facts about one group in the order of their sources, and the places (folders) they come from."""

    group: str
    facts: list[GroupFact]
    places: list[str]
    ids: set[str] = field(default_factory=set)


def lots(facts: Iterable[Fact]) -> tuple[list[Lot], list[Route]]:
    """The lots by first mention, and the routes."""
    routes: list[Route] = []
    about: list[GroupFact] = []
    for fact in facts:
        if isinstance(fact, Route):
            routes.append(fact)
        else:
            about.append(fact)
    by_name: dict[str, dict[str, list[GroupFact]]] = {}
    for fact, name in zip(about, _names(about), strict=True):
        by_name.setdefault(name, {}).setdefault(folder_of(fact.source), []).append(fact)
    found: list[Lot] = []
    for name, by_place in by_name.items():
        of_name: list[Lot] = []
        for place, told in by_place.items():
            _merge(of_name, Lot(name, told, [place], set(_ids(told))))
        found += of_name
    return found, routes


def _merge(of_name: list[Lot], lot: Lot) -> None:
    for other in of_name:
        if not lot.ids or not other.ids or not lot.ids.isdisjoint(other.ids):
            other.facts += lot.facts
            other.places += lot.places
            other.ids |= lot.ids
            return
    of_name.append(lot)


def _ids(facts: Iterable[GroupFact]) -> Iterator[str]:
    for fact in facts:
        if isinstance(fact, Connections):
            yield from (connection.client_id for connection in fact.connections)
        elif isinstance(fact, Answered):
            yield from (client_id for _, client_id in fact.clients)
        elif isinstance(fact, Running):
            yield fact.client_id


def _names(facts: list[GroupFact]) -> list[str]:
    named = _named(facts)
    in_source: dict[str, set[str]] = {}
    in_folder: dict[str, set[str]] = {}
    for fact, name in zip(facts, named, strict=True):
        # Listings of all groups name many, and none of them in particular.
        if name is not None and not isinstance(fact, GroupLine | BrokerLag):
            in_source.setdefault(fact.source.name, set()).add(name)
            if is_called_like_view(fact.source):
                in_folder.setdefault(folder_of(fact.source), set()).add(name)
    return [
        name
        or fact.source.given_group
        or _only(in_source.get(fact.source.name))
        or (is_called_like_view(fact.source) and _only(in_folder.get(folder_of(fact.source))))
        or stand_in(fact.source)
        or fact.source.name
        for fact, name in zip(facts, named, strict=True)
    ]


def _only(names: set[str] | None) -> str | None:
    return next(iter(names)) if names is not None and len(names) == 1 else None


def _named(facts: list[GroupFact]) -> list[str | None]:
    """What the texts call the groups, cut names completed."""
    full = FullNames(fact.group for fact in facts if fact.group is not None and not _is_cut(fact))
    # The longest first: a name cut to a wide column completes the same name cut to a narrow one.
    cut = sorted(
        {fact.group for fact in facts if fact.group is not None and _is_cut(fact)}, key=lambda name: -len(name)
    )
    completed: dict[str, str] = {}
    for name in cut:
        found = full.complete(name)
        if found is None:
            longer = {other for shorter, other in completed.items() if shorter.startswith(name)}
            found = _only(longer)
        completed[name] = found or name
    return [
        _completed(fact, completed[fact.group]) if fact.group is not None and _is_cut(fact) else fact.group
        for fact in facts
    ]


def _completed(fact: GroupFact, name: str) -> str:
    """A name that no text completes may be completed by what the source is called."""
    if name == fact.group:
        for longer in (fact.source.given_group, stand_in(fact.source)):
            if longer is not None and longer.startswith(name):
                return longer
    return name


def _is_cut(fact: GroupFact) -> bool:
    return isinstance(fact, Progress | GroupLine) and fact.group_cut
