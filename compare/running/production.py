"""What is written to every queue in the course of a run."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import ceil, floor, inf
from typing import NamedTuple, TypeAlias

from compare.running.run_variant import RunResult
from compare.running.systems import system_of
from protocols import Queue
from protocols.engine.nodes import TICK, Time
from protocols.facts import Writes
from protocols.load import Production
from protocols.scenario.events import Event, Poison
from protocols.scenario.fields import Brokers, brokers_of, queue_index
from protocols.scenario.keys import keyed_queues
from protocols.scenario.model import Scenario
from protocols.scenario.rates import Rates
from protocols.timeline.lifetimes import Numbering, first_topics, topics_after
from protocols.timeline.order import Keys, Move

Span: TypeAlias = tuple[Time, Time]


def clipped(spans: Iterable[Span], since: Time, until: Time) -> Iterator[Span]:
    """What of these lies between two times."""
    for start, end in spans:
        if start < until and end > since:
            yield max(start, since), min(end, until)


class Produced(NamedTuple):
    """The records from ``first`` on were produced one each ``spacing`` milliseconds (0: all at once), beginning ``at``;
    up to where the next such part begins."""

    first: int
    at: Time
    spacing: Time


@dataclass(frozen=True, slots=True)
class ProductionHistory:
    """``parts``: times of even production, one after the other, since the queue began with offset 0. ``held``: from
    when to when nothing new could be read, because it waited for an acknowledgement, the last one maybe open.
    ``given_up``: of when producers gave up what had waited for too long. ``refusals``: from when to when they gave up
    so many records per second at once."""

    parts: tuple[Production, ...]
    held: tuple[Span, ...] = ()
    given_up: tuple[Span, ...] = ()
    refusals: tuple[tuple[Time, Time, float], ...] = ()
    acknowledged: tuple[Span, ...] = ()
    """When what is held is acknowledged all the same."""

    @property
    def since(self) -> Time:
        """When offset 0 was the next to be written."""
        return self.parts[0].since

    def end_offset(self, now: Time) -> int:
        """Offset of the next record to be written, as far as records can be read."""
        for since, until in self.held:
            if since < now < until:
                now = since
        return self.sent(now)

    def sent(self, now: Time) -> int:
        """The same, with records that have been sent and not been acknowledged yet."""
        for part in reversed(self.parts):
            if part.since <= now:
                return part.end_offset(now)
        return 0

    def arrival(self, offset: int, latest: Time) -> Time:
        """When the record with this offset was sent, to a tick; ``latest`` where it was not before that."""
        early, late = self.since, latest
        if self.sent(late) <= offset:
            return late
        while late - early > TICK:
            middle = (early + late) / 2
            early, late = (middle, late) if self.sent(middle) <= offset else (early, middle)
        return ceil(late / TICK) * TICK

    def produced(self) -> tuple[Produced, ...]:
        """When each record was produced, in the order of offsets."""
        found: list[Produced] = []
        for part in self.parts:
            at_once, spacing = 0, 1000 / part.per_second if part.per_second > 0 else 0.0
            found.append(Produced(part.before, part.since + spacing, spacing))
            for at, count in part.bursts:
                evenly = floor((at - part.since) * part.per_second / 1000)
                found.append(Produced(part.before + evenly + at_once, at, 0.0))
                at_once += count
                found.append(Produced(part.before + evenly + at_once, part.since + (evenly + 1) * spacing, spacing))
        return tuple(found)

    def silences(self, since: Time, until: Time) -> list[tuple[Time, Time]]:
        """When nothing could be written, of a queue to which records are written at other times."""
        ends = [*(part.since for part in self.parts[1:]), until]
        spans = [(max(since, part.since), min(until, end)) for part, end in zip(self.parts, ends, strict=True)]
        silent = [part.per_second <= 0 for part in self.parts]
        found = [span for span, each in zip(spans, silent, strict=True) if each]
        return [(start, end) for start, end in (*found, *clipped(self.given_up, since, until)) if start < end]

    def unacknowledged(self, since: Time, until: Time) -> list[tuple[Time, Time]]:
        """When nothing was acknowledged, in order; what was given up among it."""
        held = (part for each in self.held for part in without(each, self.acknowledged))
        spans = [*self.silences(since, until), *clipped(held, since, until)]
        merged: list[tuple[Time, Time]] = []
        for start, end in sorted(spans):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        return merged

    @property
    def rate(self) -> float:
        """Highest number of records per second."""
        return max(part.per_second for part in self.parts)

    @property
    def rate_at_end(self) -> float:
        """Records per second from the last change on."""
        return self.parts[-1].per_second

    def refused(self, since: Time, until: Time) -> int:
        """Records of the even production that could not be written between two times."""
        at_once = ((min(until, end) - max(since, start), rate) for start, end, rate in self.refusals)
        late = sum(floor((end - start) * self.rate / 1000) for start, end in clipped(self.given_up, since, until))
        return late + sum(floor(max(0.0, lasted) * rate / 1000) for lasted, rate in at_once)

    def goes_on(self, now: Time, per_second: float) -> "ProductionHistory":
        """From now on so many records come per second."""
        last = self.parts[-1]
        if last.per_second == per_second:
            return self
        return replace(self, parts=(*self.parts, Production(per_second, now, last.end_offset(now))))

    def gets(self, now: Time, count: int) -> "ProductionHistory":
        """So many records come at once, beside those that come evenly."""
        last = self.parts[-1]
        return replace(self, parts=(*self.parts[:-1], last._replace(bursts=(*last.bursts, (now, count)))))

    def told(self, now: Time, fact: Writes) -> "ProductionHistory":
        """Producers do from now on what the fact says."""
        history = self.goes_on(now, fact.per_second)
        if history.refusals and history.refusals[-1][1] == inf:
            since, _, rate = history.refusals[-1]
            history = replace(history, refusals=(*history.refusals[:-1], (since, now, rate)))
        if fact.refused:
            history = replace(history, refusals=(*history.refusals, (now, inf, fact.refused)))
        alone = bool(history.acknowledged) and history.acknowledged[-1][1] == inf
        if fact.waits and fact.acknowledged and not alone:
            history = replace(history, acknowledged=(*history.acknowledged, (now, inf)))
        elif alone and not (fact.waits and fact.acknowledged):
            since, _ = history.acknowledged[-1]
            history = replace(history, acknowledged=(*history.acknowledged[:-1], (since, now)))
        waits = bool(history.held) and history.held[-1][1] == inf
        if fact.waits and not waits:
            return replace(history, held=(*history.held, (now, inf)))
        return history if fact.waits or not waits else history._no_longer_held(now, now - fact.at_most)

    def _no_longer_held(self, now: Time, late: Time) -> "ProductionHistory":
        """What has waited can be read from now on, but what was sent before ``late``."""
        since, _ = self.held[-1]
        history = replace(self, held=(*self.held[:-1], (max(since, late), now)))
        if late <= since:
            return history
        last = self.parts[-1]
        part = last._replace(
            pauses=(*last.pauses, (since, late)),
            bursts=tuple([each for each in last.bursts if not since < each[0] < late]),
        )
        return replace(history, parts=(*self.parts[:-1], part), given_up=(*self.given_up, (since, late)))


def without(span: Span, others: Iterable[Span]) -> Iterator[Span]:
    """What of it is in none of the others, which are in order."""
    begin, end = span
    for since, until in others:
        if begin < min(since, end):
            yield begin, min(since, end)
        begin = max(begin, min(until, end))
    if begin < end:
        yield begin, end


def productions(result: RunResult) -> dict[Queue, ProductionHistory]:
    """What is written to every queue of the run; of one that was deleted and made anew, to the new one. Nothing where
    the scenario has no load."""
    scenario = result.variant.scenario
    if not scenario.load.writes and not any(event.writes_records for event in scenario.events):
        return {}
    return _producers(result).written


def poison_of(result: RunResult) -> set[tuple[Queue, int]]:
    """The records that nobody's code can handle, by queue and offset."""
    if not any(isinstance(event, Poison) for event in result.variant.scenario.events):
        return set()
    producers = _producers(result)
    return {(queue, producers.written[queue].end_offset(at) - 1) for queue, at in producers.poison}


