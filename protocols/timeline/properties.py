"""What one would wish of a system, as sentences that are measured: each held in a run or not, and then comes why."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from protocols.engine.nodes import Time
from protocols.java import Queue
from protocols.timeline.ownership import Interval
from protocols.timeline.rebalances import unfinished_since
from protocols.timeline.story import story_of_queue
from protocols.timeline.timeline import Timeline, back_within_a_generation
from protocols.timeline.trace import generation_suffix, queue_name, seconds


@dataclass(frozen=True, slots=True)
class PropertyResult:
    """Whether a property held. Where it did not: ``why``, a sentence about the first failure, ``failures``, how many
    there were, and ``story``, the lines that led to the first."""

    name: str
    held: bool
    why: str = ""
    failures: int = 0
    story: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Where a property did not hold; time in milliseconds."""

    at: Time
    group: str
    queue: Queue
    why: str


Expected: TypeAlias = Iterable[tuple[str, Queue] | tuple[str, Queue, str]]
"""(Group, queue) of all that somebody alive at the end subscribes to and that must have one owner; with the name of a
member where that member must read the queue, whoever else does (broadcasting)."""

Property: TypeAlias = Callable[[Timeline, Expected], Iterator[Failure]]

ONE_OWNER = "no queue is owned twice within a generation"
NO_COMMIT_BACK = "committed offsets never go back within a generation"
SETTLES = "after the last event the group settles and every queue is owned"


def measure(timeline: Timeline, expected: Expected, names: Sequence[str] = ()) -> list[PropertyResult]:
    """Every property (or those of these names). ``expected``: what must have an owner at the end."""
    wanted = list(expected)
    return [_measured(timeline, wanted, name) for name in names or PROPERTIES]


def _measured(timeline: Timeline, expected: Expected, name: str) -> PropertyResult:
    failures = sorted(PROPERTIES[name](timeline, expected), key=lambda each: each.at)
    if not failures:
        return PropertyResult(name, True)
    first = failures[0]
    story = story_of_queue(timeline, first.group, first.queue, first.at)
    return PropertyResult(name, False, first.why, len(failures), tuple(story))


def _one_owner(timeline: Timeline, expected: Expected) -> Iterator[Failure]:
    """Beliefs of one generation in one queue that overlap in time. Systems without generations are not asked."""
    alike: dict[tuple[str, Queue, int], list[Interval]] = {}
    for belief in timeline.beliefs:
        if belief.generation is not None:
            alike.setdefault((belief.group, belief.queue, belief.generation), []).append(belief)
    for (group, queue, generation), intervals in alike.items():
        for at, first in enumerate(intervals):
            for other in intervals[at + 1 :]:
                until = timeline.end if first.until is None else first.until
                until = min(until, timeline.end if other.until is None else other.until)
                if first.member != other.member and max(first.since, other.since) < until:
                    yield Failure(
                        max(first.since, other.since),
                        group,
                        queue,
                        f"{queue_name(queue)} was owned by {first.member} and {other.member} from"
                        f" {seconds(max(first.since, other.since))} to {seconds(until)}{generation_suffix(generation)}",
                    )


def _no_commit_back(timeline: Timeline, expected: Expected) -> Iterator[Failure]:
    # Of a queue of which none lies before what stood there, none lies before another one.
    queues = {(each.group, each.queue) for each in timeline.commits_back}
    for each in back_within_a_generation(timeline.commits_of(queues)):
        unchecked = "" if each.generation is not None else ", and without generations nobody checks who owns the queue"
        yield Failure(
            each.at,
            each.group,
            each.queue,
            f"{each.member} committed {queue_name(each.queue)} at {each.offset} at {seconds(each.at)}"
            f"{generation_suffix(each.generation)}; {each.before} stood there{unchecked}",
        )


def _settles(timeline: Timeline, expected: Expected) -> Iterator[Failure]:
    """At the end each queue that somebody subscribes to has exactly one owner (where the group is broadcasting: all its
    readers), no rebalance is going on, and the last ones did not follow each other as if there were no end."""
    yield from _goes_on(timeline)
    owners: dict[tuple[str, Queue], list[str]] = {}
    for belief in timeline.beliefs:
        if belief.until is None:
            owners.setdefault((belief.group, belief.queue), []).append(belief.member)
    unfinished = unfinished_since(timeline.facts)
    for group, queue, *readers in expected:
        having = owners.get((group, queue), [])
        if readers:
            if readers[0] not in having:
                yield Failure(timeline.end, group, queue, f"{queue_name(queue)} is not read by {readers[0]} at the end")
        elif len(having) != 1:
            who = f"is owned by {', '.join(having[:-1])} and {having[-1]}" if having else "has no owner"
            yield Failure(timeline.end, group, queue, f"{queue_name(queue)} {who} at the end")
        elif group in unfinished:
            began = seconds(unfinished[group])
            yield Failure(timeline.end, group, queue, f"the rebalance of {group} that began at {began} has not ended")


FEWEST_CHANGES = 3
"""So many changes of ownership, each after some quiet, look as if they went on for ever."""

TOGETHER: Time = 1000.0
"""Changes of ownership with less time between them are one."""


def _goes_on(timeline: Timeline) -> Iterator[Failure]:
    """Groups whose members gain and lose queues again and again after the last event: it has been quiet at the end for
    no longer than between two of these changes."""
    last_event = max(
        (happening.at for happening in timeline.causes.happenings if happening.at <= timeline.end), default=0.0
    )
    began, ended = set(), set()
    for belief in timeline.beliefs:
        if belief.since > last_event:
            began.add((belief.group, belief.member, belief.queue, belief.since))
        if belief.until is not None and belief.until > last_event:
            ended.add((belief.group, belief.member, belief.queue, belief.until))
    changes: dict[str, dict[Time, Queue]] = {}
    # A queue that is kept from one generation to the next has not changed.
    for group, _, queue, at in sorted(began ^ ended):
        changes.setdefault(group, {})[at] = queue
    for group in changes:
        ordered = sorted(changes[group])
        quiet = [after - before for before, after in pairwise((*ordered, timeline.end))]
        quiet, at_the_end = [each for each in quiet[:-1] if each >= TOGETHER], quiet[-1]
        if len(quiet) + 1 >= FEWEST_CHANGES and at_the_end <= max(quiet):
            why = (
                f"ownership in {group} still changes at the end, {len(quiet) + 1} times since the last event, the last"
                f" time {seconds(at_the_end)} before the end"
            )
            yield Failure(ordered[-1], group, changes[group][ordered[-1]], why)


PROPERTIES: Mapping[str, Property] = {ONE_OWNER: _one_owner, NO_COMMIT_BACK: _no_commit_back, SETTLES: _settles}
"""Sentence to what finds its failures."""
