"""Sort facts by the group that they are about.

Several groups pasted one after another hold lists of clients without a name; a client that belongs to one of the
named groups alone tells which one it is. A client instance may serve several groups, then it tells nothing.

A group's name is, in this order: what the text says (completed where the view cuts it; a command line above it is a
part of the text) or its clients give away, ``NAME=FILE``, the only group that the same file names, the only one that
its folder's files name (where the file is called like a view), what file or folder are called.
"""

from collections.abc import Callable, Iterable, Sequence

from compare.reading.observed import FactGroup, SourceText, fact_groups, folder_of
from compare.reading.rocketmq.facts import (
    Answered,
    BrokerLag,
    Connections,
    Fact,
    FullNames,
    GroupFact,
    GroupLine,
    NoRoute,
    Progress,
    Route,
    Running,
)
from compare.reading.rocketmq.lines import is_called_like_view, stand_in
from compare.reading.rocketmq.ownership import address_of


def ids_of(fact: GroupFact) -> Iterable[str]:
    """The client ids that a fact shows."""
    if isinstance(fact, Connections):
        return (connection.client_id for connection in fact.connections)
    if isinstance(fact, Answered):
        return (client_id for _, client_id in fact.clients)
    return (fact.client_id,) if isinstance(fact, Running) else ()


def name_by_clients(facts: Sequence[GroupFact], named: Sequence[str | None]) -> list[str | None]:
    """The names, with those added that clients give away."""
    names = list(named)
    if None not in names:
        return names
    # First who lists ids; what they add tells whose the lists of answers, and then the addresses are.
    _fill(facts, names, lambda fact: ids_of(fact) if isinstance(fact, Connections) else ())
    _fill(facts, names, lambda fact: ids_of(fact) if isinstance(fact, Answered) else ())
    # An address that no named group is known to have may be anybody's; a client id is not.
    _fill(facts, names, _addresses, key=address_of, all_known=True)
    return names


def _addresses(fact: GroupFact) -> Iterable[str]:
    if not isinstance(fact, Progress) or fact.shown is None:
        return ()
    return (address for address in fact.shown.values() if address is not None)


def _fill(
    facts: Sequence[GroupFact],
    names: list[str | None],
    shows: Callable[[GroupFact], Iterable[str]],
    key: Callable[[str], str] = lambda id: id,
    all_known: bool = False,
) -> None:
    groups: dict[tuple[str, str], set[str]] = {}
    for fact, name in zip(facts, names, strict=True):
        if name is not None:
            for id in ids_of(fact):
                groups.setdefault((fact.source.name, key(id)), set()).add(name)
    for position, fact in enumerate(facts):
        if names[position] is None:
            found = [groups.get((fact.source.name, show), set()) for show in sorted(set(shows(fact)))]
            belong = {name for of_one in found for name in of_one}
            if len(belong) == 1 and (all(found) or not all_known):
                names[position] = belong.pop()


def sorted_facts(facts: Iterable[Fact]) -> tuple[list[FactGroup[GroupFact]], list[Route | NoRoute]]:
    """The groups of facts by first mention, and what is told of routes."""
    routes: list[Route | NoRoute] = []
    about: list[GroupFact] = []
    for fact in facts:
        if isinstance(fact, Route | NoRoute):
            routes.append(fact)
        else:
            about.append(fact)
    named = ((name, fact.source.name, fact) for fact, name in zip(about, _names(about), strict=True))
    return fact_groups(named, ids_of), routes


def _names(facts: list[GroupFact]) -> list[str]:
    named = name_by_clients(facts, _named(facts))
    in_source: dict[str, set[str]] = {}
    in_folder: dict[str, set[str]] = {}
    for fact, name in zip(facts, named, strict=True):
        # Listings of all groups name many, and none of them in particular.
        if name is not None and not isinstance(fact, GroupLine | BrokerLag):
            in_source.setdefault(fact.source.name, set()).add(name)
            if is_called_like_view(fact.source):
                in_folder.setdefault(folder_of(fact.source.name), set()).add(name)
    return [
        name
        or fact.source.told_group
        or _only(in_source.get(fact.source.name))
        or (is_called_like_view(fact.source) and _only(in_folder.get(folder_of(fact.source.name))))
        or stand_in(fact.source)
        or fact.source.name
        for fact, name in zip(facts, named, strict=True)
    ]


def _only(names: set[str] | None) -> str | None:
    return next(iter(names)) if names is not None and len(names) == 1 else None


def _named(facts: list[GroupFact]) -> list[str | None]:
    """What the texts call the groups, cut names completed."""
    full = FullNames(fact.group for fact in facts if fact.group is not None and not _is_cut(fact))
    cut = {fact.group for fact in facts if fact.group is not None and _is_cut(fact)}
    cuts = FullNames(cut)
    completed: dict[str, str] = {}
    # The longest first: a name cut to a wide column completes the same name cut to a narrow one.
    for name in sorted(cut, key=lambda name: (-len(name), name)):
        found = full.complete(name)
        wider = cuts.longer(name) if found is None else None
        completed[name] = completed[wider] if wider is not None else found or name
    return [
        _completed(fact, completed[fact.group])
        if fact.group is not None and _is_cut(fact)
        else fact.group or _of_command(fact.source)
        for fact in facts
    ]


def _of_command(source: SourceText) -> str | None:
    return None if source.command is None else source.command.group


def _completed(fact: GroupFact, name: str) -> str:
    """A name that no text completes may be completed by what the source is called."""
    if name == fact.group:
        for longer in (fact.source.told_group, stand_in(fact.source)):
            if longer is not None and longer.startswith(name):
                return longer
    return name


def _is_cut(fact: GroupFact) -> bool:
    return isinstance(fact, Progress | GroupLine) and fact.group_cut
