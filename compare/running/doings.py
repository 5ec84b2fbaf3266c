"""What a member did at a time, as far as the facts of a run say: it stood still, waited in a rebalance or had work.

From this follows why its session ran out, why it kept a queue that another one had, why its progress was not committed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from compare.formatting import duration, many
from compare.running.reasons import in_common
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import RebalanceBegan, TimedOut, Transition
from protocols.timeline import Timeline
from protocols.timeline.deliveries import Delivery
from protocols.timeline.ownership import Double, Interval
from protocols.timeline.timeline import Commit

Pauses: TypeAlias = Mapping[str, Sequence[tuple[Time, Time]]]
"""Member to when it stands still, in order, milliseconds."""

JOIN_SENT = "join sent"
"""How a Kafka client's state machine names that it asks to join: the coordinator waits for all members to do so."""

WAITING = "PREPARING_REBALANCE"
"""Its state until the answer has been read: no heartbeat and no commit leaves the client (spec kafka 4.2)."""

LIMITS = ("max.poll.records", "session.timeout.ms")
"""What decides whether a loop comes back to its poll before the session runs out."""


class Why(NamedTuple):
    """A mechanism in words, and the settings that would change it, where these are others than the kind's."""

    text: str = ""
    settings: tuple[str, ...] = ()


