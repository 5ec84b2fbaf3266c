"""What a test demands of a group. Each assertion fails with an `AssertionError` that tells what happened and why.

Each takes a group or a pair of them (then both must hold) and judges what is, or has been, up to now.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from compare.catalogues import UNCOUNTED
from compare.formatting import many, unit_of
from compare.testing import sentences, settling
from compare.testing.clock import in_ticks
from compare.testing.faults import raise_pending
from compare.testing.handling import HandlingGroup
from compare.testing.sentences import fail
from compare.testing.settling import why_nobody, why_several
from protocols.engine.nodes import Time
from protocols.facts import Owns
from protocols.java import Queue
from protocols.timeline.story import story_of_queue
from protocols.timeline.trace import queue_name, queue_names

G = TypeVar("G", covariant=True)


class Judged(Protocol[G]):
    """A group, or several."""

    @property
    def groups(self) -> Sequence[G]: ...


def judged(group: Judged[G]) -> Sequence[G]:
    """The groups; raises the fault that the user's code may have caught meanwhile."""
    raise_pending()
    return group.groups


_SLACK = 1e-9
"""Ratios of whole numbers are compared with so much room for rounding."""


def assert_fair(group: Judged[HandlingGroup], max_over_mean: float = 1.2) -> None:
    """The fullest member has at most ``max_over_mean`` times the mean number of queues."""
    __tracebackhide__ = True
    for each in judged(group):
        found = each.fairness
        if found.max_over_mean is not None and found.max_over_mean > max_over_mean + _SLACK:
            loads = _loads(each)
            fullest = max(loads, key=lambda member: loads[member])
            times = f"{found.max_over_mean:.2f} times the mean of {found.mean:.2f}"
            fail(
                each,
                f"{fullest} has {loads[fullest]} of {many(found.queues, unit_of(each.system))}, {times};"
                f" allowed is {max_over_mean:g}",
                [_shares(each), *_pile_up(each), _best(each), *_unfinished(each)],
            )


def assert_no_idle_members(group: Judged[HandlingGroup]) -> None:
    """Every member that subscribes to something owns a queue."""
    __tracebackhide__ = True
    for each in judged(group):
        idle = [member.id for member in each.allocation.group.members if member.subscription]
        idle = [member for member in idle if not each.allocation[member]]
        if idle:
            queues, members = each.fairness.queues, each.fairness.members
            told = f"there are {many(queues, unit_of(each.system))} for {members} members"
            why = [told] if queues < members else [*_pile_up(each)]
            verb = "owns" if len(idle) == 1 else "own"
            fail(each, f"{', '.join(idle)} {verb} nothing", [_shares(each), *why, _best(each), *_unfinished(each)])


def assert_optimal(group: Judged[HandlingGroup]) -> None:
    """No other allocation that the subscriptions allow is fairer."""
    __tracebackhide__ = True
    for each in judged(group):
        loads = sorted(_loads(each).values())
        best = each.optimum
        fairest = sorted(len(queues) for queues in best.allocation.values())
        if loads != fairest or each.allocation.double_owned:
            best_range = f"the fairest allocation has {fairest[0]} to {fairest[-1]}"
            fail(
                each,
                f"members have {loads[0]} to {loads[-1]} {unit_of(each.system)}s, {best_range}{_open(each)}",
                [_shares(each), *_pile_up(each), *_moves_to_best(each), *_unfinished(each)],
            )


def assert_no_double_ownership(group: Judged[HandlingGroup], longer_than: float = 0.0) -> None:
    """At no time two members believed to own the same queue, for longer than so many seconds."""
    __tracebackhide__ = True
    for each in judged(group):
        timeline = each.timeline
        found = _longer(timeline.doubles, in_ticks(longer_than), timeline.end)
        if found:
            unit = unit_of(each.system)
            told = [sentences.of_double(timeline, double, unit, why_several(each, double.members)) for double in found]
            fail(each, told[0], told[1:])


def assert_no_gap(group: Judged[HandlingGroup], longer_than: float = 0.0) -> None:
    """No queue was without an owner for longer than so many seconds, after its first one."""
    __tracebackhide__ = True
    for each in judged(group):
        timeline = each.timeline
        found = _longer(timeline.gaps, in_ticks(longer_than), timeline.end)
        if found:
            unit = unit_of(each.system)
            told = [sentences.of_gap(timeline, gap, unit, why_nobody(each, gap.queue)) for gap in found]
            longest = max((timeline.end if gap.until is None else gap.until) - gap.since for gap in found)
            allowed = f" (the longest {sentences.moment(longest)}, allowed {longer_than:g} s)" if longer_than else ""
            fail(each, told[0] + allowed, told[1:])


def assert_settles_within(group: Judged[HandlingGroup], seconds: float) -> None:
    """The group settles within so many seconds after the last event: every queue has one owner and nothing changes any
    more. Lets as much time pass as it takes, at most what `settle` allows."""
    __tracebackhide__ = True
    for each in judged(group):
        settled = each.settles()
        timeline = each.timeline
        open_queues = settling.unsettled(each.world)
        last = timeline.causes.last_event
        if not settled or open_queues:
            told = [_state_of(each, queue) for queue in open_queues] or [f"still changing at {each.clock.now:g} s"]
            story = story_of_queue(timeline, each.name, open_queues[0], timeline.end) if open_queues else []
            fail(each, f"not settled {sentences.moment(timeline.end - last)} after the last event: {told[0]}", story)
        elif timeline.settle > in_ticks(seconds):
            changed = [
                f"{rebalance.trigger} at {sentences.moment(rebalance.began)}, after: {rebalance.cause.text}"
                for rebalance in timeline.rebalances
                if rebalance.began >= last
            ]
            fail(
                each,
                f"settled {sentences.moment(timeline.settle)} after the last event"
                f" ({timeline.causes.happenings[-1].text}), allowed are {seconds:g} s",
                changed,
            )


