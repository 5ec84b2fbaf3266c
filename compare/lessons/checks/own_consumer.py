"""Notebook 9: test your own consumer."""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import NamedTuple

from compare.lessons.checks.kinds import TOPICS, Exercise, function, lived_through
from compare.testing import assert_fair, assert_no_idle_members, kafka_group

_BATCH = 5
_CALLS = range(2, 24)
"""Three batches of five: each is a call that fetches, five that handle, one that commits."""
_HOW = ("before_call", "after_calls")


class _Load(NamedTuple):
    """``produce``: records per second and queue; ``seconds``: how long the loop runs."""

    queues: int
    produce: int
    seconds: int

    def __str__(self) -> str:
        return f"{self.queues // 2} of {self.queues} queues, {self.produce} records per second in each"


_LOADS = (_Load(2, 2, 40), _Load(2, 20, 15), _Load(4, 2, 15), _Load(4, 20, 15))
"""One queue and several, batches that are full and such that are not. The loop is one of two members."""


class _Lived(NamedTuple):
    handled: int
    commits: int
    twice: int
    never: int


def _lived(loop: Callable[..., object], load: _Load, seed: int, **where: int) -> _Lived:
    """What a loop does that is killed ``where`` (`Group.interrupt`), or that nobody kills."""
    group = kafka_group(topics={"orders": load.queues}, members=["other"], produce=load.produce, seed=seed)
    group.settle()
    consumer = group.consumer("mine", {"enable.auto.commit": False, "auto.offset.reset": "earliest"})
    handled: list[object] = []
    handle = group.watch(handled.append)
    if where:
        group.interrupt(with_=lambda: group.crash("mine"), **where)
    lived_through(lambda: group.run(lambda: loop(consumer, handle), seconds=load.seconds), f"With {load}, your loop")
    group.clock.advance(seconds=60)
    commits = sum(commit.member == "mine" and not commit.error for commit in group.timeline.commits)
    return _Lived(len(handled), commits, len(group.handled_twice()), len(group.never_handled()))


def _unharmed(answer: Callable[..., object], load: _Load) -> str | None:
    """A hint about a loop that nobody kills."""
    found = _lived(answer, load, seed=0)
    if found.handled < 2 * _BATCH:
        return f"In {load.seconds} seconds it handled {found.handled} records. Is every message given to handle?"
    if found.commits >= found.handled:
        return f"It committed {found.commits} times for {found.handled} records: once per batch is enough."
    if found.never:
        return f"With {load}, {found.never} records are lost even where nobody kills it."
    return None


def _killed(answer: Callable[..., object], load: _Load, number: int, how: str) -> str | None:
    """A hint about a loop that is killed before or after its call with this number, which is the seed, too."""
    found = _lived(answer, load, seed=number, **{how: number})
    case = f"Seed {number}, {load}, killed {'before' if how == 'before_call' else 'after'} call number {number}"
    if found.never:
        return f"{case}: {found.never} records are lost. What was committed before it was handled?"
    if found.twice > _BATCH:
        return f"{case}: {found.twice} records come twice. What had been handled and not committed?"
    return None


def _batches(answer: Callable[..., object]) -> str | None:
    unharmed = (_unharmed(answer, load) for load in _LOADS)
    killed = (
        _killed(answer, load, number, _HOW[(number + place) % 2])
        for number in _CALLS
        for place, load in enumerate(_LOADS)
    )
    return next((hint for hint in chain(unharmed, killed) if hint is not None), None)


def _unfair(answer: Mapping[str, int]) -> str | None:
    topics = {topic: int(queues) for topic, queues in answer.items()}
    group = kafka_group(topics=topics, members=["c1", "c2", "c3"], assignor="range")
    group.settle()
    try:
        assert_no_idle_members(group)
    except AssertionError as failure:
        return str(failure).splitlines()[0]
    try:
        assert_fair(group, max_over_mean=1.5)
    except AssertionError:
        return None
    return "Nobody is idle, but the group is too fair. What did many topics do to range in notebook 4?"


EXERCISES = {
    "9.1": Exercise(
        function("consumer", "handle"), _batches, "The loop must handle records first and commit them afterwards."
    ),
    "9.2": Exercise(TOPICS, _unfair, "A group without idle members can still be unfair, so several assertions exist."),
}
"""Number to the exercise."""
