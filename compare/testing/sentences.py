"""How an assertion about a group fails: why a queue had no owner, or two (the facts that led there, in one sentence),
and what the failed test leaves behind: the scenario that the group lived through, as YAML for `equipoise compare`.

``unit`` is what the group's system calls a queue.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from compare.testing.faults import may_be_caught
from compare.testing.handling import HandlingGroup
from compare.testing.watching import HandlerCall
from protocols.engine.nodes import Time
from protocols.facts import Granted, TimedOut
from protocols.java import Queue
from protocols.timeline import Timeline
from protocols.timeline.causes import Effect, Happening
from protocols.timeline.ownership import Double, Gap
from protocols.timeline.rebalances import Rebalance
from protocols.timeline.trace import queue_name, seconds

_SLOW_MS: Time = 1_000.0
"""A callback that takes so long is worth a line."""


def moment(time: Time, digits: int = 1) -> str:
    """``20.9 s``."""
    return f"{time / 1000:.{digits}f} s"


def span(since: Time, until: Time | None, end: Time) -> str:
    """``from 20.0 s to 20.9 s``, with as many digits as tell the two apart."""
    digits = 1 if abs((end if until is None else until) - since) >= 100 else 3
    if until is None:
        return f"since {moment(since, digits)} until now ({moment(end, digits)})"
    if until - since < 1:
        return f"for {until - since:.3f} ms at {moment(since, digits)}"
    return f"from {moment(since, digits)} to {moment(until, digits)}"


def of_gap(timeline: Timeline, gap: Gap, unit: str, always: str | None = None) -> str:
    """``partition orders-1 had no owner from 50.0 s to 93.0 s: ...``.

    ``always``: why nobody will ever own it, where that is known; it is the reason if nobody does to the end, and no
    rebalance goes on.
    """
    told = f"{unit} {queue_name(gap.queue)} had no owner {span(gap.since, gap.until, timeline.end)}"
    why = [_end_of(timeline, gap.before, gap.since)]
    until = timeline.end if gap.until is None else gap.until
    rebalance = _during(timeline, gap.group, gap.since, until)
    if always and gap.until is None and (rebalance is None or rebalance.ended is not None):
        why.append(always)
    elif rebalance is not None:
        why.append(f"{_rebalance(rebalance)} began at {moment(rebalance.began)}")
        if rebalance.ended is None:
            why.append("the rebalance has not ended")
    elif gap.until is None:
        why.append("no member has noticed yet")
    if gap.after is not None:
        why.append(f"{gap.after} took it over")
    return f"{told}: {'; '.join(why)}"


def of_double(timeline: Timeline, double: Double, unit: str, always: str | None = None) -> str:
    """``partition orders-3 had two owners c1, c2 from 20.0 s to 20.9 s: ...``.

    ``always``: what keeps these members from agreeing, where something does; it is the reason if it goes on or nothing
    else explains it.
    """
    count = {2: "two", 3: "three"}.get(len(double.members), str(len(double.members)))
    when = span(double.since, double.until, timeline.end)
    who = ", ".join(sorted(double.members))
    why = always if always and double.until is None else _why_double(timeline, double, always)
    return f"{unit} {queue_name(double.queue)} had {count} owners {who} {when}: {why}"


def _why_double(timeline: Timeline, double: Double, always: str | None) -> str:
    first, last = double.members[0], double.members[-1]
    mine = _generation(timeline, double.group, first, double.queue, double.since)
    theirs = _generation(timeline, double.group, last, double.queue, double.since)
    if mine is not None and theirs is not None and mine != theirs:
        why = f"{last} was assigned it in generation {theirs} while {first} was still in generation {mine}"
        rebalance = next((each for each in timeline.rebalances if each.generation == theirs), None)
        if rebalance is not None:
            why += f"; {_rebalance(rebalance)} began at {moment(rebalance.began)}"
        about = _latest(timeline, first, double.since)
        return why + (f", {_told(about)}" if about is not None else "")
    return _differing_views(timeline, double, first, last, always)


def _differing_views(timeline: Timeline, double: Double, first: str, last: str, always: str | None) -> str:
    """Members that allocate for themselves: whose allocation was older than the other's presence?"""
    for holder, other in ((first, last), (last, first)):
        allocated = _allocated(timeline, double.group, holder, double.since)
        came = _came(timeline, other, double.since)
        if allocated is not None and came is not None and allocated < came:
            return (
                f"{holder} allocated with a member list that still lacked {other}"
                f" (at {moment(allocated)}; {other} came at {moment(came)})"
            )
    cause = timeline.causes.latest(Effect(double.since))
    after = "" if cause is None else f"; both after: {_told(cause)}"
    again = _anew(timeline, double.group, first, double.since)
    if again is not None and (double.until is None or again <= double.until):
        mine = _allocated(timeline, double.group, last, double.since)
        theirs = "" if mine is None else f", {last} at {moment(mine, 3)}"
        return f"{first} allocated again only at {moment(again, 3)}{theirs}{after}"
    if always is not None:
        return f"{always}{after}"
    return f"{last} took it before {first}, which had also allocated again, released it{after}"


