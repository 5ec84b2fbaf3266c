"""The story of a run as lines of text, and the part of it that led to one moment of one queue."""

from collections.abc import Iterator
from heapq import merge
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.facts import Committed, Delivered, Epoch, Owns, Position, RebalanceBegan, Transition
from protocols.queues import Queue
from protocols.timeline.deliveries import handled_more_than_once
from protocols.timeline.fact_descriptions import describe_fact, generation_suffix, queue_name, queue_names, seconds
from protocols.timeline.intervals import Double, Gap, length
from protocols.timeline.lifetimes import time_existing
from protocols.timeline.repeated_transitions import RepeatedTransitions
from protocols.timeline.timeline import Timeline

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
    for each in timeline.causes.happenings:
        if each.at <= timeline.end:
            yield StoryLine(each.at, "*", each.text)


def _facts(timeline: Timeline) -> Iterator[StoryLine]:
    """Facts in the order in which they were observed, without commits and deliveries (`_commits`, `_at_the_end`),
    without epochs, which others name, and without beliefs that change nothing; repeated transitions are counted."""
    repeats = RepeatedTransitions()
    stated: dict[tuple[str, str], tuple[Queue, ...]] = {}
    cause_of = {observed: each.cause for each in timeline.rebalances for observed in each.facts}
    for observed in timeline.facts:
        fact = observed.fact
        if isinstance(fact, Committed | Delivered | Position | Epoch):
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
        text = describe_fact(fact)
        cause = cause_of.get(observed)
        if cause is not None and isinstance(fact, RebalanceBegan):
            text += f" (after: {cause.text}, {seconds(cause.at)})"
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
        names = queue_names(gap.queue for gap in gaps)
        up_to = "up to " if len(gaps) > 1 else ""
        yield StoryLine(until, "!", f"without an owner for {up_to}{seconds(longest)} until now: {names}")


def _doubles(timeline: Timeline) -> Iterator[StoryLine]:
    ended: dict[tuple[Time, str, tuple[str, ...]], list[Double]] = {}
    for double in timeline.doubles:
        if double.until is not None:
            ended.setdefault((double.until, double.group, double.members), []).append(double)
    for (until, _, members), doubles in sorted(ended.items()):
        longest = max(until - double.since for double in doubles)
        names = queue_names(double.queue for double in doubles)
        up_to = "up to " if len(doubles) > 1 else ""
        yield StoryLine(
            until, "!", f"owned by {' and '.join(members)} for {up_to}{seconds(longest)} until now: {names}"
        )


def _commits(timeline: Timeline) -> Iterator[StoryLine]:
    for commit in timeline.commits:
        if commit.error or commit.back:
            back = f", back from {commit.before}" if commit.back else ""
            yield StoryLine(commit.at, "!", describe_fact(commit.fact) + back)


def _at_the_end(timeline: Timeline) -> Iterator[StoryLine]:
    end = timeline.end
    for gap in timeline.gaps:
        if gap.until is None and time_existing(timeline.lives, gap.queue, gap.since, end):
            yield StoryLine(end, "!", f"{queue_name(gap.queue)} is without an owner since {seconds(gap.since)}")
    for double in timeline.doubles:
        if double.until is None:
            who = " and ".join(double.members)
            yield StoryLine(end, "!", f"{queue_name(double.queue)} is owned by {who} since {seconds(double.since)}")
    more_than_once = handled_more_than_once(timeline.deliveries_by_reader(), timeline.lives)
    for (_, queue), ranges in sorted(more_than_once.items()):
        count = sum(last - first for first, last in ranges)
        spans = ", ".join(
            str(first) if last == first + 1 else f"{first} to {last - 1}" for first, last in ranges[:MOST_STEPS]
        )
        more = f" and {len(ranges) - MOST_STEPS} more ranges" if len(ranges) > MOST_STEPS else ""
        records = "1 record" if count == 1 else f"{count} records"
        yield StoryLine(end, "!", f"handled more than once: {records} of {queue_name(queue)}: {spans}{more}")
    yield StoryLine(end, "*", "the run ends")


def story_of_queue(timeline: Timeline, group: str, queue: Queue, until: Time) -> list[str]:
    """What led to the state of one queue at a time: events, the group's rebalances, the queue's owners and its commits,
    the last `MOST_STEPS` lines of it."""
    lines = [line for line in _happenings(timeline) if line.at <= until]
    for each in timeline.rebalances:
        if each.group == group and each.began <= until:
            lines.append(StoryLine(each.began, "", f"rebalance{generation_suffix(each.generation)}: {each.trigger}"))
    for interval in timeline.beliefs:
        if interval.group == group and interval.queue == queue and interval.since <= until:
            lasted = "to the end" if interval.until is None else f"for {seconds(length(*interval[3:5], until))}"
            generation = generation_suffix(interval.generation)
            lines.append(
                StoryLine(interval.since, "", f"{interval.member} owns {queue_name(queue)}{generation}, {lasted}")
            )
    lines += _commits_of(timeline, group, queue, until)
    return [str(line) for line in sorted(lines, key=lambda line: line.at)[-MOST_STEPS:]]


def _commits_of(timeline: Timeline, group: str, queue: Queue, until: Time) -> list[StoryLine]:
    """The queue's commits, those that only go on left out but for the last before one that does not."""
    of_queue = [each for each in timeline.commits if (each.group, each.queue) == (group, queue) and each.at <= until]
    worth: dict[int, None] = {}
    for at, commit in enumerate(of_queue):
        if commit.error or commit.back:
            worth.update(dict.fromkeys((max(0, at - 1), at)))
    return [StoryLine(of_queue[at].at, "", describe_fact(of_queue[at].fact)) for at in worth]
