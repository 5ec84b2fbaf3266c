"""Records that the user's code handled: what was handled twice, how fast, and how far behind a group is.

Records have no content here, so that a delivery is a range of offsets that one member handled evenly over a time. A
run of an hour with thousands of records a second has some thousand ranges, and every figure is computed on ranges;
none of them depends on where a range happens to be divided.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor, inf
from operator import attrgetter
from types import MappingProxyType
from typing import Protocol, TypeAlias

from protocols.engine.nodes import Time
from protocols.facts import Delivered, Ended, PassedOver
from protocols.java import Queue
from protocols.offsets import OffsetSet
from protocols.timeline.lifetimes import Lifetimes, life_at

WINDOW: Time = 1000.0
"""Rates are counted in windows of this length, in milliseconds, the first beginning with the run."""


def passed_over(now: Time, fact: PassedOver) -> Delivered:
    """Of a record that was not handled, but read past now."""
    return Delivered(fact.group, fact.member, fact.queue, fact.offset, fact.offset + 1, now, now)


def given_up(now: Time, fact: Ended) -> Delivered:
    """Of records that nobody gets any more."""
    return Delivered(fact.group, fact.member or "", fact.queue, fact.first, fact.end, now, now)


Positions: TypeAlias = Mapping[tuple[str, Queue], Sequence[Delivered]]
"""(Group, queue) to its deliveries in the order of their beginnings."""


def handled_more_than_once(
    deliveries: Iterable[Delivered], lives: Lifetimes = MappingProxyType({})
) -> dict[tuple[str, Queue], list[tuple[int, int]]]:
    """(Group, queue) to the ranges of offsets that were handled more than once, by one member or several; disjoint,
    in order, and touching ones joined, each life of the queue for itself. Queues without any are left out."""
    handled = _Handled(lives)
    for delivery in deliveries:
        handled.add(delivery)
    found: dict[tuple[str, Queue], list[tuple[int, int]]] = {}
    for (group, queue, _), of_life in sorted(handled.again.items(), key=lambda item: item[0][2]):
        found.setdefault((group, queue), []).extend(of_life.ranges())
    return found


def redelivered(
    deliveries: Iterable[Delivered], lives: Lifetimes = MappingProxyType({}), since: Time | None = None
) -> int:
    """How many records were delivered to more than one member, or twice to one, for the first time; with ``since`` only
    those of which that is so since then (milliseconds; the deliveries are in the order of ``until``)."""
    handled = _Handled(lives)
    count = 0
    for delivery in deliveries:
        repeated = handled.add(delivery)
        if repeated and (since is None or delivery.until >= since):
            count += repeated
    return count


class _Handled:
    """(Group, queue, number of its life) to what was handled ``once`` at least, and what ``again``."""

    __slots__ = ("_lives", "_once", "again")

    def __init__(self, lives: Lifetimes) -> None:
        self._lives = lives
        self._once: dict[tuple[str, Queue, int], OffsetSet] = {}
        self.again: dict[tuple[str, Queue, int], OffsetSet] = {}

    def add(self, each: Delivered) -> int:
        """How many records are handled a second time with it."""
        group, _, queue, first, end, _, until, _, _, _, _ = each
        key = group, queue, life_at(self._lives, queue, until)
        known = self._once.get(key)
        if known is None:
            known = self._once[key] = OffsetSet()
        count = 0
        if known.count(first, end):
            repeated = self.again.setdefault(key, OffsetSet())
            at = first
            for missing, there in known.gaps(first, end):
                count += repeated.add(at, missing)
                at = there
            count += repeated.add(at, end)
        known.add(first, end)
        return count


def bursts(deliveries: Iterable[Delivered]) -> dict[tuple[str, str], float]:
    """(Group, member) to its highest delivery rate over its normal one.

    Rates are records per `WINDOW`; the normal one is the median of the windows in which the member was delivered any.
    """
    of_member: dict[tuple[str, str], list[Delivered]] = {}
    for delivery in deliveries:
        if delivery.end > delivery.first:
            of_member.setdefault((delivery.group, delivery.member), []).append(delivery)
    return {key: _burst(each) for key, each in of_member.items()}


def burst(deliveries: Iterable[Delivered]) -> float | None:
    """The highest of the members' `bursts`; None where nothing was delivered."""
    return max(bursts(deliveries).values(), default=None)


def _burst(deliveries: Sequence[Delivered]) -> float:
    windows = _windows(deliveries)
    half = sum(count for _, count in windows) / 2
    passed = 0
    for at, (rate, count) in enumerate(windows):
        passed += count
        if passed >= half:
            # With an even number the median lies between two windows.
            above = windows[at + 1][0] if passed == half else rate
            return windows[-1][0] / ((rate + above) / 2)
    raise AssertionError("a member without a window")


