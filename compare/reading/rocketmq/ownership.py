"""Who is in the group: connections, clients that answered, clients that were asked.

Who owns which queues, as far as the texts carry it.

``consumerStatus -i`` tells exactly what the client that was asked owns. ``consumerProgress -s true`` asks every client
and then shows one address per queue, of a client who says that it owns the queue. What it does not show:

- Which client it was, where several have the address. Once all but one of them were asked, the rest is the last one's.
- A second owner of a queue.
- Why nobody is shown: because nobody who answered owns the queue, or because a client did not answer. The tool asks
  nobody after the first that does not answer, so that a member who is not shown may be idle or unheard.
- Topics beyond the subscription of whoever sent the last heartbeat, and topics of which no offset is stored yet. What
  members own of those is not told, what they own of the others is.

Where all members answered and a queue of a topic is still nobody's, they do not agree on the allocation; then queues
have second owners as well, and only members who were asked themselves are told. Two processes with one client id
are no such case: both own the same queues, and a part is nobody's (spec rocketmq 7.5). Members that subscribe to
different topics leave queues to nobody although they agree; `compare.reading.rocketmq.subscribed` tells whether they
do. Such a member, if it is shown for no queue of any topic that is told, reads topics that no source names, unless a
topic without rows explains it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from compare.reading.rocketmq.facts import Answered, Connections, GroupFact, GroupLine, Offline, Running
from compare.reading.rocketmq.lines import is_retry
from protocols import Queue, sort_queues
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
            views.append(("consumerConnection", Counter(connection.client_id for connection in fact.connections)))
            hosts.update(
                (connection.client_id, connection.address.rpartition(":")[0]) for connection in fact.connections
            )
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
    views += (("consumerStatus", name) for name in heard)
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
    lists: list[Counter[str]] = []
    last = ("", 0)
    for fact in answered:
        for index, client_id in fact.clients:
            if not lists or fact.source.name != last[0] or index <= last[1]:
                lists.append(Counter())
            lists[-1][client_id] += 1
            last = (fact.source.name, index)
    return lists


def _twice(connected: Counter[str]) -> Iterable[str]:
    for id, count in sorted(connected.items()):
        if count > 1:
            yield (
                f"client id {id} is connected {count} times: processes that share an id own the same queues, so the"
                " shares of all others have no owner; give each process its own instance name"
            )


_NOT_ASKED = (
    "no source shows the queues of these members, which consumerStatus -i of each member or consumerProgress -s"
    " true does"
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the texts say of one group.

    ``ids``: the client ids, each once. ``twice``: some of them have two connections. ``connected``:
    ``consumerConnection`` lists them, among them those that answer nothing. ``heard``: ids that answered
    ``consumerStatus``. ``asked``: to each id asked the queues it owns, None where it did not tell them. ``shown``: each
    queue's address, None where nobody is shown; None without such a table. ``whole``: no row of the topics that it is
    about is missing in the table. ``alike``: nothing shows that the members differ in subscription or strategy.
    ``one_rule``: they differ in subscription only, and one strategy explains all rows. ``untold``: a topic that some
    member reads has no row. ``nobodys``: queues without a row of which it is told that nobody owns them.
    """

    ids: Sequence[str]
    twice: bool
    heard: Set[str]
    asked: Mapping[str, tuple[Queue, ...] | None]
    shown: Mapping[Queue, str | None] | None
    whole: bool
    alike: bool
    one_rule: bool = False
    untold: bool = False
    connected: bool = True
    nobodys: frozenset[Queue] = frozenset()