def _generation(timeline: Timeline, group: str, member: str, queue: Queue, at: Time) -> int | None:
    for belief in timeline.beliefs:
        here = (belief.group, belief.member, belief.queue) == (group, member, queue)
        if here and belief.since <= at and (belief.until is None or belief.until >= at):
            return belief.generation
    return None


def _allocated(timeline: Timeline, group: str, member: str, at: Time) -> Time | None:
    """When the member's latest allocation before this time was made."""
    found = None
    for told in timeline.facts:
        if told.now > at:
            break
        if isinstance(told.fact, Granted) and (told.fact.group, told.fact.member) == (group, member):
            found = told.now
    return found


def _anew(timeline: Timeline, group: str, member: str, at: Time) -> Time | None:
    """When the member made its next allocation after this time."""
    for told in timeline.facts:
        if told.now > at and isinstance(told.fact, Granted) and (told.fact.group, told.fact.member) == (group, member):
            return told.now
    return None


def _came(timeline: Timeline, member: str, at: Time) -> Time | None:
    """When the member joined or started again last, if an event tells."""
    starts = (f"{member} joins", f"{member} restarts", f"{member} goes on")
    return next(
        (
            happening.at
            for happening in reversed(timeline.causes.happenings)
            if happening.at <= at and member in happening.members and happening.text.startswith(starts)
        ),
        None,
    )


def _end_of(timeline: Timeline, member: str, at: Time) -> str:
    """Why the member let go of a queue."""
    about = _latest(timeline, member, at)
    if about is not None and abs(about.at - at) < 1:
        return f"{about.text} at {moment(about.at)}"
    return f"{member} released it"


def _latest(timeline: Timeline, member: str, at: Time) -> Happening | None:
    """The latest event about a member."""
    found = [
        happening for happening in timeline.causes.happenings if happening.at <= at and member in happening.members
    ]
    return found[-1] if found else None


def _told(happening: Happening) -> str:
    return f"{happening.text} at {moment(happening.at)}"


def _rebalance(rebalance: Rebalance) -> str:
    cause = f", after: {rebalance.cause.text}" if rebalance.cause.text else ""
    return f"a rebalance ({rebalance.trigger}{cause})"


def _during(timeline: Timeline, group: str, since: Time, until: Time) -> Rebalance | None:
    """The rebalance that was going on when a gap began, else the first that began in it."""
    mine = [rebalance for rebalance in timeline.rebalances if rebalance.group == group and rebalance.began <= until]
    open_then = [each for each in mine if each.began <= since and (each.ended is None or each.ended >= since)]
    later = [each for each in mine if each.began > since]
    return open_then[-1] if open_then else later[0] if later else None


def first_lines(lines: Iterable[str], most: int = 8) -> str:
    """Sentences below each other, the first so many; what is left out is counted."""
    found: Sequence[str] = list(lines)
    more = [f"... and {len(found) - most} more"] if len(found) > most else []
    return "\n".join(f"  {line}" for line in [*found[:most], *more])


# The failure, and the scenario of the group.


