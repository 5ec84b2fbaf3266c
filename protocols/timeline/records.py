"""The life of records that are given out one by one: who has which, how often each was given, and how it ended.

Kafka's share groups and RocketMQ's POP have no owners. A record is given to a member and hidden from all others, for a
while; it ends when the member acknowledges it or its system gives it up, and else it can be given out again. All of it
is kept as ranges of offsets, so that its cost follows the number of facts.

What can never be, whatever a system does, raises `InvariantError` with the fact that says it: a record that two members
have at once, one that is given out after it ended, one that comes back from somebody who does not have it. That a
member *handles* a record late, after another one has ended it, is no such mistake: it happens to slow members.
"""

import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, NamedTuple

from protocols.engine.nodes import TICK, Time
from protocols.facts import Acquired, Available, Committed, Ended, Renewed
from protocols.java import Queue
from protocols.load import quickly_made
from protocols.offsets import OffsetSet
from protocols.timeline.invariants import InvariantError
from protocols.timeline.lifetimes import Lifetimes, life_at
from protocols.timeline.trace import queue_name

BY_RESET: Final = "an administrator set the offset"
"""The fate of what is given out anew because of that."""


class Given(NamedTuple):
    """The records ``first`` to ``end - 1`` were given together at ``since``, hidden until ``due`` as was last said, and
    had one fate at ``until``: ``fate`` is how they ended (`protocols.facts.End`) or why they can be given again
    (`protocols.facts.Back`). At the end of a run ``until`` is None and ``fate`` empty for those that are still hidden.

    ``renewed``: how often ``due`` was put off. Times are milliseconds.
    """

    group: str
    member: str
    queue: Queue
    first: int
    end: int
    attempt: int
    since: Time
    due: Time
    renewed: int = 0
    until: Time | None = None
    fate: str = ""


_given = quickly_made(Given)


class _Life:
    """The records of one life of a queue, of one group."""

    __slots__ = ("ended", "held", "starts")

    def __init__(self) -> None:
        self.starts: list[int] = []
        """The first offsets of ``held``."""
        self.held: list[Given] = []
        """What members have now: disjoint, in the order of offsets."""
        self.ended = OffsetSet()

    def within(self, first: int, end: int) -> slice:
        """The places in ``held`` of all that have a record of the range."""
        low = bisect_right(self.starts, first)
        if low and self.held[low - 1].end > first:
            low -= 1
        return slice(low, max(low, bisect_left(self.starts, end)))

    def put(self, given: Given) -> None:
        at = bisect_left(self.starts, given.first)
        self.starts.insert(at, given.first)
        self.held.insert(at, given)

    def cut(self, first: int, end: int) -> list[Given]:
        """Take the records of the range out of ``held``: in the order of offsets, cut at the range's ends."""
        places = self.within(first, end)
        found = self.held[places]
        if not found:
            return found
        left = [found[0]._replace(end=first)] if found[0].first < first else []
        right = [found[-1]._replace(first=end)] if found[-1].end > end else []
        self.held[places] = [*left, *right]
        self.starts[places] = [each.first for each in (*left, *right)]
        found[0] = found[0]._replace(first=max(first, found[0].first))
        found[-1] = found[-1]._replace(end=min(end, found[-1].end))
        return found


