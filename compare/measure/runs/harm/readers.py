"""Which records a group has to handle: the queues that its members read, and from when on."""

from collections.abc import Sequence
from typing import NamedTuple

from compare.measure.runs.phases import Phase
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Position
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
    """The queues that groups share and that somebody alive at the end subscribes to, in the order of the scenario.

    A group reads a queue since somebody first subscribed to it, but not before the group had any queue at all, and had
    asked where to begin: what was written before that belongs to nobody.
    """
    began: dict[str, Time] = {}
    for each in timeline.beliefs:
        began[each.group] = min(began.get(each.group, each.since), each.since)
    asked: dict[tuple[str, Queue], Time] = {}
    for observed in timeline.facts:
        if type(observed.fact) is Position:
            asked.setdefault((observed.fact.group, observed.fact.queue), observed.now)
    since: dict[tuple[str, Queue], Time] = {}
    for phase in phases:
        there = {group: frozenset(each.queues) for group, each in phase.then.groups.items()}
        since = {key: at for key, at in since.items() if key[1] in there[key[0]]}
        for key in phase.then.expected():
            since.setdefault(key, phase.at)
    found = []
    for group, queue in phases[-1].then.expected():
        if group not in timeline.broadcasting:
            start = began.get(group, 0.0)
            first = asked.get((group, queue), start)
            if start <= first < start + BEGINNING_MS:
                start = first
            found.append(ReadQueue(group, queue, max(since[group, queue], start)))
    return found


def broadcasting_reads(timeline: Timeline) -> list[ReadQueue]:
    """The queues that each member of a broadcasting group reads, since it first did."""
    first: dict[tuple[str, Queue], Time] = {}
    for each in timeline.beliefs:
        if each.group in timeline.broadcasting:
            first.setdefault((f"{each.group}/{each.member}", each.queue), each.since)
    return [ReadQueue(reader, queue, since) for (reader, queue), since in first.items()]
