"""What the views leave out of a group that they tell in part, and why."""

from collections.abc import Sequence

from compare.reading.kafka.facts import MembersTable, OffsetsTable
from compare.reading.kafka.ownership import Ownership
from compare.reading.observed import Partial


def what_is_missing(
    ownership: Ownership, tables: Sequence[MembersTable], offsets: OffsetsTable | None
) -> Partial | None:
    """None where every member, and all that each owns, is told."""
    # Without the rows that are lost, nobody knows what else the owners shown in the others own.
    lost = not any(table.members for table in tables) and offsets is not None and not offsets.complete
    silent = tuple(dict.fromkeys(each.id for each in ownership.members if lost or each.owned is None))
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
    found = {each.id: set(each.owned or ()) for each in ownership.members if each.owned != ()}
    return found == {id: set(queues) for id, queues in offsets.owned.items() if queues}


def _unlisted(ownership: Ownership, tables: Sequence[MembersTable], offsets: OffsetsTable | None) -> str:
    """Why the members are not all known."""
    if any(table.members for table in tables):
        if all(table.complete for table in tables):
            return "the state view counts more members than are listed: the views were taken at different times"
        return "rows of the members view are missing or cannot be read"
    if offsets is None:
        return "no view lists the members and their partitions, which --members --verbose does"
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
