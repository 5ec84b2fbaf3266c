"""The chain of causes behind a rebalance: from what the scenario let happen to the last effect, in words.

The story of a run as lines of text, and the part of it that led to one moment of one queue.
"""

from collections.abc import Iterator
from heapq import merge
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.engine.simulation import CALL
from protocols.facts import (
    Acquired,
    Committed,
    Delivered,
    Ended,
    Epoch,
    Owns,
    Position,
    RebalanceBegan,
    Renewed,
    Resends,
    Transition,
    Writes,
)
from protocols.java import Queue
from protocols.timeline import trace
from protocols.timeline.deliveries import handled_more_than_once
from protocols.timeline.lifetimes import time_existing
from protocols.timeline.ownership import Double, Gap, length
from protocols.timeline.rebalances import Rebalance
from protocols.timeline.timeline import Timeline

LONGEST = 40
"""Steps that a chain names; of a longer one the middle is left out, and that is said."""


class ChainStep(NamedTuple):
    """One step of a chain, at a time in milliseconds."""

    at: Time
    text: str


def causal_chain(timeline: Timeline, rebalance: Rebalance) -> list[ChainStep]:
    """From the first event to the last effect, in the order of time. With a trace, every message and timer on the way
    is named."""
    before = [rebalance.cause]
    while before[-1].follows is not None:
        before.append(before[-1].follows)
    first = rebalance.cause.at
    observed = list(rebalance.facts)
    last = _last_effect(timeline, rebalance)
    if last is not None and last not in observed:
        observed.append(last)
    # Steps of equal time: what led to a fact comes before it.
    links = [(each.at, 0, ChainStep(each.at, each.text)) for each in reversed(before)]
    links += [(step.at, 1, ChainStep(step.at, trace.describe_step(step))) for step in _steps(timeline, observed, first)]
    links += [
        (observed_fact.now, 2, ChainStep(observed_fact.now, trace.describe_fact(observed_fact.fact)))
        for observed_fact in observed
    ]
    ordered = [link for _, _, link in sorted(links, key=lambda each: each[:2])]
    if len(ordered) <= LONGEST:
        return ordered
    half = LONGEST // 2
    left_out = ChainStep(ordered[half].at, f"... {len(ordered) - 2 * half} more steps ...")
    return [*ordered[:half], left_out, *ordered[-half:]]


def _steps(
    timeline: Timeline, observed: list[trace.ObservedFact], since: Time
) -> list[trace.Sent | trace.HandledEvent]:
    """All that led to these facts, from the trace, not before ``since``; calls of the scenario are known already."""
    found: dict[int, trace.Sent | trace.HandledEvent] = {}
    for observed_fact in observed if timeline.trace is not None else ():
        assert timeline.trace is not None
        for step in timeline.trace.back(observed_fact.cause):
            if step.number in found or step.at < since:
                break
            if not isinstance(step, trace.HandledEvent) or step.kind != CALL:
                found[step.number] = step
    return [found[number] for number in sorted(found)]


def _last_effect(timeline: Timeline, rebalance: Rebalance) -> trace.ObservedFact | None:
    """The last belief that was stated in the rebalance's generation; members that rebalance by themselves
    report their own ends."""
    if rebalance.generation is None or rebalance.ended is None:
        return None
    last = timeline.last_of_generation.get((rebalance.group, rebalance.generation))
    return last if last is not None and last.now >= rebalance.began else None


MOST_LINES = 5000
"""Lines of a story; what comes after is left out, and that is said."""

MOST_STEPS = 20
"""Lines of the story of a queue: the last so many."""


class StoryLine(NamedTuple):
    """What happened, in words. ``mark`` is ``*`` for what the scenario lets happen, ``!`` for what should not be."""

    at: Time
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.at / 1000:9.3f}s {self.mark or ' '} {self.text}"


def story(timeline: Timeline) -> str:
    """The significant facts, a line each: events, rebalances and their causes, who owns what, callbacks, gaps,
    double ownership, commits that were refused or went back, records handled twice. Ends with a newline."""
    lines = merge(
        _happenings(timeline),
        _facts(timeline),
        _gaps(timeline),
        _doubles(timeline),
        _commits(timeline),
        key=lambda line: line.at,
    )
    found = list(lines)
    left_out = len(found) - MOST_LINES
    if left_out > 0:
        found = [*found[:MOST_LINES], StoryLine(found[MOST_LINES].at, "", f"... {left_out} more lines ...")]
    return "".join(f"{line}\n" for line in (*found, *_at_the_end(timeline)))


def _happenings(timeline: Timeline) -> Iterator[StoryLine]:
    for happening in timeline.causes.happenings:
        if happening.at <= timeline.end:
            yield StoryLine(happening.at, "*", happening.text)


