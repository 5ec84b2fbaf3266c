"""Who owns which queues, as far as the texts carry it.

``consumerStatus -i`` tells exactly what the client that was asked owns. ``consumerProgress -s true`` asks every client
and then shows one address per queue, of a client who says that it owns the queue. What it does not show:

- Which client it was, where several have the address. Once all but one of them were asked, the rest is the last one's.
- A second owner of a queue.
- Why nobody is shown: because nobody who answered owns the queue, or because a client did not answer. The tool asks
  nobody after the first that does not answer, so that a member who is not shown may be idle or unheard.
- Topics beyond the subscription of whoever sent the last heartbeat.

Where all members answered and a queue of a topic is still nobody's, they do not agree on the allocation; then queues
have second owners as well, and only members who were asked themselves are told. Two processes with one client id
are no such case: both own the same queues, and a part is nobody's (spec section 7.5).
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from compare.reading.rocketmq.retry import is_retry
from protocols import Queue, sort_queues


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the texts say of one group.

    ``ids``: the client ids, each once. ``twice``: some of them have two connections. ``heard``: ids that answered
    ``consumerStatus``. ``asked``: to each id asked the queues it owns, None where it did not tell them. ``shown``: each
    queue's address, None where nobody is shown; None without such a table. ``covered``: the table has every queue
    that any member may own. ``alike``: nothing shows that the members differ in subscription or strategy.
    """

    ids: Sequence[str]
    twice: bool
    heard: Set[str]
    asked: Mapping[str, tuple[Queue, ...] | None]
    shown: Mapping[Queue, str | None] | None
    covered: bool
    alike: bool


@dataclass(frozen=True, slots=True)
class Ownership:
    """``owned``: to each client id its queues, sorted; None where not told. ``strangers``: addresses shown that no
    known member has. ``unowned``: queues that nobody owns, None where not told. ``members_agree``: no queue shows that
    they do not agree on the allocation. ``notes`` say what is not told."""

    owned: Mapping[str, tuple[Queue, ...] | None]
    strangers: tuple[str, ...] = ()
    unowned: tuple[Queue, ...] | None = None
    members_agree: bool = True
    notes: tuple[str, ...] = ()


def address_of(client_id: str) -> str:
    """What ``consumerProgress`` shows of a client id."""
    return client_id.partition("@")[0]


@dataclass(slots=True)
class _Table:
    """The table of shown addresses beside what members say of themselves."""

    by_address: dict[str, list[Queue]] = field(default_factory=dict)
    nobodys: list[Queue] = field(default_factory=list)
    contradicted: int = 0


def find_ownership(evidence: Evidence) -> Ownership:
    """Each member's queues; see the module's text for what is told and what is not."""
    owned: dict[str, tuple[Queue, ...] | None] = {
        id: sort_queues(queues) if (queues := evidence.asked.get(id)) is not None else None for id in evidence.ids
    }
    if evidence.shown is None:
        return Ownership(owned)
    at_address: dict[str, list[str]] = {}
    for id in evidence.ids:
        at_address.setdefault(address_of(id), []).append(id)
    table = _table(evidence.shown, owned)
    strangers = tuple(sorted(table.by_address.keys() - at_address.keys()))
    notes: list[str] = []
    unheard = [id for id in evidence.ids if owned[id] is None and not _answered(id, at_address, table)]
    agree = evidence.alike and not table.contradicted and not _disagree(evidence, table, unheard)
    if table.contradicted:
        notes.append(
            f"{_count(table.contradicted, 'queue')} shown for one member by consumerProgress and claimed by another in"
            " consumerStatus -i: doubly owned, or the views are of different moments"
        )
    elif not agree and evidence.alike:
        notes.append(
            f"{_count(_topics(table.nobodys), 'queue')} shown without owner although every member answers: the members"
            " do not agree on the allocation, and consumerProgress hides second owners; ask each member with"
            " consumerStatus -i"
        )
    elif table.nobodys and unheard:
        notes.append(
            f"{_count(len(table.nobodys), 'queue')} shown without owner: owned by nobody, or by one of"
            f" {_count(len(unheard), 'member')} that the tool shows nowhere and that may not have answered"
        )
    if agree and evidence.covered:
        for address, ids in at_address.items():
            notes += _share(address, [id for id in ids if owned[id] is None], owned, table)
    return Ownership(owned, strangers, _unowned(evidence, table, unheard), agree, tuple(notes))


def _table(shown: Mapping[Queue, str | None], owned: Mapping[str, tuple[Queue, ...] | None]) -> _Table:
    table = _Table()
    claimed: dict[Queue, set[str]] = {}
    for id, queues in owned.items():
        for queue in queues or ():
            claimed.setdefault(queue, set()).add(address_of(id))
    told = {address_of(id) for id, queues in owned.items() if queues is not None}
    untold = {address_of(id) for id, queues in owned.items() if queues is None}
    for queue, address in shown.items():
        claims = claimed.get(queue)
        if claims is None:
            if address is None:
                table.nobodys.append(queue)
                continue
            table.by_address.setdefault(address, []).append(queue)
            # Everybody at this address was asked, and nobody of them owns the queue.
            table.contradicted += address in told and address not in untold
        elif address is not None:
            table.by_address.setdefault(address, [])
            table.contradicted += address not in claims
    return table


def _answered(id: str, at_address: Mapping[str, Sequence[str]], table: _Table) -> bool:
    """Whether the table shows that the client answered: its address is there, and nobody else has it."""
    address = address_of(id)
    return len(at_address[address]) == 1 and address in table.by_address


def _disagree(evidence: Evidence, table: _Table, unheard: Iterable[str]) -> bool:
    return (
        bool(table.by_address)
        and _topics(table.nobodys) > 0
        and not evidence.twice
        and all(id in evidence.heard for id in unheard)
    )


def _share(
    address: str, unasked: Sequence[str], owned: dict[str, tuple[Queue, ...] | None], table: _Table
) -> Iterable[str]:
    """Give an address's queues to its members who were not asked, as far as that is told; else a note."""
    left = table.by_address.get(address, [])
    if len(unasked) == 1 and left:
        owned[unasked[0]] = sort_queues(left)
    elif not left and not table.nobodys:
        # Every queue has an owner, and it is somebody else.
        owned.update(dict.fromkeys(unasked, ()))
    elif len(unasked) > 1 and left:
        yield (
            f"{_count(len(unasked), 'member')} at the address {address} share {_count(len(left), 'queue')}: ask them"
            " with consumerStatus -i"
        )


def _unowned(evidence: Evidence, table: _Table, unheard: Sequence[str]) -> tuple[Queue, ...] | None:
    if not evidence.alike or table.contradicted:
        return None
    if table.nobodys and (unheard or not evidence.ids):
        return None
    return sort_queues(table.nobodys)


def _topics(queues: Iterable[Queue]) -> int:
    """How many of the queues are no retry topic's: of a young group those belong to nobody for a while."""
    return sum(not is_retry(queue.topic) for queue in queues)


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
