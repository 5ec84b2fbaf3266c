"""Who is in the group: connections, clients that answered, clients that were asked."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from compare.reading.rocketmq.facts import Answered, Connections, GroupFact, GroupLine, Offline, Running
from protocols.java import sorted_as_java


@dataclass(frozen=True, slots=True)
class Clients:
    """``connected``: to each client id the number of its connections, in RocketMQ's order of ids.

    ``listed``: a view lists the members; ``complete``: it lists all of them; ``by_connection``: those that answer no
    question are listed, too. ``count``: how many there are, where
    it is told (None where not).
    """

    connected: dict[str, int]
    hosts: dict[str, str]
    heard: frozenset[str]
    listed: bool
    complete: bool
    by_connection: bool
    count: int | None
    notes: tuple[str, ...]


def find_clients(facts: Iterable[GroupFact]) -> Clients:
    """The clients of one group. Views that list different ones are joined: each shows what one broker knows."""
    views: list[tuple[str, Counter[str]]] = []
    hosts: dict[str, str] = {}
    asked: list[str] = []
    counts: list[int] = []
    complete = True
    for fact in facts:
        if isinstance(fact, Connections):
            views.append(("consumerConnection", Counter(each.client_id for each in fact.connections)))
            hosts.update((each.client_id, each.address.rpartition(":")[0]) for each in fact.connections)
            complete = complete and fact.complete
        elif isinstance(fact, Running):
            asked.append(fact.client_id)
        elif isinstance(fact, GroupLine):
            counts.append(fact.count)
        elif isinstance(fact, Offline):
            counts.append(0)
    answered = [fact for fact in facts if isinstance(fact, Answered)]
    heard = list(_lists(answered))
    complete = complete and all(fact.complete for fact in answered)
    views += (("consumerStatus", each) for each in heard)
    connected: Counter[str] = Counter()
    for _, view in views:
        connected |= view
    listed = bool(connected)
    connected |= Counter(dict.fromkeys(asked, 1))
    count = counts[-1] if counts else None
    notes = list(_twice(connected))
    names = {name for name, _ in views}
    if listed and any(view.keys() != connected.keys() for name, view in views if name == "consumerConnection"):
        notes.append("the views list different members, because each shows what one broker knew when it was asked")
    if listed and count is not None and count != connected.total():
        notes.append(f"consumerProgress counts {count} members, other views list {connected.total()}")
        # Who does not answer consumerStatus is missing there, and nothing else lists the others.
        complete = complete and (count < connected.total() or "consumerConnection" in names)
    return Clients(
        connected={id: connected[id] for id in sorted_as_java(connected)},
        hosts=hosts,
        heard=frozenset(id for view in heard for id in view),
        listed=listed,
        complete=listed and complete,
        by_connection="consumerConnection" in names,
        count=count,
        notes=tuple(notes),
    )


def _lists(answered: Iterable[Answered]) -> Iterable[Counter[str]]:
    """The lists of ``consumerStatus``. An exception between two rows makes several facts of one list: their indexes
    go on, where a new list begins with 1."""
    found: list[Counter[str]] = []
    last = ("", 0)
    for fact in answered:
        for index, client_id in fact.clients:
            if not found or fact.source.name != last[0] or index <= last[1]:
                found.append(Counter())
            found[-1][client_id] += 1
            last = (fact.source.name, index)
    return found


def _twice(connected: Counter[str]) -> Iterable[str]:
    for id, count in sorted(connected.items()):
        if count > 1:
            yield (
                f"client id {id} is connected {count} times: processes that share an id own the same queues, so the"
                " shares of all others have no owner; give each process its own instance name"
            )
