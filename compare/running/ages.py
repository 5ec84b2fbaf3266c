"""How old records are when they are handled: from produced to handled for the first time.

Records are counted one by one, but never looked at one by one: a delivery's ages rise or fall evenly, or are all the
same, between the times at which production or the delivery changes. Records that wait at the end (`Work.waits`) count
with the age that they have by then, which is less than they will have: a figure that may be of one of them, or of one
that is younger, is a lower bound.

What is compared is the age of those that were produced after ownership had come to rest for the first time, and what
had waited by then was worked off: the others are more than one in a hundred even of a long run where members are busy,
so that the 99th percentile told who starts sooner.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from math import ceil, floor, inf
from operator import itemgetter
from typing import NamedTuple

from compare.documents.comparison import AgeRecord
from compare.running.lag import waiting_at
from compare.running.phases import Phase
from compare.running.production import Produced, ProductionHistory
from compare.running.run_variant import RunResult
from compare.running.work import Waits
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Delivered
from protocols.offsets import OffsetSet
from protocols.timeline.order import Pace
from protocols.timeline.timeline import Timeline


class _Evenly(NamedTuple):
    """``records`` in number, the ages of which rise by ``step`` from ``low`` on."""

    low: Time
    step: Time
    records: int

    def up_to(self, age: Time) -> int:
        """How many are at most so old."""
        return 0 if age < self.low else min(self.records, floor((age - self.low) / self.step) + 1)


_ALIKE = 1e-6
"""Ages that differ by less milliseconds are equal."""


class Ages:
    """Ages of records in milliseconds, of each how many."""

    def __init__(self) -> None:
        self._single = array("d")
        self._alike: Counter[Time] = Counter()
        """Of several records each."""
        self._evenly: list[_Evenly] = []
        self.handled = 0
        self._waiting = 0
        self._youngest = inf
        """The least age of those that wait."""

    def add(self, age: Time, step: Time, count: int, *, waits: bool = False) -> None:
        """So many records, each ``step`` older (below 0: younger) than the one before; ``waits``: so far."""
        if waits:
            self._waiting += count
            self._youngest = min(self._youngest, age, age + step * (count - 1))
        else:
            self.handled += count
        if count == 1:
            self._single.append(max(0.0, age))
        elif abs(step) * count < _ALIKE:
            self._alike[max(0.0, age)] += count
        else:
            low = age if step > 0 else age + step * (count - 1)
            self._evenly.append(_Evenly(low, abs(step), count))

    @classmethod
    def together(cls, parts: Iterable["Ages"]) -> "Ages":
        made = cls()
        for part in parts:
            made._single += part._single
            made._alike.update(part._alike)
            made._evenly += part._evenly
            made.handled += part.handled
            made._waiting += part._waiting
            made._youngest = min(made._youngest, part._youngest)
        return made

    def document(self) -> AgeRecord:
        """``p50``, ``p99``: the age that so many of a hundred records do not exceed; null without records."""
        every = self.handled + self._waiting
        if not every:
            return {"p50": None, "p99": None, "max": None, "at_least": []}
        single, alike = sorted(self._single), sorted(self._alike)
        counts = list(accumulate((self._alike[age] for age in alike), initial=0))
        ends = (each.low + each.step * (each.records - 1) for each in self._evenly)
        highest = max([*single[-1:], *alike[-1:], *ends])
        p50, p99 = (self._at(ceil(every * percent / 100), single, alike, counts, highest) for percent in (50, 99))
        bounds = [name for name, age in (("p50", p50), ("p99", p99), ("max", highest)) if self._youngest <= age]
        return {"p50": p50, "p99": p99, "max": highest, "at_least": bounds}

    def _at(
        self, rank: int, single: Sequence[Time], alike: Sequence[Time], counts: Sequence[int], highest: Time
    ) -> Time:
        """The age of the record with this rank, 1 the youngest: halved until no other lies between. ``counts``: how
        many records the first ages of ``alike`` have."""
        below, low, high, evenly = 0, -1.0, highest, self._evenly
        while high - low > _ALIKE:
            middle = (low + high) / 2
            up_to = bisect_right(single, middle) + counts[bisect_right(alike, middle)]
            if below + up_to + sum([each.up_to(middle) for each in evenly]) >= rank:
                high = middle
            else:
                low = middle
            # Whatever lies outside is looked at no more.
            below += sum([each.records for each in evenly if each.low + each.step * each.records <= low])
            evenly = [each for each in evenly if each.low <= high and each.low + each.step * each.records > low]
        before = (ages[max(0, at - 1) : at] for ages in (single, alike) for at in [bisect_right(ages, high)])
        return max(
            [
                *chain.from_iterable(before),
                *(each.low + each.step * (each.up_to(high) - 1) for each in evenly if each.low <= high),
            ]
        )


def handled_per_s(ages: Ages, lasted: Time) -> float:
    """Records handled for the first time in each second of so many milliseconds; 0 where these are none."""
    return ages.handled / lasted * 1000 if lasted > 0 else 0.0


class _Linear(NamedTuple):
    """So many records, the first handled ``at``, the others ``step`` later each; their ages from ``age`` on rise by
    ``older`` each."""

    at: Time
    step: Time
    age: Time
    older: Time
    records: int

    def part(self, first: int, end: int) -> "_Linear":
        return _Linear(self.at + first * self.step, self.step, self.age + first * self.older, self.older, end - first)


class AgesOfRun(NamedTuple):
    """Of the records that were handled in each of the ``phases``, all readers together, in the last one with those that
    wait at its end; ``every``: of all phases; ``settled``: of those that were produced after the group had begun."""

    phases: list[Ages]
    every: Ages
    settled: Ages

    def document(self) -> AgeRecord:
        record, settled = self.every.document(), self.settled.document()
        bounds = [*record["at_least"], *(["settled_p99"] if "p99" in settled["at_least"] else [])]
        return {**record, "settled_p99": settled["p99"], "at_least": bounds}


def begun(timeline: Timeline, until: Time) -> Time:
    """The last change of ownership before a time; where records are given one by one, when the first of them were."""
    changes = (at for belief in timeline.beliefs for at in (belief.since, belief.until) if at is not None)
    first: dict[str, Time] = {}
    for given in timeline.given:
        first[given.group] = min(first.get(given.group, given.since), given.since)
    return max([at for at in (*changes, *first.values()) if at < until], default=0.0)


LOOKS = 120
"""How often the lag is looked at between the group's rest and the first event."""


