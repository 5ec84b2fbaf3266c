"""Who is in a group and who owns what, from all views of it.

The verbose members view tells both. The short one tells the members and how many queues each owns, the offsets view
tells the owners only; together they tell both. The offsets view alone hides members that own nothing: who is in the
group is known then only if the state view counts as many members as it shows owners.

Which queues a group reads, as far as its views tell.

Subscriptions are in no view, so a topic counts as read if a member owns one of its partitions or is to own one
(target assignment). All partitions of such a topic count that any view shows, whether somebody owns them or not.
A topic of which the group has committed offsets and nobody owns a partition is read

- in a group without members: its committed offsets are all it has;
- while the group rebalances, because its topics may be between two owners;
- where no member owns anything.

Otherwise nobody reads it any more: its offsets are left over from an earlier subscription and a note says so.

What the views leave out of a group that they tell in part, and why.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from compare.reading.kafka.facts import MembersTable, OffsetsTable, TopicQueues
from compare.reading.observed import ObservedMember, Partial
from protocols import Queue, sort_queues

Table = TypeVar("Table", MembersTable, OffsetsTable)


@dataclass(slots=True)
class Ownership:
    """The members found. ``complete``: there are no others. ``idle_count`` is told where they are not complete."""

    members: tuple[ObservedMember, ...]
    complete: bool
    idle_count: int | None = None
    notes: list[str] = field(default_factory=list)


def best(tables: Sequence[Table]) -> Table | None:
    """The last table of which all rows could be read, else the last one, else None."""
    return next((table for table in reversed(tables) if table.complete), tables[-1] if tables else None)


def find_ownership(
    members: Sequence[MembersTable], offsets: Sequence[OffsetsTable], count: int | None, empty: bool
) -> Ownership:
    """``count`` is the number of members that the state view tells, ``empty`` that it or a notice tells of none."""
    verbose = best([member for member in members if member.assigned])
    short = best([member for member in members if not member.assigned])
    shown = best(offsets)
    table = verbose if verbose is not None and (verbose.complete or short is None or not short.complete) else short
    if table is not None and table.members:
        found = _of_table(table, verbose, shown)
    elif shown is not None and shown.owned:
        found = Ownership(tuple(_owner(shown, each) for each in shown.owned), complete=False)
    else:
        return Ownership((), complete=empty or (table is not None and table.complete))
    told_by = shown if table is None or not table.assigned else table
    if told_by is not None:
        _compare(found, told_by, [*members, *offsets])
    if empty:
        found.notes.append("one view shows members and another none: the views were taken at different times")
    elif count is not None:
        _count(found, count, shown)
    return found


def _of_table(table: MembersTable, verbose: MembersTable | None, shown: OffsetsTable | None) -> Ownership:
    told = {} if verbose is None else {each.id: each.owned for each in verbose.members}
    observed_members: list[ObservedMember] = []
    agree = True
    for member in {each.id: each for each in table.members}.values():
        owned = member.owned if member.owned is not None else told.get(member.id)
        if not table.assigned and shown is not None:
            owned = owned if owned else shown.owned.get(member.id, owned)
            fits = len(owned or ()) == (member.queue_count or 0)
            if not fits and not shown.complete:
                # The rows that are lost may be this member's.
                owned = None
            agree &= fits
        observed_members.append(
            member if owned is None else replace(member, owned=sort_queues(owned), queue_count=None)
        )
    if not table.assigned and shown is not None:
        ids = {observed_member.id for observed_member in observed_members}
        late = [each for each in shown.owned if each not in ids]
        observed_members += (_owner(shown, each) for each in late)
        agree &= not late
    ownership = Ownership(tuple(observed_members), table.complete)
    if not agree and shown is not None and shown.complete and table.complete:
        ownership.notes.append(_differ(table.source, shown.source))
    return ownership


def _compare(
    found: Ownership, told_by: MembersTable | OffsetsTable, tables: Sequence[MembersTable | OffsetsTable]
) -> None:
    """Note which other tables show other members or owners."""
    members = {member.id for member in found.members}
    owners = {member.id: set(member.owned) for member in found.members if member.owned}
    for table in tables:
        if table is told_by or not table.complete or not told_by.complete:
            continue
        if isinstance(table, OffsetsTable):
            same = _owners(table) == owners
        else:
            same = {member.id for member in table.members} == members
            if table.assigned:
                same &= {member.id: set(member.owned) for member in table.members if member.owned} == owners
        if not same:
            found.notes.append(_differ(table.source, told_by.source))


def _differ(one: str, other: str) -> str:
    return f"{one} and {other} show different members or owners: the views were taken at different times"


def _owners(shown: OffsetsTable) -> dict[str, set[Queue]]:
    return {owner: set(queues) for owner, queues in shown.owned.items() if queues}


def _owner(shown: OffsetsTable, id: str) -> ObservedMember:
    client = shown.clients[id]
    owned = sort_queues(shown.owned[id]) if shown.complete else None
    return ObservedMember(id, owned, client.client_id, host=client.host)


def _count(found: Ownership, count: int, shown: OffsetsTable | None) -> None:
    """Complete or doubt the members by the number of them that the state view tells."""
    listed = len(found.members)
    if found.complete and count != listed:
        found.notes.append(f"the state view counts {count} members, {listed} are listed")
    if count == listed:
        found.complete = True
    elif count > listed:
        found.complete = False
        owners = len(_owners(shown)) if shown is not None else 0
        if shown is not None and shown.complete and owners == sum(member.owned != () for member in found.members):
            # The offsets view shows every owner: whoever is not in it owns nothing.
            found.idle_count = count - owners


_SETTLED = (None, "Stable", "Empty", "Dead", "Unknown")


@dataclass(frozen=True, slots=True)
class ReadQueues:
    """The queues, sorted, None where not told; their lags, None where nothing is committed; where they end."""

    queues: tuple[Queue, ...] | None
    lag: Mapping[Queue, int | None]
    ends: Mapping[Queue, int]
    notes: tuple[str, ...]


def find_queues(
    members: Sequence[ObservedMember],
    targets: Sequence[Queue] | None,
    offsets: OffsetsTable | None,
    state: str | None,
    topics: Mapping[str, TopicQueues],
) -> ReadQueues:
    """``targets`` is None where no target assignment is told."""
    found = {queue for member in members for queue in member.owned or ()}
    found.update(targets or ())
    if offsets is not None:
        found.update(queue for queues in offsets.owned.values() for queue in queues)
    read: dict[str, int] = {}
    for queue in found:
        read[queue.topic] = max(read.get(queue.topic, 0), queue.number)
    notes: list[str] = []
    for topic, highest in sorted(read.items()):
        numbers = topics[topic].numbers if topic in topics else ()
        if numbers and highest > numbers[-1]:
            notes.append(
                f"kafka-topics shows fewer partitions of {topic} than are owned: the output is of another cluster"
            )
        else:
            found.update(Queue(topic, "", number) for number in numbers)
    if offsets is not None:
        between = not members or not read or (targets is None and state not in _SETTLED)
        left_over: dict[str, int] = {}
        for queue in offsets.unowned:
            if between or queue.topic in read:
                found.add(queue)
            else:
                left_over[queue.topic] = left_over.get(queue.topic, 0) + 1
        notes += (_note(topic, count) for topic, count in sorted(left_over.items()))
    if members:
        notes += _holes(found, topics)
    if offsets is not None and not offsets.complete:
        notes.append("rows of the offsets view are missing or unreadable: partitions and lag cover only the other rows")
    if not found:
        return ReadQueues(None, {}, {}, tuple(notes))
    queues = sort_queues(found)
    lag = {} if offsets is None else {queue: offsets.lag.get(queue) for queue in queues}
    ends = {} if offsets is None else {queue: offsets.ends[queue] for queue in queues if queue in offsets.ends}
    return ReadQueues(queues, lag, ends, tuple(notes))


def _holes(found: Iterable[Queue], topics: Mapping[str, TopicQueues]) -> Iterator[str]:
    """What is told of partitions without a row. Such a row is no error by itself: the offsets view leaves out
    partitions that nobody owns and that have no committed offset."""
    numbers: dict[str, set[int]] = {}
    for queue in found:
        if queue.topic not in topics:
            numbers.setdefault(queue.topic, set()).add(queue.number)
    for topic, shown in sorted(numbers.items()):
        count = max(shown) + 1 - len(shown)
        if count:
            first = next(number for number in range(max(shown)) if number not in shown)
            which = f"partition {first} of {topic} is" if count == 1 else f"{count} partitions of {topic} are"
            yield (
                f"{which} in no view, although partition {max(shown)} is: rows are missing, or no owner and no"
                " committed offset exist there; add kafka-topics --describe"
            )


def _note(topic: str, count: int) -> str:
    partitions = "1 partition has" if count == 1 else f"{count} partitions have"
    return f"topic {topic} has no owner, although {partitions} a committed offset: the topic does not count as read"


def what_is_missing(
    ownership: Ownership, tables: Sequence[MembersTable], offsets: OffsetsTable | None
) -> Partial | None:
    """None where every member, and all that each owns, is told."""
    # Without the rows that are lost, nobody knows what else the owners shown in the others own.
    lost = not any(table.members for table in tables) and offsets is not None and not offsets.complete
    silent = tuple(dict.fromkeys(member.id for member in ownership.members if lost or member.owned is None))
    reasons = []
    if not ownership.complete:
        reasons.append(_unlisted(ownership, tables, offsets))
    if silent:
        reasons.append(_uncounted(tables, offsets))
    return Partial((), silent, "; ".join(reasons)) if reasons else None


def are_owners_seen(ownership: Ownership, offsets: OffsetsTable | None) -> bool:
    """Whether every owner is among the members found: the offsets view shows the owner of each partition."""
    if offsets is None or not offsets.complete or not ownership.members:
        return False
    found = {member.id: set(member.owned or ()) for member in ownership.members if member.owned != ()}
    return found == {id: set(queues) for id, queues in offsets.owned.items() if queues}


def _unlisted(ownership: Ownership, tables: Sequence[MembersTable], offsets: OffsetsTable | None) -> str:
    """Why the members are not all known."""
    if any(table.members for table in tables):
        if all(table.complete for table in tables):
            return "the state view counts more members than are listed: the views were taken at different times"
        return "rows of the members view are missing or cannot be read"
    if offsets is None:
        return "no line that can be read lists the members and their partitions, as --members --verbose does"
    if not ownership.members:
        return "the offsets view shows no owner, and only --members lists members that own nothing"
    if ownership.idle_count:
        return "the offsets view shows owners only; --members lists the ids of members that own nothing"
    return "the offsets view shows owners only; --members or --state shows how many members own nothing"


def _uncounted(tables: Sequence[MembersTable], offsets: OffsetsTable | None) -> str:
    """Why it is not known what a member owns."""
    if offsets is not None and not offsets.complete:
        return "rows of the offsets view are missing or cannot be read"
    if offsets is not None:
        return (
            "the offsets view shows fewer partitions than the members view counts: the views were taken at"
            " different times"
        )
    return (
        "the members view shows how many partitions a member owns but not which; --members --verbose of newer"
        " versions or the offsets view does"
    )
