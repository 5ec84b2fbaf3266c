"""Where two members believe in one queue at the end of a story: what a broker makes of the commit that each sends next,
before it hears of anything else. A broker that refuses it fences the member off; what its code did meanwhile is done.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from compare.exploring.answers import MOST_FIRINGS, CommitDocument
from compare.exploring.properties import SINGLE_OWNER, Subject, subject_of
from compare.exploring.story import steps_of
from protocols.engine.exploration import Action, Happened, State, World
from protocols.facts import Committed, Owns
from protocols.java import Queue
from protocols.timeline.trace import queue_name

COMMITS: Final = ("OffsetCommit", "UpdateConsumerOffset")
"""Requests by which members of the systems commit."""

MOST_STEPS: Final = 4
"""Steps of the member until its commit arrives."""

MORE_FIRINGS: Final = 3
"""Of the member's timers, besides those that the search allowed."""


class _Belief(NamedTuple):
    node: str
    owns: Owns


def late_commits(subject: Subject, actions: Sequence[Action]) -> list[CommitDocument]:
    """Of each member that shares a queue with another at the end of the story; none of those that send no commit soon,
    or in whose group commits do not go to a broker."""
    world = subject.settled.world
    bounds = world.bounds._replace(client_firings=min(world.bounds.client_firings + MORE_FIRINGS, MOST_FIRINGS))
    again = subject_of(subject.variant, (SINGLE_OWNER,), bounds)
    world, first = again.settled.world, again.settled.first
    steps = steps_of(world, first, actions)
    last = steps[-1].state if steps else first
    facts = [*again.settled.facts, *((each.process, each.what) for step in steps for each in step.happened)]
    found = []
    for belief, queues in _sharing(facts):
        told = _commit(world, last, belief, queues)
        if told is not None:
            found.append(told)
    return found


def _sharing(facts: Sequence[tuple[str, object]]) -> Iterator[tuple[_Belief, frozenset[Queue]]]:
    """Members that share queues with another, and these."""
    beliefs: dict[tuple[str, str], _Belief] = {}
    for node, fact in facts:
        if isinstance(fact, Owns):
            beliefs[fact.group, fact.member] = _Belief(node, fact)
    shared: dict[tuple[str, str], frozenset[Queue]] = {}
    for one, other in combinations(beliefs, 2):
        both = frozenset(beliefs[one].owns.queues) & frozenset(beliefs[other].owns.queues)
        if one[0] == other[0] and both:
            shared |= {each: shared.get(each, frozenset()) | both for each in (one, other)}
    for key, queues in shared.items():
        yield beliefs[key], queues


def _commit(world: World, last: State, belief: _Belief, queues: frozenset[Queue]) -> CommitDocument | None:
    """Timers of the member fire and its requests arrive, in every order, until a commit of one of the queues does."""
    reached, seen = [last], {last}
    for _ in range(MOST_STEPS):
        after: list[State] = []
        for state in reached:
            for action in world.actions(state):
                if action.of != belief.node or action.kind not in ("deliver", "timer"):
                    continue
                told: list[Happened] = []
                commit = _arriving(world, state, action)
                following = world.step(state, action, told)
                if commit:
                    answered = [each.what for each in told if isinstance(each.what, Committed)]
                    of_these = [fact for fact in answered if fact.queue in queues]
                    if of_these:
                        fact = of_these[0]
                        return {
                            "member": belief.owns.member,
                            "queue": queue_name(fact.queue),
                            "server": str(action.what),
                            "error": fact.error or None,
                        }
                if following not in seen:
                    seen.add(following)
                    after.append(following)
        reached = after
    return None


def _arriving(world: World, state: State, action: Action) -> bool:
    """Whether a commit arrives at its broker."""
    if action.kind != "deliver":
        return False
    return type(world.in_flight(state, action.of, str(action.what))[0]).__name__ in COMMITS


def in_words(commit: CommitDocument) -> str:
    """A sentence on what the broker makes of it."""
    arrives = f"If {commit['member']} commits {commit['queue']} before it hears anything else"
    if commit["error"] is None:
        return f"{arrives}, {commit['server']} takes the commit: it is not fenced off."
    return f"{arrives}, {commit['server']} refuses the commit ({commit['error']}): what its code did is not undone."