class Records:
    """The records of all groups, kept up with every fact. ``given``: what is no longer hidden is appended to it."""

    def __init__(self, lives: Lifetimes, given: list[Given]) -> None:
        self._lives, self._given = lives, given
        self._of: dict[tuple[str, Queue, int], _Life] = {}

    def acquired(self, now: Time, fact: Acquired) -> None:
        """`InvariantError` where somebody has one of the records, or one has ended."""
        life = self._life(now, fact)
        first, end = fact.first, fact.end
        others = life.held[life.within(first, end)]
        if others:
            raise _broken(now, fact, f"{others[0].member} has {_records(*others[0][2:5])} since {others[0].since} ms")
        if life.ended.count(first, end):
            raise _broken(now, fact, "one of them has ended")
        life.put(_given((*fact[:6], now, fact.until, 0, None, "")))

    def renewed(self, now: Time, fact: Renewed) -> None:
        """`InvariantError` where the member does not have all of them."""
        life = self._life(now, fact)
        for given in self._had(now, fact, life):
            life.put(given._replace(due=fact.until, renewed=given.renewed + 1))

    def available(self, now: Time, fact: Available) -> None:
        """`InvariantError` where the member does not have all of them."""
        self._gone(now, self._had(now, fact, self._life(now, fact)), fact.why)

    def ended(self, now: Time, fact: Ended) -> None:
        """`InvariantError` where one has ended before, or is acknowledged by a member who does not have it."""
        life = self._life(now, fact)
        if life.ended.add(fact.first, fact.end) < fact.end - fact.first:
            raise _broken(now, fact, "one of them has ended before")
        had = self._had(now, fact, life) if fact.how == "acknowledged" else life.cut(fact.first, fact.end)
        self._gone(now, had, fact.how)

    def committed(self, now: Time, fact: Committed) -> None:
        """What an administrator sets (no member) begins anew: records from there on may be given out again."""
        if fact.member is not None or fact.error:
            return
        life = self._of.get((fact.group, fact.queue, _life_at(self._lives, fact.queue, now)))
        if life is not None:
            self._gone(now, life.cut(fact.offset, sys.maxsize), BY_RESET)
            life.ended.remove(fact.offset, sys.maxsize)

    def hidden(self) -> list[Given]:
        """What members have now."""
        return [given for life in self._of.values() for given in life.held]

    def _life(self, now: Time, fact: Acquired | Renewed | Available | Ended) -> _Life:
        key = fact.group, fact.queue, _life_at(self._lives, fact.queue, now)
        life = self._of.get(key)
        if life is None:
            life = self._of[key] = _Life()
        return life

    def _had(self, now: Time, fact: Renewed | Available | Ended, life: _Life) -> list[Given]:
        found = life.cut(fact.first, fact.end)
        if sum(given.end - given.first for given in found) < fact.end - fact.first:
            raise _broken(now, fact, "nobody has one of them")
        for given in found:
            if given.member != fact.member:
                raise _broken(now, fact, f"{given.member} has {_records(*given[2:5])} since {given.since} ms")
        return found

    def _gone(self, now: Time, had: Iterable[Given], fate: str) -> None:
        self._given += [_given((*given[:9], now, fate)) for given in had]


def _life_at(lives: Lifetimes, queue: Queue, now: Time) -> int:
    """Records may be given out in the moment in which their queue begins to be."""
    return life_at(lives, queue, now + TICK)


def _broken(now: Time, fact: Acquired | Renewed | Available | Ended, why: str) -> InvariantError:
    what = type(fact).__name__
    return InvariantError(f"{now} ms: {what} of {_records(*fact[2:5])} by {fact.member} of {fact.group}: {why}")


def _records(queue: Queue, first: int, end: int) -> str:
    return f"{queue_name(queue)} {first} to {end - 1}"


def times_given(given: Iterable[Given], lives: Lifetimes) -> dict[int, int]:
    """How often to how many records were given so often; a topic that is created again has other records."""
    steps: dict[tuple[str, Queue, int], Counter[int]] = {}
    for each in given:
        change = steps.setdefault((each.group, each.queue, _life_at(lives, each.queue, each.since)), Counter())
        change[each.first] += 1
        change[each.end] -= 1
    found: Counter[int] = Counter()
    for change in steps.values():
        times, before = 0, 0
        for offset, step in sorted(change.items()):
            found[times] += offset - before
            times, before = times + step, offset
    del found[0]
    return dict(sorted(found.items()))


def redeliveries(times: Mapping[int, int]) -> int:
    """How often a record was given that had been given before (`times_given`)."""
    return sum((often - 1) * records for often, records in times.items())


def hidden_over_time(given: Iterable[Given]) -> Iterator[tuple[Time, int]]:
    """How many records are hidden from each of these times on (milliseconds, ascending); it begins with 0 records."""
    steps = [(each.since, each.end - each.first) for each in given]
    steps += [(each.until, each.first - each.end) for each in given if each.until is not None]
    steps.sort(key=lambda step: step[0])
    hidden = 0
    for at, together in groupby(steps, key=lambda step: step[0]):
        hidden += sum(step for _, step in together)
        yield at, hidden


def most_hidden(given: Iterable[Given]) -> int:
    """The most records that were hidden at one time."""
    return max((records for _, records in hidden_over_time(given)), default=0)


def ended_how(ended: Iterable[Ended]) -> dict[str, int]:
    """How records ended (`protocols.facts.End`) to how many ended so."""
    found: Counter[str] = Counter()
    for fact in ended:
        found[fact.how] += fact.end - fact.first
    return dict(found)
