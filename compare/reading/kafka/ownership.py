"""Who is in a group and who owns what, from all views of it.

The verbose members view tells both. The short one tells the members and how many queues each owns, the offsets view
tells the owners only; together they tell both. The offsets view alone hides members that own nothing: who is in the
group is known then only if the state view counts as many members as it shows owners.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from compare.reading.kafka.facts import MembersTable, OffsetsTable
from compare.reading.observed import ObservedMember
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
    return next((each for each in reversed(tables) if each.complete), tables[-1] if tables else None)


def find_ownership(
    members: Sequence[MembersTable], offsets: Sequence[OffsetsTable], count: int | None, empty: bool
) -> Ownership:
    """``count`` is the number of members that the state view tells, ``empty`` that it or a notice tells of none."""
    verbose = best([each for each in members if each.assigned])
    short = best([each for each in members if not each.assigned])
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
    found: list[ObservedMember] = []
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
        found.append(member if owned is None else replace(member, owned=sort_queues(owned), queue_count=None))
    if not table.assigned and shown is not None:
        ids = {each.id for each in found}
        late = [each for each in shown.owned if each not in ids]
        found += (_owner(shown, each) for each in late)
        agree &= not late
    ownership = Ownership(tuple(found), table.complete)
    if not agree and shown is not None and shown.complete and table.complete:
        ownership.notes.append(_differ(table.source, shown.source))
    return ownership


def _compare(
    found: Ownership, told_by: MembersTable | OffsetsTable, tables: Sequence[MembersTable | OffsetsTable]
) -> None:
    """Note which other tables show other members or owners."""
    members = {each.id for each in found.members}
    owners = {each.id: set(each.owned) for each in found.members if each.owned}
    for table in tables:
        if table is told_by or not table.complete or not told_by.complete:
            continue
        if isinstance(table, OffsetsTable):
            same = _owners(table) == owners
        else:
            same = {each.id for each in table.members} == members
            if table.assigned:
                same &= {each.id: set(each.owned) for each in table.members if each.owned} == owners
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
        if shown is not None and shown.complete and owners == sum(each.owned != () for each in found.members):
            # The offsets view shows every owner: whoever is not in it owns nothing.
            found.idle_count = count - owners