@dataclass(frozen=True, slots=True)
class Ownership:
    """``owned``: to each client id its queues, sorted; None where not told. ``strangers``: addresses shown that no
    known member has. ``unowned``: queues that nobody owns, None where not told. ``members_agree``: no queue shows that
    they do not agree on the allocation. ``notes`` say what is not told; ``why`` says in a part of a sentence why
    members have None."""

    owned: Mapping[str, tuple[Queue, ...] | None]
    strangers: tuple[str, ...] = ()
    unowned: tuple[Queue, ...] | None = None
    members_agree: bool = True
    notes: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


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
        return Ownership(owned, why=(_NOT_ASKED,))
    at_address: dict[str, list[str]] = {}
    for id in evidence.ids:
        at_address.setdefault(address_of(id), []).append(id)
    table = _table(evidence.shown, owned)
    strangers = tuple(sorted(table.by_address.keys() - at_address.keys()))
    unheard = [id for id in evidence.ids if owned[id] is None and not _answered(id, at_address, table)]
    answered = all(id in evidence.heard for id in unheard)
    like_one = evidence.alike or (evidence.one_rule and answered and not evidence.twice)
    agree = like_one and not table.contradicted and not (evidence.alike and _disagree(evidence, table, answered))
    notes = list(_doubts(evidence, table, agree, unheard))
    why = [] if agree and evidence.whole else [_doubt(evidence, table)]
    if agree and evidence.whole:
        for address, ids in at_address.items():
            unasked = [id for id in ids if owned[id] is None]
            reason = _share(address, unasked, owned, table, answered=answered and not evidence.alike)
            if reason and table.by_address.get(address):
                notes.append(f"{reason}: ask each of them with consumerStatus -i")
            why += [reason] if reason else []
        if not evidence.alike and not evidence.untold:
            why += _reads_other_topics(evidence, owned)
    unowned = _unowned(evidence, table, unheard) if like_one else None
    return Ownership(owned, strangers, unowned, agree, tuple(notes), tuple(dict.fromkeys(why)))


def _doubts(evidence: Evidence, table: _Table, agree: bool, unheard: Sequence[str]) -> Iterable[str]:
    if table.contradicted:
        yield (
            f"{_count(table.contradicted, 'queue')} shown for one member by consumerProgress and claimed by another"
            " in consumerStatus -i: the queues have two owners, or the views were taken at different times"
        )
    elif not agree and evidence.alike:
        yield (
            f"{_count(_topics(table.nobodys), 'queue')} shown without an owner although every member answers: the"
            " members do not agree on the allocation, and consumerProgress hides second owners; ask each member with"
            " consumerStatus -i"
        )
    elif table.nobodys and unheard and evidence.alike:
        yield (
            f"{_count(len(table.nobodys), 'queue')} shown without an owner: the queues have none, or belong to one of"
            f" {_count(len(unheard), 'member')} that the tool does not show because they may not have answered"
        )


def _doubt(evidence: Evidence, table: _Table) -> str:
    """Why the table tells of no member what it owns."""
    if table.contradicted:
        return "consumerProgress and consumerStatus -i contradict each other"
    if not evidence.alike:
        return "the members differ in subscription or strategy, and consumerProgress hides second owners"
    if not evidence.whole:
        return "rows of consumerProgress are missing, are unreadable, or cover one topic only"
    return "the members do not agree on the allocation, and consumerProgress hides second owners"


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


def _disagree(evidence: Evidence, table: _Table, answered: bool) -> bool:
    return bool(table.by_address) and _topics(table.nobodys) > 0 and not evidence.twice and answered


def _share(
    address: str, unasked: Sequence[str], owned: dict[str, tuple[Queue, ...] | None], table: _Table, answered: bool
) -> str | None:
    """Give an address's queues to its members who were not asked, as far as that is told; else why it is not.

    ``answered``: whoever is not shown answered all the same, and rows without owner are nobody's.
    """
    left = table.by_address.get(address, [])
    if len(unasked) == 1 and left:
        owned[unasked[0]] = sort_queues(left)
    elif not left and (answered or not table.nobodys):
        # Every queue has an owner or is nobody's, and it is none of theirs.
        owned.update(dict.fromkeys(unasked, ()))
    elif unasked and left:
        return f"{_count(len(unasked), 'member')} at the address {address} share {_count(len(left), 'queue')}"
    elif unasked:
        return "members that consumerProgress shows for no queue may own the queues shown without an owner"
    return None


def _reads_other_topics(evidence: Evidence, owned: dict[str, tuple[Queue, ...] | None]) -> Iterable[str]:
    """Take back what is told of members that read none of the topics that any source names."""
    strange = [
        id
        for id, queues in owned.items()
        if evidence.asked.get(id) is None and queues is not None and not _topics(queues)
    ]
    owned.update(dict.fromkeys(strange))
    if strange:
        yield "the members subscribe to different topics, and no source shows the topics of some members"


def _unowned(evidence: Evidence, table: _Table, unheard: Sequence[str]) -> tuple[Queue, ...] | None:
    if table.contradicted:
        return None
    if table.nobodys and ((unheard and evidence.alike) or not evidence.ids or not evidence.connected):
        return None
    return sort_queues({*table.nobodys, *evidence.nobodys})


def _topics(queues: Iterable[Queue]) -> int:
    """How many of the queues are no retry topic's: of a young group those belong to nobody for a while."""
    return sum(not is_retry(queue.topic) for queue in queues)


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