def fail(group: HandlingGroup, what: str, more: Sequence[str] = (), *, most: int = 8) -> None:
    """Raise the `AssertionError`: when, in which system, what, and the lines that say why (beyond ``most`` lines of
    ``more`` the rest is counted); then what is known of the code under test."""
    __tracebackhide__ = True
    group.failed()
    told = [f"{group.system} at {moment(group.clock.time)}: {what}"]
    told += [first_lines(lines, most) for lines in (more, list(known_of_code(group))) if lines]
    error = AssertionError("\n".join(told))
    if may_be_caught():
        group.handling.caught(error)
    raise error


def known_of_code(group: HandlingGroup) -> Iterator[str]:
    """Who has not polled in time, for how long, and what its handler did meanwhile; whose listeners return no status;
    whose callbacks were slow; whose consumers were called from several threads."""
    handling, said = group.handling, list[HandlerCall]()
    for each in group.timeline.facts:
        if not isinstance(each.fact, TimedOut) or each.fact.group != group.name:
            continue
        member, limit = each.fact.member, f"{each.fact.setting} ({seconds(each.fact.limit)})"
        late = [poll for poll in handling.late_polls if poll.member == member and poll.since < each.now <= poll.at]
        calls = [call for call in handling.calls_of_handlers if call.member == member and call.began < each.now]
        calls = [call for call in calls if call.ended >= each.now]
        told = f"{member} was too slow: at {moment(each.now)} it had not polled for {limit}"
        if late:
            told += f", and polled again {moment(late[0].at - late[0].since)} after its last poll"
        if calls:
            call = max(calls, key=lambda call: call.ended - call.began)
            which = f"{queue_name(call.queue)}/{call.offset}"
            said.append(call)
            told += f"; its handler took {moment(call.ended - call.began)} with {which}"
        yield told
    slowest = [call for call in handling.calls_of_handlers if call.ended - call.began >= _SLOW_MS and call not in said]
    for call in sorted(slowest, key=lambda call: call.began - call.ended)[:1]:
        which = f"{queue_name(call.queue)}/{call.offset}"
        told = f"the handler of {call.member} took {moment(call.ended - call.began)} with {which}"
        timeout = handling.limits.get(call.member)
        if timeout is not None and call.ended - call.began > timeout:
            told += (
                f": longer than the rebalance timeout of its JoinGroup ({moment(timeout)}), for which Kafka's clients"
            )
            told += " take max.poll.interval.ms"
        yield told
    for member, first in handling.no_status.items():
        yield (
            f"the listener of {member} returned {first.returned} at {moment(first.at)}, which Java's client takes for"
            f" {first.taken_for}: its records come again"
        )
    for slow in handling.slow_callbacks:
        if slow.ended - slow.began >= _SLOW_MS:
            took, since = moment(slow.ended - slow.began), moment(slow.began)
            yield f"{slow.name} of {slow.member} took {took}, from {since} on"
    for member, threads in handling.threads.items():
        if len(threads) > 1:
            yield f"{len(threads)} threads have called the consumer of {member}"


def scenario_report(group: HandlingGroup) -> str:
    """The scenario of what the group has lived through, and how to repeat it."""
    head = f"# save this as a file and run `equipoise compare FILE --story {group.label}` to repeat the run\n"
    head += f"# seed {group.plan.seed}, failed at {moment(group.clock.time, 3)}"
    if group.handling.calls:
        members = ", ".join(sorted(group.handling.doubles))
        head += f"; simulated consumers stand for your own code of {members}"
    return f"{head}\n{group.scenario_text()}"


def note_scenario(group: HandlingGroup) -> None:
    """Under hypothesis: print the scenario with the falsifying example, which is the smallest that hypothesis found.
    What is printed already is not printed again."""
    if "hypothesis" in sys.modules and group.printed != _lived(group):
        import hypothesis

        if hypothesis.currently_in_test_context():
            hypothesis.note(_Note(group))


class _Note:
    """A group's scenario for hypothesis, which asks for the text of what it prints only: not for every example."""

    __slots__ = ("group",)

    def __init__(self, group: HandlingGroup) -> None:
        self.group = group

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        longer = "the same, and what came after; " if self.group.printed else ""
        self.group.printed = _lived(self.group)
        printer.text(f"# {longer}{scenario_report(self.group).removeprefix('# ')}")


def _lived(group: HandlingGroup) -> tuple[Time, int]:
    """When it is, and how much has happened: while both stay, so does the scenario."""
    return group.clock.time, len(group.world.scenario.events)
