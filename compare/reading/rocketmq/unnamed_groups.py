"""Find the group of a view that names none, in a source that tells of several: by the clients that it shows.

Several groups pasted one after another hold lists of clients without a name; a client that belongs to one of the
named groups alone tells which one it is. A client instance may serve several groups, then it tells nothing.
"""

from collections.abc import Callable, Iterable, Sequence

from compare.reading.rocketmq.facts import Answered, Connections, GroupFact, Progress, Running
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
            found = [groups.get((fact.source.name, each), set()) for each in sorted(set(shows(fact)))]
            belong = {name for of_one in found for name in of_one}
            if len(belong) == 1 and (all(found) or not all_known):
                names[position] = belong.pop()