def _windows(deliveries: Sequence[Delivered]) -> list[tuple[float, int]]:
    """(Records, number of windows with as many), ascending; windows without records are left out."""
    single: dict[int, float] = {}
    steps: dict[int, float] = {}
    for delivery in deliveries:
        count = delivery.end - delivery.first
        lasted = delivery.until - delivery.since
        begin, last = floor(delivery.since / WINDOW), floor(delivery.until / WINDOW)
        if last > begin and delivery.until == last * WINDOW:
            last -= 1
        if begin == last:
            single[begin] = single.get(begin, 0.0) + count
            continue
        per_window = count * WINDOW / lasted
        single[begin] = single.get(begin, 0.0) + per_window * (begin + 1 - delivery.since / WINDOW)
        single[last] = single.get(last, 0.0) + per_window * (delivery.until / WINDOW - last)
        if last > begin + 1:
            steps[begin + 1] = steps.get(begin + 1, 0.0) + per_window
            steps[last] = steps.get(last, 0.0) - per_window
    found: dict[float, int] = {}
    marks = sorted({*single, *steps, *(window + 1 for window in single)})
    level = 0.0
    for at, window in enumerate(marks):
        level += steps.get(window, 0.0)
        # What rests of sums that cancel is no record.
        records = round(level + single.get(window, 0.0), 6)
        following = marks[at + 1] if at + 1 < len(marks) else window + 1
        if records > 0:
            found[records] = found.get(records, 0) + (1 if window in single else following - window)
    return sorted(found.items())


_SINCE_AND_FIRST = attrgetter("since", "first")


def positions(deliveries: Iterable[Delivered]) -> Positions:
    found: dict[tuple[str, Queue], list[Delivered]] = {}
    for delivery in deliveries:
        found.setdefault((delivery[0], delivery[2]), []).append(delivery)
    for of_queue in found.values():
        of_queue.sort(key=_SINCE_AND_FIRST)
    return found


class Growing(Protocol):
    """What is written to a queue."""

    def end_offset(self, now: Time) -> int:
        """Offset of the next record to be written."""


def lag_over_time(
    read: Positions,
    production: Mapping[Queue, Growing],
    times: Sequence[Time],
    without_owners: frozenset[str] = frozenset(),
) -> Iterator[tuple[str, Queue, list[int]]]:
    """The lag of every queue that a group has read and that is written to, at each of the times (ascending), in
    records.

    ``without_owners``: groups whose records are given out one by one: what was not handled among handled ones waits."""
    ends: dict[Growing, list[int]] = {}  # most queues grow alike
    for (group, queue), of_queue in read.items():
        growing = production.get(queue)
        if growing is None:
            continue
        if growing not in ends:
            ends[growing] = [growing.end_offset(now) for now in times]
        reached = (_handled_by if group in without_owners else _reached)(of_queue, times)
        yield group, queue, [end - to if end > to else 0 for end, to in zip(ends[growing], reached, strict=True)]


def _reached(deliveries: Sequence[Delivered], times: Sequence[Time]) -> list[int]:
    """The offset up to which any member has come, at each of the times; deliveries in the order of their beginnings."""
    found: list[int] = []
    begun, finished, count = 0, 0, len(deliveries)
    following = deliveries[0].since if deliveries else inf
    active: list[Delivered] = []
    while len(found) < len(times):
        if not active:
            # Nothing changes until the next one begins.
            still = bisect_left(times, following, len(found)) - len(found)
            if still:
                found += [finished] * still
                continue
        now = times[len(found)]
        while following <= now:
            delivery = deliveries[begun]
            if delivery.until > now:
                active.append(delivery)
            elif delivery.end > finished:
                finished = delivery.end
            begun += 1
            following = deliveries[begun].since if begun < count else inf
        if not active:
            found.append(finished)
            continue
        finished = max([finished, *[delivery.end for delivery in active if delivery.until <= now]])
        active = [delivery for delivery in active if delivery.until > now]
        found.append(max([finished, *[_within(delivery, now) for delivery in active]]))
    return found


def _handled_by(deliveries: Sequence[Delivered], times: Sequence[Time]) -> list[int]:
    """The first offset of all and the number of records that had been handled, added up, at each of the times."""
    found: list[int] = []
    first = min([delivery.first for delivery in deliveries], default=0)
    place, active, done = 0, list[Delivered](), OffsetSet()
    for now in times:
        while place < len(deliveries) and deliveries[place].since <= now:
            active.append(deliveries[place])
            place += 1
        for delivery in active:
            done.add(delivery.first, delivery.end if delivery.until <= now else _within(delivery, now))
        active = [delivery for delivery in active if delivery.until > now]
        found.append(first + len(done))
    return found


def _within(delivery: Delivered, now: Time) -> int:
    share = (now - delivery.since) / (delivery.until - delivery.since)
    return delivery.first + floor((delivery.end - delivery.first) * share)


def all_handled(deliveries: Sequence[Delivered], offset: int) -> Time | None:
    """When all records before the offset had been handled, from the first on that was."""
    parts = [each._replace(end=min(each.end, offset), until=when(each, offset)) for each in deliveries]
    done, first = OffsetSet(), min((each.first for each in parts), default=0)
    for part in sorted(parts, key=lambda each: each.until):
        done.add(part.first, part.end)
        if done.count(first, offset) == offset - first:
            return part.until
    return None if first < offset else 0.0


def when(delivery: Delivered, offset: int) -> Time:
    """When the delivery had handled its records before the offset."""
    records = delivery.end - delivery.first
    share = min(1.0, max(0.0, (offset - delivery.first) / records)) if records else 1.0
    return delivery.since + (delivery.until - delivery.since) * share