def assert_moves_at_most(group: Judged[HandlingGroup], moves: int, since: float = 0.0) -> None:
    """At most so many queues went to another owner, from ``since`` (seconds) on. A queue's first owner is no move."""
    __tracebackhide__ = True
    for each in judged(group):
        found = moves_of(each, in_ticks(since))
        if len(found) > moves:
            told = [
                f"{queue_name(queue)} from {before} to {after} at {sentences.moment(at)}"
                for at, queue, before, after in found
            ]
            fail(each, f"{many(len(found), unit_of(each.system))} moved, allowed are {moves}", told)


# What the sentences are made of.


def _loads(group: HandlingGroup) -> dict[str, int]:
    return {member: len(queues) for member, queues in group.allocation.items()}


def _shares(group: HandlingGroup) -> str:
    unit = unit_of(group.system)
    told = (f"{member} {len(queues)} ({queue_names(queues, unit)})" for member, queues in group.allocation.items())
    return f"{group.system}: {', '.join(told)}"


def _open(group: HandlingGroup) -> str:
    """What is wrong with a sharing besides how many each member has."""
    unowned, shared = len(group.allocation.unowned), len(group.allocation.double_owned)
    told = [f"{unowned} without an owner"] if unowned else []
    told += [f"{shared} with several owners"] if shared else []
    return f"; {' and '.join(told)}" if told else ""


def _pile_up(group: HandlingGroup) -> Sequence[str]:
    """Do the same members get more of every topic?"""
    found = group.fairness
    if len(found.topics) < 2 or not found.pile_up or found.pile_up < 0.5:
        return []
    topics = ", ".join(f"{topic} {each.max} at most" for topic, each in list(found.topics.items())[:4])
    return [f"the same members get the larger share of each topic, so the differences add up: {topics}"]


def _best(group: HandlingGroup) -> str:
    best = group.optimum
    fairest = sorted(len(queues) for queues in best.allocation.values())
    if fairest == sorted(_loads(group).values()):
        return "no other allocation that the subscriptions allow is fairer"
    moves = "1 move" if best.moves == 1 else f"{best.moves} moves"
    share = f"{fairest[0]} to {fairest[-1]} {unit_of(group.system)}s per member"
    return f"the fairest allocation has {share} and takes {moves}"


def _moves_to_best(group: HandlingGroup) -> Iterable[str]:
    for queue, member in group.optimum.moved:
        yield f"moving {queue_name(queue)} to {member} would help"
    for queue, member in group.optimum.newly_owned:
        yield f"{queue_name(queue)} has no owner, {member} could take it"


def _unfinished(group: HandlingGroup) -> Sequence[str]:
    if settling.is_calm(group.world):
        return []
    return ["the group has not settled yet: call settle() or clock.advance()"]


def _state_of(group: HandlingGroup, queue: Queue) -> str:
    owners = [member for member, queues in group.world.owned.items() if queue in queues]
    return f"{queue_name(queue)} " + (f"is owned by {' and '.join(owners)}" if owners else "has no owner")


def moves_of(group: HandlingGroup, since: Time) -> list[tuple[Time, Queue, str, str]]:
    """(When, queue, the last owner, the next one) from a time on, in order: a queue moves when a member begins to
    believe in it that was not the last one to have it, as `protocols.timeline.ownership` counts."""
    held: dict[str, set[Queue]] = {}
    owners: dict[Queue, dict[str, None]] = {}
    latest: dict[Queue, str] = {}
    moves = []
    for told in group.timeline.facts:
        fact = told.fact
        if not isinstance(fact, Owns):
            continue
        before, now = held.get(fact.member, set()), dict.fromkeys(fact.queues)
        held[fact.member] = set(now)
        for queue in before.difference(now):
            del owners[queue][fact.member]
            if owners[queue] and latest[queue] == fact.member:
                latest[queue] = next(reversed(owners[queue]))
        for queue in now:
            if queue in before:
                continue
            owner = latest.get(queue, fact.member)
            if owner != fact.member and told.now >= since and not queue.topic.startswith(UNCOUNTED):
                moves.append((told.now, queue, owner, fact.member))
            latest[queue] = fact.member
            owners.setdefault(queue, {})[fact.member] = None
    return moves


class _Span(Protocol):
    """From ``since`` to ``until`` (None: still)."""

    @property
    def since(self) -> Time: ...
    @property
    def until(self) -> Time | None: ...


S = TypeVar("S", bound=_Span)


def _longer(found: Iterable[S], than: Time, end: Time) -> list[S]:
    return [each for each in found if (end if each.until is None else each.until) - each.since > than]


def fail_unsettled(group: HandlingGroup, within: float) -> None:
    __tracebackhide__ = True
    told = [_state_of(group, queue) for queue in settling.unsettled(group.world)]
    fail(group, f"still changing after {within:g} s", told)
