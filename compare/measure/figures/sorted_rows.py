"""From rows of ownership in sorted order to the figures: what every engine runs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compare.measure.figures.counting import count
from compare.measure.figures.last_step import Flags, Sums
from compare.measure.figures.rows import NumberedRows, Numbers
from protocols.errors import UserError


@dataclass(frozen=True, slots=True)
class SortedRows:
    """Rows by group, topic, queue (with its broker) and owner, nobody first: what each says, and where a new topic of
    a group and a new queue begin.

    ``member``: number within the group from 0, -1 for nobody; ``load``: None for 1 each; ``unknown``: None for
    nowhere; ``members``: how many each group has.
    """

    group: Numbers
    topic: Numbers
    new_topic: Flags
    new_queue: Flags
    member: Numbers
    load: Numbers | None
    unknown: Flags | None
    members: Numbers


def count_sorted(
    rows: SortedRows, unit: int, listed_twice: Callable[[int], UserError], overloaded: Callable[[int], UserError]
) -> tuple[Sums, Sums, Numbers]:
    """The sums of every group, those of every topic of a group, and the row where each of these topics begins.

    The errors to raise for a group (by its number): ``listed_twice`` for a queue that is listed twice for one owner,
    ``overloaded`` for a member whose load is 2^62 or more.
    """
    check_listed_once(rows, listed_twice)
    owned = rows.member >= 0
    first_owner = owned & rows.new_queue
    first_owner[1:] |= owned[1:] & ~owned[:-1]
    # The second owner of a queue makes it one with several, a third changes nothing.
    second = owned & ~first_owner
    second[1:] &= first_owner[:-1]
    starts = np.flatnonzero(rows.new_topic)
    queues = _per_topic(rows.new_queue, starts)
    topic = np.cumsum(rows.new_topic) - 1
    chosen = slice(None) if bool(owned.all()) else owned
    of_groups, of_topics = count(
        NumberedRows(
            members=rows.members,
            topic_group=rows.group[starts].astype(np.int64),
            queues=queues,
            unowned=queues - _per_topic(first_owner, starts),
            double_owned=_per_topic(second, starts),
            topic=topic[chosen],
            member=rows.member[chosen],
            load=None if rows.load is None else rows.load[chosen],
            unknown=None if rows.unknown is None else rows.unknown[chosen],
            unit=unit,
        ),
        overloaded,
    )
    return of_groups, of_topics, starts


def check_listed_once(rows: SortedRows, listed_twice: Callable[[int], UserError]) -> None:
    """Raise the error about a group where a queue is listed twice for one owner."""
    again = ~rows.new_queue & (rows.member >= 0)
    again[1:] &= rows.member[1:] == rows.member[:-1]
    if again.any():
        raise listed_twice(int(rows.group[np.argmax(again)]))


def changes(values: npt.NDArray[np.generic]) -> Flags:
    """Where a value differs from the one before it; the first one does."""
    found = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def _per_topic(flags: Flags, starts: Numbers) -> Numbers:
    if not len(starts):
        return np.zeros(0, dtype=np.int64)
    return np.add.reduceat(flags, starts, dtype=np.int64)
