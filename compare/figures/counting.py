"""From rows of ownership in sorted order, numbers instead of names, to the integer sums of `last_step`: what every
engine over Arrow tables runs, numpy's on this machine and each of Spark's tasks.

Why whole numbers: a sum of floats depends on the order of its terms, and each engine brings the rows of a group
together in its own way. Sums of integers do not, so all engines give the same digits. Weights that are no whole numbers
come as so many parts of ``unit``. Only `last_step` divides.

Why three kinds of arithmetic: float64 adds integers exactly below 2^53 (`numpy.bincount`, the quickest), int64 below
2^63, Python's integers always (slowest). Each sum takes the first that is exact for the rows at hand, as an estimate of
the largest sum tells.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compare.figures.last_step import Flags, Integers, Sums
from protocols.errors import UserError

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """What members own, of whole groups: groups, topics of groups and members are numbers from 0.

    Per group ``members``: how many it has. Per topic of a group (in any order) ``topic_group``: its group, and the
    counts ``queues``, ``unowned``, ``double_owned``. Per row, which says that a member owns queues of a topic:
    ``topic`` (number of the topic of a group), ``member`` (from 0 within the group), ``load`` (None: 1 each) and
    ``unknown`` (the load is not known; None: all are). Several rows may be about one member and topic; their loads
    add up. ``unit`` is the load of a queue of weight 1.
    """

    members: Numbers
    topic_group: Numbers
    queues: Numbers
    unowned: Numbers
    double_owned: Numbers
    topic: Numbers
    member: Numbers
    load: Numbers | None = None
    unknown: Flags | None = None
    unit: int = 1


_MOST = 1 << 62
"""Exact int64 arithmetic stays below this; beyond it Python's integers take over."""


def count(rows: NumberedRows, overloaded: Callable[[int], UserError]) -> tuple[Sums, Sums]:
    """The sums of every group, and of every topic of a group, in the order of their numbers.

    ``overloaded``: the error to raise for a group (by its number) with a member whose load is 2^62 or more.
    """
    groups, topics = len(rows.members), len(rows.topic_group)
    _check_loads(rows, overloaded)
    topic, member, load = _per_member_and_topic(rows)
    at = _starts(rows.members)[rows.topic_group[topic]] + member
    everyone = int(rows.members.sum())
    loads = _add_up(at, load, everyone)
    owners = np.bincount(at, minlength=everyone) > 0
    member_group = np.repeat(np.arange(groups), rows.members)
    unknown = np.zeros(topics, dtype=bool)
    if rows.unknown is not None:
        unknown[rows.topic[rows.unknown]] = True

    # Every product of `last_step` is at most 2 n total^2. A total of int64 may itself be too small for it: in float64.
    total = np.bincount(member_group, weights=loads, minlength=groups)
    wide = bool((2.0 * rows.members * total**2 >= _MOST).any())

    of_topics = _sums(
        segment=topic,
        load=load,
        members=rows.members[rows.topic_group],
        owners=np.bincount(topic, minlength=topics),
        counts=(rows.queues, rows.unowned, rows.double_owned),
        uneven=(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)),
        unknown=unknown,
        unit=rows.unit,
        wide=wide,
    )
    topic_deviation = of_topics.members * of_topics.squares - of_topics.total * of_topics.total
    uneven = np.flatnonzero(topic_deviation)
    of_groups = _sums(
        segment=member_group,
        load=loads,
        members=rows.members,
        owners=np.bincount(member_group[owners], minlength=groups),
        counts=(
            _sum_within(rows.topic_group, rows.queues, groups),
            _sum_within(rows.topic_group, rows.unowned, groups),
            _sum_within(rows.topic_group, rows.double_owned, groups),
        ),
        uneven=(rows.topic_group[uneven], topic_deviation[uneven]),
        unknown=np.bincount(rows.topic_group[unknown], minlength=groups) > 0,
        unit=rows.unit,
        wide=wide,
    )
    return of_groups, of_topics


def sums_of_loads(loads: Numbers, members: Numbers, counts: tuple[Integers, Integers, Integers]) -> Sums:
    """The sums of groups of which only the members' loads are known, in queues, group by group; ``members``: how many
    each group has; ``counts``: its queues, those without and those with several owners. They do not tell `pile_up`."""
    groups = len(members)
    segment = np.repeat(np.arange(groups), members)
    none = np.zeros(0, dtype=np.int64)
    return _sums(
        segment=segment,
        load=loads,
        members=members,
        owners=np.bincount(segment[loads > 0], minlength=groups),
        counts=counts,
        uneven=(none, none),
        unknown=np.zeros(groups, dtype=bool),
        unit=1,
        wide=bool((2.0 * members * np.bincount(segment, weights=loads, minlength=groups) ** 2 >= _MOST).any()),
    )