def caught_up(result: RunResult, production: Mapping[Queue, ProductionHistory], since: Time, until: Time) -> Time:
    """When in this time no more waits for the first time than usually does in its second half: members that are 80 %
    busy need four times as long for what waited at the start as it took to come. Where ever more waits, at once."""
    step = (until - since) / LOOKS
    waiting = waiting_at(result, production, [since + step * number for number in range(LOOKS)]) if step > 0 else {}
    usual = sorted([*waiting.values()][len(waiting) // 2 :])
    return next((at for at, lag in waiting.items() if lag <= usual[len(usual) // 2]), since)


def ages_of(
    result: RunResult, production: Mapping[Queue, ProductionHistory], phases: Sequence[Phase], waits: Iterable[Waits]
) -> AgesOfRun:
    """The ages of the records that were handled."""
    starts = [phase.at for phase in phases[1:]]
    early, late = [Ages() for _ in phases], [Ages() for _ in phases]
    since_rest = caught_up(result, production, begun(result.timeline, phases[0].until), phases[0].until)
    bounds = {queue: history.sent(since_rest) for queue, history in production.items()}
    least, most = result.variant.scenario.run.latency
    produced = {queue: history.produced() for queue, history in production.items()}
    travel = (least + most) / 2
    known: dict[tuple[str, Queue], OffsetSet] = {}
    for delivery in result.timeline.deliveries_by_reader:
        group, _, queue, start, stop, _, until, _, turn, _, _ = delivery
        history = production.get(queue)
        if history is None or until <= history.since:
            continue  # of a topic that was deleted, and created again
        done = known.get((group, queue))
        if done is None:
            done = known[group, queue] = OffsetSet()
        if done.count(start, stop):
            parts = list(done.gaps(start, stop))
            done.add(start, stop)
        else:
            done.add(start, stop)
            if stop == start + 1 and not turn:
                of = late if start >= bounds[queue] else early
                of[bisect_right(starts, until)].add(until - _produced_at(produced[queue], start), 0.0, 1)
                continue
            parts = [(start, stop)]
        for first, end in parts:
            for low, high, of in _cut(first, end, bounds[queue], early, late):
                for each in _linear(delivery, low, high, produced[queue], travel):
                    _share_out(each, starts, of)
    for (_, queue, _), first, end in waits:
        for low, high, of in _cut(first, end, bounds[queue], early, late):
            for start, stop, since, spacing in _evenly_produced(produced[queue], low, high):
                of[-1].add(result.timeline.end - since, -spacing, stop - start, waits=True)
    of_phases = [Ages.together(both) for both in zip(early, late, strict=True)]
    return AgesOfRun(of_phases, Ages.together(of_phases), Ages.together(late))


def _cut(first: int, end: int, at: int, early: list[Ages], late: list[Ages]) -> Iterator[tuple[int, int, list[Ages]]]:
    if first < at:
        yield first, min(end, at), early
    if end > at:
        yield max(first, at), end, late


def _produced_at(produced: Sequence[Produced], offset: int) -> Time:
    first, at, spacing = produced[bisect_right(produced, offset, key=_FIRST) - 1 if len(produced) > 1 else 0]
    return at + (offset - first) * spacing


_FIRST = itemgetter(0)


def _share_out(linear: _Linear, starts: Sequence[Time], found: Sequence[Ages]) -> None:
    """To the phases in which the records were handled."""
    last = linear.at + linear.step * (linear.records - 1)
    phase = bisect_right(starts, linear.at)
    while phase < len(starts) and starts[phase] <= last:
        before = min(linear.records, max(1, ceil((starts[phase] - linear.at) / linear.step)))
        found[phase].add(linear.age, linear.older, before)
        linear = linear.part(before, linear.records)
        if not linear.records:
            return
        phase = bisect_right(starts, linear.at)
    found[phase].add(linear.age, linear.older, linear.records)


def _linear(delivery: Delivered, first: int, end: int, produced: Sequence[Produced], travel: Time) -> Iterator[_Linear]:
    """The records ``first`` to ``end - 1`` of the delivery. ``travel``: how long a message is under way."""
    for start, stop, since, spacing in _evenly_produced(produced, first, end):
        if delivery.turn:
            yield from _computed(delivery, start, stop, (since, spacing), travel + delivery.wait + delivery.each)
        else:
            yield from _observed(Pace.of(delivery), start, stop, (since, spacing))


def _evenly_produced(produced: Sequence[Produced], first: int, end: int) -> Iterator[tuple[int, int, Time, Time]]:
    """The records ``first`` to ``end - 1`` in parts that came evenly: first, end, since when, one each how long."""
    place = bisect_right(produced, first, key=_FIRST) - 1
    while first < end:
        stop = min(end, produced[place + 1].first) if place + 1 < len(produced) else end
        if stop > first:
            begun, at, spacing = produced[place]
            yield first, stop, at + (first - begun) * spacing if first > begun else at, spacing
        first, place = stop, place + 1


def _rows(delivery: Delivered, rows: int, first: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The rows of the delivery that hold these records: number, first record, end."""
    count = delivery.end - delivery.first
    while first < end:
        row = (first - delivery.first) * rows // count
        stop = min(end, delivery.first + -(-(row + 1) * count // rows))
        yield row, first, stop
        first = stop


def _observed(pace: Pace, first: int, end: int, production: tuple[Time, Time]) -> Iterator[_Linear]:
    since, spacing = production
    delivery = pace.delivery
    if pace.rows == delivery.end - delivery.first:
        ended = pace.ended(first)
        yield _Linear(ended, pace.step, ended - since, pace.step - spacing, end - first)
        return
    for _, start, stop in _rows(delivery, pace.rows, first, end):
        ended = pace.ended(start)
        yield _Linear(ended, 0.0, ended - since - (start - first) * spacing, -spacing, stop - start)


def _computed(
    delivery: Delivered, first: int, end: int, production: tuple[Time, Time], late: Time
) -> Iterator[_Linear]:
    """A loop's turns: a record is handled at the end of its turn, but not earlier than ``late`` after it was produced:
    when it has travelled, waited and been handled."""
    since, spacing = production
    at_once, turn = delivery.at_once, delivery.turn
    start = first
    while start < end:
        row = (start - delivery.first) // at_once
        ended, came = delivery.since + (row + 1) * turn, since + (start - first) * spacing
        # In one go: those of a row, or where one record is a row all of them.
        stop = end if at_once == 1 else min(end, delivery.first + (row + 1) * at_once)
        step = turn if at_once == 1 else 0.0
        if ended - came <= late and spacing * at_once >= turn:
            # It has caught up: the others come no faster than they are handled.
            yield _Linear(came + late, spacing, late, 0.0, end - start)
            return
        yield from _not_below(_Linear(ended, step, ended - came, step - spacing, stop - start), late, spacing)
        start = stop


def _not_below(linear: _Linear, late: Time, spacing: Time) -> Iterator[_Linear]:
    """The same with ages of at least ``late``: where those are below, records are handled as they come."""
    at, _, age, older, count = linear
    ages = age, age + older * (count - 1)
    if min(ages) >= late:
        yield linear
        return
    if max(ages) <= late:
        yield _Linear(at - age + late, spacing, late, 0.0, count)
        return
    above = min(count - 1, max(1, ceil((late - age) / older)))
    before, after = linear.part(0, above), linear.part(above, count)
    lower = before if older > 0 else after
    for each in (before, after):
        yield _Linear(each.at - each.age + late, spacing, late, 0.0, each.records) if each is lower else each