def _facts(timeline: Timeline) -> Iterator[StoryLine]:
    """Facts in the order in which they were observed, without commits and deliveries (`_commits`, `_at_the_end`),
    without epochs, which others name, without beliefs that change nothing, and without the records that are given for
    the first time and acknowledged; repeated transitions are counted."""
    repeats = trace.RepeatedTransitions()
    stated: dict[tuple[str, str], tuple[Queue, ...]] = {}
    cause_of = {observed: rebalance.cause for rebalance in timeline.rebalances for observed in rebalance.facts}
    for observed in timeline.facts:
        fact = observed.fact
        if isinstance(fact, Committed | Delivered | Position | Epoch | Writes | Resends):
            continue
        if isinstance(fact, Acquired | Renewed | Ended) and not trace.is_significant(fact):
            continue
        if isinstance(fact, Owns):
            key = fact.group, fact.member
            if stated.get(key, ()) == fact.queues:
                continue
            stated[key] = fact.queues
        if isinstance(fact, Transition):
            if repeats.is_repeat(observed.now, fact):
                continue
            if counted := repeats.counted(fact):
                yield StoryLine(observed.now, "", counted)
        text = trace.describe_fact(fact)
        cause = cause_of.get(observed)
        if cause is not None and isinstance(fact, RebalanceBegan):
            text += f" (after: {cause.text}, {trace.seconds(cause.at)})"
        yield StoryLine(observed.now, "", text)
    for counted in repeats.rest():
        yield StoryLine(timeline.end, "", counted)


def _gaps(timeline: Timeline) -> Iterator[StoryLine]:
    ended: dict[tuple[Time, str], list[Gap]] = {}
    for gap in timeline.gaps:
        if gap.until is not None:
            ended.setdefault((gap.until, gap.group), []).append(gap)
    for (until, _), gaps in sorted(ended.items()):
        longest = max(until - gap.since for gap in gaps)
        names = trace.queue_names(gap.queue for gap in gaps)
        up_to = "up to " if len(gaps) > 1 else ""
        yield StoryLine(until, "!", f"without an owner for {up_to}{trace.seconds(longest)} until now: {names}")


def _doubles(timeline: Timeline) -> Iterator[StoryLine]:
    ended: dict[tuple[Time, str, tuple[str, ...]], list[Double]] = {}
    for double in timeline.doubles:
        if double.until is not None:
            ended.setdefault((double.until, double.group, double.members), []).append(double)
    for (until, _, members), doubles in sorted(ended.items()):
        longest = max(until - double.since for double in doubles)
        names = trace.queue_names(double.queue for double in doubles)
        up_to = "up to " if len(doubles) > 1 else ""
        yield StoryLine(
            until, "!", f"owned by {' and '.join(members)} for {up_to}{trace.seconds(longest)} until now: {names}"
        )


def _commits(timeline: Timeline) -> Iterator[StoryLine]:
    for commit in timeline.commits_apart:
        back = f", back from {commit.before}" if commit.back else ""
        yield StoryLine(commit.at, "!", trace.describe_fact(commit.fact) + back)


def _at_the_end(timeline: Timeline) -> Iterator[StoryLine]:
    end = timeline.end
    for gap in timeline.gaps:
        if gap.until is None and time_existing(timeline.lives, gap.queue, gap.since, end):
            yield StoryLine(
                end, "!", f"{trace.queue_name(gap.queue)} is without an owner since {trace.seconds(gap.since)}"
            )
    for double in timeline.doubles:
        if double.until is None:
            who = " and ".join(double.members)
            yield StoryLine(
                end, "!", f"{trace.queue_name(double.queue)} is owned by {who} since {trace.seconds(double.since)}"
            )
    more_than_once = handled_more_than_once(timeline.deliveries_by_reader, timeline.lives)
    for (_, queue), ranges in sorted(more_than_once.items()):
        count = sum(last - first for first, last in ranges)
        spans = ", ".join(
            str(first) if last == first + 1 else f"{first} to {last - 1}" for first, last in ranges[:MOST_STEPS]
        )
        more = f" and {len(ranges) - MOST_STEPS} more ranges" if len(ranges) > MOST_STEPS else ""
        records = "1 record" if count == 1 else f"{count} records"
        yield StoryLine(end, "!", f"handled more than once: {records} of {trace.queue_name(queue)}: {spans}{more}")
    yield StoryLine(end, "*", "the run ends")


def story_of_queue(timeline: Timeline, group: str, queue: Queue, until: Time) -> list[str]:
    """What led to the state of one queue at a time: events, the group's rebalances, the queue's owners and its commits,
    the last `MOST_STEPS` lines of it."""
    lines = [line for line in _happenings(timeline) if line.at <= until]
    for rebalance in timeline.rebalances:
        if rebalance.group == group and rebalance.began <= until:
            lines.append(
                StoryLine(
                    rebalance.began,
                    "",
                    f"rebalance{trace.generation_suffix(rebalance.generation)}: {rebalance.trigger}",
                )
            )
    for interval in timeline.beliefs:
        if interval.group == group and interval.queue == queue and interval.since <= until:
            lasted = "to the end" if interval.until is None else f"for {trace.seconds(length(*interval[3:5], until))}"
            generation = trace.generation_suffix(interval.generation)
            lines.append(
                StoryLine(interval.since, "", f"{interval.member} owns {trace.queue_name(queue)}{generation}, {lasted}")
            )
    lines += _commits_of(timeline, group, queue, until)
    return [str(line) for line in sorted(lines, key=lambda line: line.at)[-MOST_STEPS:]]


def _commits_of(timeline: Timeline, group: str, queue: Queue, until: Time) -> list[StoryLine]:
    """The queue's commits, those that only go on left out but for the last before one that does not."""
    of_queue = [each for each in timeline.commits_of({(group, queue)}) if each.at <= until]
    worth: dict[int, None] = {}
    for at, commit in enumerate(of_queue):
        if commit.error or commit.back:
            worth.update(dict.fromkeys((max(0, at - 1), at)))
    return [StoryLine(of_queue[at].at, "", trace.describe_fact(of_queue[at].fact)) for at in worth]