def _producers(result: RunResult) -> "_Producers":
    scenario = result.variant.scenario
    producers = _Producers.of(scenario, system_of(result.variant.part.system).numbering)
    told = deque(result.timeline.told(Writes))
    for event in scenario.events:
        while told and told[0][0] < event.at:
            producers.do(*told.popleft())
        producers.live_through(event)
    for now, fact in told:
        producers.do(now, fact)
    return producers


@dataclass(slots=True)
class _Producers:
    """They write to every queue that there is as the load says, unless the system tells otherwise (`Writes`). What
    comes at once for a queue whose broker is ``down`` (RocketMQ) is lost."""

    rates: Rates
    numbering: Numbering
    topics: dict[str, tuple[Queue, ...]]
    brokers: dict[str, Brokers]
    """Topic to the broker of each of its queues."""
    written: dict[Queue, ProductionHistory]
    down: set[str] = field(default_factory=set)
    deleted: set[Queue] = field(default_factory=set)
    poison: list[tuple[Queue, Time]] = field(default_factory=list)
    """Queues that got a record that nobody's code can handle, and when."""
    keyed: frozenset[str] = frozenset()
    """Topics whose records have keys."""
    not_listed: set[Queue] = field(default_factory=set)
    """Queues of which producers do not know."""
    lists: dict[str, list[tuple[Time, dict[Queue, int]]]] = field(default_factory=dict)
    """Keyed topic to the queues that its keys choose among, each with its place in the producer's list, since when."""

    @classmethod
    def of(cls, scenario: Scenario, numbering: Numbering) -> "_Producers":
        topics = first_topics(scenario, numbering)
        brokers = {topic: brokers_of(part.queues) for topic, part in scenario.topics.items()}
        rates, keyed = Rates(scenario, numbering.partitioner), frozenset(scenario.load.keys)
        made = cls(rates, numbering, topics, brokers, {}, keyed=keyed)
        made._write(0.0)
        return made

    def live_through(self, event: Event) -> None:
        """What the event changes. Records for a queue whose broker is down are refused."""
        if event.writes_records:
            there: Mapping[str, Mapping[str, int]] = {topic: Counter(at) for topic, at in self.brokers.items()}
            for topic, broker, number, count in event.written(there):
                queue = self.topics[topic][queue_index(self.brokers[topic], broker, number)]
                if queue.broker not in self.down:
                    self.written[queue] = self.written[queue].gets(event.at, count)
                    self.poison += [(queue, event.at)] if isinstance(event, Poison) else []
        for broker, runs in event.broker_changes().items():
            (self.down.discard if runs else self.down.add)(broker)
        for topic, per_broker in event.queue_changes().items():
            if per_broker is None:
                self.deleted.update(self.topics.get(topic, ()))
                self.brokers.pop(topic, None)
            else:
                if topic not in self.brokers:
                    self.lists.pop(topic, None)  # another topic of the same name
                self.brokers[topic] = self.numbering.placed(self.brokers.get(topic, ()), per_broker)
        self.rates.change(event.queue_changes())
        if event.queue_changes():
            self.topics = topics_after(self.topics, event, self.numbering)
            self._write(event.at)

    def do(self, now: Time, fact: Writes) -> None:
        """What the system tells of a queue."""
        if fact.queue in self.written and fact.queue not in self.deleted:
            self.written[fact.queue] = self.written[fact.queue].told(now, fact)
            (self.not_listed.discard if fact.listed else self.not_listed.add)(fact.queue)
            self._list(now, fact.queue.topic)

    def _write(self, now: Time) -> None:
        there = {queue: rate for topic, queues in self.topics.items() for queue, rate in self._rates_of(topic, queues)}
        for queue in {**dict.fromkeys(self.written), **there}:
            per_second = there.get(queue, 0.0)
            before = self.written.get(queue)
            if before is None or (queue in there and queue in self.deleted):
                self.deleted.discard(queue)
                self.written[queue] = ProductionHistory((Production(per_second, now),))
            else:
                self.written[queue] = before.goes_on(now, per_second)
        for topic in self.topics:
            self._list(now, topic)

    def _list(self, now: Time, topic: str) -> None:
        """Producers may choose among other queues from now on."""
        if topic not in self.keyed:
            return
        known = [queue for queue in self.topics[topic] if queue not in self.not_listed]
        places = self.numbering.partitioner.order([queue.broker for queue in known])
        lists, listed = self.lists.setdefault(topic, []), {known[place]: at for at, place in enumerate(places)}
        if lists and lists[-1][0] == now:
            lists.pop()
        if not lists or lists[-1][1] != listed:
            lists.append((now, listed))

    def _rates_of(self, topic: str, queues: tuple[Queue, ...]) -> Iterator[tuple[Queue, float]]:
        """Each queue with its records per second."""
        brokers = dict.fromkeys(queue.broker for queue in queues)
        rates = {broker: self.rates.at(topic, broker) if broker else self.rates.of(topic) for broker in brokers}
        for queue in queues:
            yield queue, rates[queue.broker][queue.number]


def keys_of(result: RunResult, production: Mapping[Queue, ProductionHistory]) -> Keys | None:
    """The keys of the run's records; None where no topic's records have any. ``production``: its `productions`."""
    keys = result.variant.scenario.load.keys
    if not keys:
        return None
    producers = _producers(result)
    moves = {
        topic: [
            Move(at, {queue: each.sent(at) for queue, each in production.items() if queue.topic == topic})
            for at, _ in lists[1:]
        ]
        for topic, lists in producers.lists.items()
    }
    partitioner, seed = producers.numbering.partitioner, result.variant.seed

    def of(queue: Queue, offset: int) -> int | None:
        lists = producers.lists.get(queue.topic, ())
        since = sum(move.first.get(queue, 0) <= offset for move in moves.get(queue.topic, ()))
        for listed in [listed for _, listed in reversed(lists[: since + 1]) if queue in listed]:
            keyed = keyed_queues(keys[queue.topic], len(listed), partitioner)
            return keyed.key_of(listed[queue], queue, offset, seed)
        return None

    return Keys(of, moves)