def _per_member_and_topic(rows: NumberedRows) -> tuple[Numbers, Numbers, Numbers]:
    """Topic, member and load: one entry per member and topic of which it owns a queue."""
    sizes = rows.members[rows.topic_group]
    first = _starts(sizes)
    cell = first[rows.topic] + rows.member
    cells = int(sizes.sum())
    if cells <= 4 * len(cell) + 4096:
        held = np.bincount(cell, minlength=cells)
        found = np.flatnonzero(held)
        load = held[found] if rows.load is None else _add_up(cell, rows.load, cells)[found]
        # The topic of a cell: cells lie topic by topic.
        topic = np.repeat(np.arange(len(sizes)), sizes)[found]
    else:
        found, position = np.unique(cell, return_inverse=True)
        load = (
            np.bincount(position, minlength=len(found))
            if rows.load is None
            else _add_up(position, rows.load, len(found))
        )
        topic = np.asarray(np.searchsorted(first + sizes, found, side="right"), dtype=np.int64)
    return topic, found - first[topic], load


def _extremes(load: Numbers, entries: Numbers, zeros: Numbers) -> tuple[Numbers, Numbers]:
    """Least and largest load of each segment: ascending ``load`` of its ``entries``, beside ``zeros`` members."""
    some = entries > 0
    last = np.cumsum(entries) - 1
    high = np.zeros(len(entries), dtype=np.int64)
    high[some] = load[last[some]]
    low = np.zeros(len(entries), dtype=np.int64)
    full = some & (zeros == 0)
    low[full] = load[last[full] - entries[full] + 1]
    return low, high


def _sums(
    *,
    segment: Numbers,
    load: Numbers,
    members: Numbers,
    owners: Numbers,
    counts: tuple[Integers, Integers, Integers],
    uneven: tuple[Numbers, Integers],
    unknown: Flags,
    unit: int,
    wide: bool,
) -> Sums:
    """The sums of segments from one entry per member that may carry load; whoever has no entry carries 0.

    ``uneven``: segment and deviation of the topics that are parts of segments. A topic by itself has none.
    """
    segments = len(members)
    segment, load = _sorted(segment, load)
    entries = np.bincount(segment, minlength=segments)
    zeros = members - entries
    rank = np.arange(len(load)) - _starts(entries)[segment] + zeros[segment] + 1
    exact: Integers = load.astype(object) if wide else load
    total = _sum_within(segment, exact, segments)
    squares = _sum_within(segment, exact * exact, segments)
    low, high = _extremes(load, entries, zeros)
    new = np.ones(len(load), dtype=bool)
    new[1:] = (load[1:] != load[:-1]) | (segment[1:] != segment[:-1])
    runs = np.flatnonzero(new)
    holders = np.diff(runs, append=len(load))
    carrying = load[runs] > 0
    runs, holders = runs[carrying], holders[carrying]

    def whole(values: Integers) -> Integers:
        return values.astype(object) if wide else values

    return Sums(
        members=whole(members),
        idle=members - owners,
        queues=counts[0],
        unowned=counts[1],
        double_owned=counts[2],
        total=total,
        squares=squares,
        ranked=_sum_within(segment, exact * rank, segments),
        low=whole(low),
        high=whole(high),
        topic_row=uneven[0],
        topic_deviation=uneven[1],
        row=segment[runs],
        load=whole(load[runs]),
        holders=holders,
        unknown=unknown,
        unit=unit,
    )


def _sorted(segment: Numbers, load: Numbers) -> tuple[Numbers, Numbers]:
    """By segment, then load."""
    if not len(load):
        return segment, load
    shift = int(load.max()).bit_length()
    if int(segment.max()).bit_length() + shift < 63:
        both = np.sort(segment << shift | load)
        return both >> shift, both & ((1 << shift) - 1)
    order = np.lexsort((load, segment))
    return segment[order], load[order]


def _starts(sizes: Numbers) -> Numbers:
    return np.cumsum(sizes) - sizes


def _check_loads(rows: NumberedRows, overloaded: Callable[[int], UserError]) -> None:
    if rows.load is None or not len(rows.load):
        return
    if int(rows.load.min()) < 0:
        raise AssertionError("a load is negative")
    if float(rows.load.sum(dtype=np.float64)) < _MOST / 2:
        return
    group = rows.topic_group[rows.topic]
    exact = np.zeros(int(rows.members.sum()), dtype=object)
    np.add.at(exact, _starts(rows.members)[group] + rows.member, rows.load.astype(object))
    (heavy,) = np.nonzero((exact >= _MOST).astype(bool))
    if len(heavy):
        raise overloaded(int(np.searchsorted(np.cumsum(rows.members), heavy[0], side="right")))


def _add_up(at: Numbers, load: Numbers, size: int) -> Numbers:
    """The sum of the loads at each place, exact; each is less than 2^62."""
    rough = np.bincount(at, weights=load, minlength=size)
    if rough.max(initial=0.0) < 1 << 53:
        return rough.astype(np.int64)
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, at, load)
    return sums


def _sum_within(segment: Numbers, values: Integers, segments: int) -> Integers:
    """Exact sums per segment, of values in any order."""
    if values.dtype == object:
        exact = np.zeros(segments, dtype=object)
        np.add.at(exact, segment, values)
        return exact
    if float(values.sum(dtype=np.float64)) < 1 << 53:
        return np.bincount(segment, weights=values, minlength=segments).astype(np.int64)
    sums = np.zeros(segments, dtype=np.int64)
    np.add.at(sums, segment, values)
    return sums


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
