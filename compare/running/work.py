"""Which records a group has to handle: the queues that its members read, and from when on.

How much of the work was done: records written, handled, passed over for ever, still waiting.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from compare.running.phases import Phase
from compare.running.production import ProductionHistory
from protocols import Queue
from protocols.engine.nodes import TICK, Time
from protocols.facts import Committed, Delivered, Ended, PassedOver, Position
from protocols.offsets import OffsetSet
from protocols.timeline import Timeline

BEGINNING_MS: Time = 1000.0
"""So long at most a group that begins takes to learn where to begin in its queues."""


class ReadQueue(NamedTuple):
    """``reader`` has to handle all records written to the queue from ``since`` (milliseconds) on. The reader is a
    group; where that is broadcasting, it is one member, named ``group/member`` as `Timeline.deliveries_by_reader` does.
    """

    reader: str
    queue: Queue
    since: Time


def shared_reads(timeline: Timeline, phases: Sequence[Phase]) -> list[ReadQueue]:
    """The queues that groups share and that somebody alive at the end subscribes to, in the order of the scenario; of a
    group without members at the end those of its last members: what is written waits for the next ones.

    A group reads a queue since somebody first subscribed to it, but not before the group had any queue at all, and had
    asked where to begin: what was written before that belongs to nobody. A group without owners begins with the first
    record that it is given, but before the first event, as without a load only events write. A share group that begins
    at the end of its partitions (``share.auto.offset.reset`` latest) begins in each by itself, when a member first
    fetches from it.
    """
    latest = phases[1].at - TICK if len(phases) > 1 else timeline.end
    began = dict.fromkeys(timeline.without_owners, latest)
    firsts = [(belief.group, belief.since) for belief in timeline.beliefs]
    for group, at in (*firsts, *((given.group, given.since) for given in timeline.given)):
        began[group] = min(began.get(group, at), at)
    asked: dict[tuple[str, Queue], Time] = {}
    for now, fact in timeline.told(Position):
        if fact.group not in timeline.without_owners or fact.why == "latest":
            asked.setdefault((fact.group, fact.queue), now)
    since: dict[tuple[str, Queue], Time] = {}
    for phase in phases:
        there = {group: frozenset(each.queues) for group, each in phase.then.groups.items()}
        since = {key: at for key, at in since.items() if key[1] in there[key[0]]}
        for key in phase.then.expected():
            since.setdefault(key, phase.at)
    found, last = [], phases[-1].then
    left = [key for key in since if not len(last.groups[key[0]].members)]
    for group, queue in (*last.expected(), *left):
        if group not in timeline.broadcasting:
            start = began.get(group, 0.0)
            first = asked.get((group, queue), start)
            if group in timeline.without_owners or start <= first < start + BEGINNING_MS:
                start = first
            found.append(ReadQueue(group, queue, max(since[group, queue], start)))
    return found


def broadcasting_reads(timeline: Timeline) -> list[ReadQueue]:
    """The queues that each member of a broadcasting group reads, since it first did."""
    first: dict[tuple[str, Queue], Time] = {}
    for belief in timeline.beliefs:
        if belief.group in timeline.broadcasting:
            first.setdefault((f"{belief.group}/{belief.member}", belief.queue), belief.since)
    return [ReadQueue(reader, queue, since) for (reader, queue), since in first.items()]


IN_HAND_MS: Time = 1000.0
"""Records written in so many last milliseconds of a run do not count as waiting: they are on their way."""


class Passed(NamedTuple):
    """Records ``first`` to ``end - 1`` that nobody handled, though the reader goes on behind them. ``fact``: who could
    not handle the record, or that it was given up, where that is why."""

    read: ReadQueue
    first: int
    end: int
    fact: PassedOver | Ended | None = None


class Waits(NamedTuple):
    """Records ``first`` to ``end - 1`` that are not handled at the end."""

    read: ReadQueue
    first: int
    end: int


class Work(NamedTuple):
    """Records that the readers had to handle. ``written``: all of them; ``handled``: at least once; ``waits``: not
    handled at the end, those of the last `IN_HAND_MS` left out; ``passed``: never to be handled, because the reader
    went on behind them; ``refused``: never written, because no broker of the queue ran."""

    written: int
    handled: int
    waits: tuple[Waits, ...]
    passed: tuple[Passed, ...]
    refused: int

    @property
    def waiting(self) -> int:
        """How many records wait."""
        return sum(each.end - each.first for each in self.waits)

    @property
    def skipped(self) -> int:
        """How many records were passed over."""
        return sum(each.end - each.first for each in self.passed)


def work_of(timeline: Timeline, reads: Sequence[ReadQueue], production: Mapping[Queue, ProductionHistory]) -> Work:
    """The work of these readers, added up."""
    if not reads:
        return Work(0, 0, (), (), 0)
    deliveries = timeline.reading
    beyond, unable = _goes_on_from(timeline, production), _could_not_handle(timeline, production)
    written = handled = refused = 0
    passed: list[Passed] = []
    waits: list[Waits] = []
    for read in reads:
        history = production.get(read.queue)
        if history is None:
            continue
        start, end = history.end_offset(read.since), history.end_offset(timeline.end)
        key = read.reader, read.queue
        done = _handled(deliveries.get(key, ()), history.since)
        over = {
            offset: fact for offset, fact in unable.get(key, {}).items() if start <= offset < end and offset not in done
        }
        written += end - start
        handled += done.count(start, end)
        passed += [Passed(read, offset, offset + 1, fact) for offset, fact in over.items()]
        # From here on, `done` holds all that needs no more waiting.
        done.update((offset, offset + 1) for offset in over)
        lost = list(done.gaps(start, min(end, beyond.get(key, start))))
        passed += [Passed(read, *each) for each in lost]
        done.update(lost)
        due = max(start, history.end_offset(max(read.since, timeline.end - IN_HAND_MS)))
        waits += [Waits(read, *each) for each in done.gaps(start, due)]
        refused += history.refused(read.since, timeline.end)
    return Work(written, handled, tuple(waits), tuple(passed), refused)


def shared_work(
    timeline: Timeline, phases: Sequence[Phase], production: Mapping[Queue, ProductionHistory]
) -> tuple[list[ReadQueue], Work]:
    """The queues that groups share, as `shared_reads` has them, and the work there."""
    reads = shared_reads(timeline, phases)
    return reads, work_of(timeline, reads, production)


def hidden_of(timeline: Timeline, waits: Iterable[Waits]) -> dict[str, int]:
    """Member to the records of these that it was given last and has still."""
    found: dict[str, int] = {}
    for (reader, queue, _), first, end in waits:
        for given in timeline.given:
            records = min(end, given.end) - max(first, given.first)
            if records > 0 and (given.group, given.queue, given.until) == (reader, queue, None):
                found[given.member] = found.get(given.member, 0) + records
    return found


def _handled(deliveries: Iterable[Delivered], since: Time) -> OffsetSet:
    """What was handled of a queue that began at ``since``: before, the offsets were those of other records."""
    offset_set = OffsetSet()
    first = end = 0
    # Most deliveries go on where the one before ended.
    for delivery in deliveries:
        if delivery.until <= since:
            continue
        if delivery.first == end:
            end = delivery.end
        else:
            offset_set.add(first, end)
            first, end = delivery.first, delivery.end
    offset_set.add(first, end)
    return offset_set


def _could_not_handle(
    timeline: Timeline, production: Mapping[Queue, ProductionHistory]
) -> dict[tuple[str, Queue], dict[int, PassedOver | Ended]]:
    """(Reader, queue) to what it passed over because its code could not handle it, by offsets: who did so last; or what
    its system gave up."""
    found: dict[tuple[str, Queue], dict[int, PassedOver | Ended]] = {}
    for now, fact in timeline.told(PassedOver):
        if fact.queue in production and now > production[fact.queue].since:
            reader = f"{fact.group}/{fact.member}" if fact.group in timeline.broadcasting else fact.group
            found.setdefault((reader, fact.queue), {})[fact.offset] = fact
    for now, ended in timeline.told(Ended):
        if ended.how != "acknowledged" and ended.queue in production and now > production[ended.queue].since:
            of_queue = found.setdefault((ended.group, ended.queue), {})
            of_queue.update(dict.fromkeys(range(ended.first, ended.end), ended))
    return found


def _goes_on_from(timeline: Timeline, production: Mapping[Queue, ProductionHistory]) -> dict[tuple[str, Queue], int]:
    """(Reader, queue) to the offset before which nobody will look again: the committed one at the end, or one at which
    a member began to read. Where records are given out one by one, offsets say what was given, not what is done."""
    found: dict[tuple[str, Queue], int] = {}
    not_shared = timeline.not_shared
    for _, commit in timeline.told(Committed):
        if not commit.error and commit.group not in not_shared:
            found[commit.group, commit.queue] = commit.offset
    for now, (group, member, queue, offset, _) in timeline.told(Position):
        history = production.get(queue)
        if history is None or now < history.since or group in timeline.without_owners:
            continue
        reader = f"{group}/{member}" if group in timeline.broadcasting else group
        found[reader, queue] = max(found.get((reader, queue), 0), offset)
    return found