class Doings:
    """Answers for all members of a run."""

    def __init__(self, timeline: Timeline, pauses: Pauses) -> None:
        self._timeline, self._pauses = timeline, pauses

    @cached_property
    def _states(self) -> dict[str, list[tuple[Time, str]]]:
        found: dict[str, list[tuple[Time, str]]] = {}
        for observed in self._timeline.facts:
            fact = observed.fact
            if type(fact) is Transition and fact.machine in ("consumer", "client"):
                found.setdefault(fact.of, []).append((observed.now, fact.after))
        return found

    @cached_property
    def _deliveries(self) -> dict[tuple[str, str], list[Delivery]]:
        found: dict[tuple[str, str], list[Delivery]] = {}
        for delivery in self._timeline.deliveries:
            found.setdefault((delivery.group, delivery.member), []).append(delivery)
        return found

    @cached_property
    def _beliefs(self) -> dict[tuple[str, Queue], list[Interval]]:
        found: dict[tuple[str, Queue], list[Interval]] = {}
        for belief in self._timeline.beliefs:
            found.setdefault((belief.group, belief.queue), []).append(belief)
        return found

    @cached_property
    def _triggers(self) -> dict[tuple[str, str | None], list[tuple[Time, str]]]:
        """(Group, member who rebalances by itself, or None) to what its rebalances began with."""
        found: dict[tuple[str, str | None], list[tuple[Time, str]]] = {}
        for observed in self._timeline.facts:
            fact = observed.fact
            if type(fact) is RebalanceBegan:
                found.setdefault((fact.group, fact.member), []).append((observed.now, fact.trigger))
        return found

    @cached_property
    def _commits(self) -> dict[tuple[str, Queue], list[Commit]]:
        found: dict[tuple[str, Queue], list[Commit]] = {}
        for commit in self._timeline.commits:
            found.setdefault((commit.group, commit.queue), []).append(commit)
        return found

    def stands_still(self, member: str, since: Time, until: Time) -> bool:
        """Whether it does so at any moment of this time."""
        return any(start < until and stop > since for start, stop in self._pauses.get(member, ()))

    def waits_since(self, member: str, at: Time) -> Time | None:
        """Since when it has waited for the answer to its JoinGroup then; None where it does not."""
        states = self._states.get(member, [])
        place = bisect_right(states, at, key=lambda each: each[0])
        began = None
        for when, state in reversed(states[:place]):
            if state != WAITING:
                break
            began = when
        return began

    def busy(self, group: str, member: str, since: Time, until: Time) -> str:
        """ "handles 500 records for 1 min 40 s", where that takes at least half of the time; else empty."""
        of_member = self._deliveries.get((group, member), [])
        place = bisect_left(of_member, since, key=lambda each: each.until)
        during = [each for each in of_member[place:] if each.since < until and each.until > since]
        lasted = sum(in_common(each.since, each.until, since, until) for each in during)
        if lasted < (until - since) / 2:
            return ""
        count = sum(each.end - each.first for each in during)
        lasted = max(each.until for each in during) - min(each.since for each in during)
        return f"handles {many(count, 'record')} for {duration(lasted / 1000)}"

    def why_session(self, group: str, member: str, at: Time) -> Why:
        """Why the session of the member ran out at this time."""
        if self.stands_still(member, at - 1, at):
            return Why(f"{member} stands still and sends no heartbeats")
        joining = self.waits_since(member, at)
        if joining is not None:
            loop = self.busy(group, member, joining, at)
            busy = f"its loop {loop} meanwhile, and a" if loop else "a"
            return Why(
                f"{member} has asked to rejoin {duration((at - joining) / 1000)} before and has not read the answer:"
                f" {busy} client sends no heartbeats until it has",
                LIMITS,
            )
        if self._timeline.causes.ended_between(member, 0.0, at):
            return Why(f"the process of {member} is gone")
        return Why(f"the run does not say why; candidates: the network, a stopped broker, {member} itself")

    def why_two(self, double: Double) -> Why:
        """Why two members owned the queue at once: what kept the earlier one from giving it up."""
        until = self._timeline.end if double.until is None else double.until
        beliefs = self._beliefs.get((double.group, double.queue), ())
        there = [each for each in beliefs if each.since <= double.since < (until if each.until is None else each.until)]
        old = min(there, key=lambda each: each.since, default=None)
        new = max(there, key=lambda each: each.since, default=None)
        if old is None or new is None or old.member == new.member:
            return Why()
        if self.stands_still(old.member, double.since, until):
            return Why(f"{old.member} stands still and has not heard that {new.member} has them")
        passes = self._triggers.get((double.group, new.member))
        if passes is not None:
            return self._of_passes(double, old, new, until)
        for limit in self._timeline.facts:
            fact = limit.fact
            if type(fact) is TimedOut and fact.member == old.member and old.since <= limit.now <= double.since:
                return Why(f"{old.member} {fact.then}: {fact.why} than {fact.setting}", (fact.setting,))
        for at, trigger in reversed(self._triggers.get((double.group, None), [])):
            if at <= double.since and trigger == f"session of {old.member} timed out":
                put_out = f"the coordinator puts {old.member} out, whose session runs out"
                why = self.why_session(double.group, old.member, at)
                return Why(f"{put_out}, as {why.text}", why.settings)
        return Why()

    def _of_passes(self, double: Double, old: Interval, new: Interval, until: Time) -> Why:
        """Members that share for themselves: the earlier owner gives a queue up in a pass of its own."""
        passes = self._triggers.get((double.group, old.member), [])
        place = bisect_right(passes, until, key=lambda each: each[0])
        began = passes[place - 1] if place else None
        text = f"{new.member} takes them in its own pass, and {old.member} keeps them until"
        if double.until is None or began is None or began[0] < old.since:
            return Why(f"{text} a pass of its own takes them away")
        return Why(f"{text} its own ({began[1].partition(',')[0]})")

    def why_not_committed(self, again: Delivery, handled: Delivery) -> Why:
        """Why the offset at which reading began was behind what had been handled before."""
        before, since = handled.member, handled.since
        commits = self._commits.get((again.group, again.queue), ())
        mine = [each for each in commits if each.member == before and since <= each.at]
        refused = next((each for each in mine if each.error and each.at <= again.until), None)
        if refused is not None:
            return Why(f"the commits of {before} are refused ({refused.error})", LIMITS)
        joining = self.waits_since(before, since)
        if joining is not None:
            return Why(f"{before} waits in a rebalance, hands out what it has read, and cannot commit", LIMITS)
        if self._timeline.causes.ended_between(before, since, again.since):
            return Why(f"{before} ends before its next commit")
        if self.stands_still(before, since, again.since):
            return Why(f"{before} stands still before its next commit")
        late = next((each for each in mine if not each.error and each.at > again.since), None)
        if late is not None:
            return Why(f"{before} commits only after {again.member} has asked where to begin")
        return Why()
