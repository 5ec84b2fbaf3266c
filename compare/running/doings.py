"""What a member did at a time, as far as the facts of a run say: it stood still, waited in a rebalance or had work.

From this follows why its session ran out, why it kept a queue that another one had, why its progress was not committed.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from compare.documents.comparison import After
from compare.formatting import duration
from compare.running.outages import BrokersDown
from compare.running.reason_kinds import NO_SETTING
from compare.running.reasons import in_common
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Committed, Delivered, Granted, Position, RebalanceBegan, TimedOut, Transition
from protocols.timeline import Timeline
from protocols.timeline.ownership import Double, Interval
from protocols.timeline.timeline import Commit, commits


class Pause(NamedTuple):
    """A member stands still, milliseconds; ``of_code``: the user's code alone, while the client goes on."""

    since: Time
    until: Time
    of_code: bool = False


Pauses: TypeAlias = Mapping[str, Sequence[Pause]]
"""Member to when it stands still, in order."""

JOIN_SENT = "join sent"
"""How a Kafka client's state machine names that it asks to join: the coordinator waits for all members to do so."""

SILENT = frozenset({"PREPARING_REBALANCE"})
"""Its state until the answer has been read: no heartbeat leaves the client (spec kafka 4.2)."""

SESSION_OVER, JOINS_OVER = "session timed out", "join phase ended"
"""How the state machine of a group at its coordinator names that a member's session ran out, and that it waits for no
more members."""

UNSYNCED = frozenset({"PREPARING_REBALANCE", "COMPLETING_REBALANCE"})
"""Its states until it has its share: nothing is committed."""

LIMITS = ("max.poll.records", "session.timeout.ms")
"""What decides whether a loop comes back to its poll before the session runs out."""


PULLED_MS: Time = 1_000.0
"""An offset that came within so long before came with a pull, not at the end of an interval."""

LATE_MS: Time = 10_000.0
"""A commit within so long of the last record that was handled is the one of that record."""


_AT, _SINCE = attrgetter("at"), attrgetter("since")


class Why(NamedTuple):
    """A mechanism in words, and the settings that would change it, where these are others than the kind's."""

    text: str = ""
    settings: tuple[str, ...] = ()
    paused: bool = False
    """Whether the member that it is about stands still."""


def _until(after: After) -> Time:
    return after["until_s"] * 1000


def what_keeps(after: Sequence[After], since: Time, until: Time, *, unowned: bool) -> str:
    """What keeps members that share for themselves from giving a queue one owner, where it has had none (or several)
    in this time when the next event, or the end, came; empty where nothing does."""
    for each in after[bisect_right(after, since, key=_until) :]:
        if _until(each) > until:
            break
        if why := each["why_unowned" if unowned else "why_shared"]:
            return "; and ".join(why)
    return ""


class Doings:
    """Answers for all members of a run."""

    def __init__(self, timeline: Timeline, pauses: Pauses, down: BrokersDown) -> None:
        self._timeline, self._pauses, self._down = timeline, pauses, down
        self._commits: tuple[tuple[str, Queue] | None, Sequence[Commit]] = None, ()

    @cached_property
    def _states(self) -> dict[str, list[tuple[Time, str]]]:
        found: dict[str, list[tuple[Time, str]]] = {}
        for now, fact in self._timeline.told(Transition):
            if fact.machine in ("consumer", "client"):
                found.setdefault(fact.of, []).append((now, fact.after))
        return found

    @cached_property
    def _deliveries(self) -> dict[tuple[str, str], tuple[list[Delivered], list[Time]]]:
        """(Group, member) to its deliveries in the order of their beginnings, and when the last of them had ended, of
        each and those before it."""
        found: dict[tuple[str, str], list[Delivered]] = {}
        for delivery in self._timeline.deliveries:
            found.setdefault((delivery.group, delivery.member), []).append(delivery)
        ordered = {key: sorted(of_member, key=_SINCE) for key, of_member in found.items()}
        return {
            key: (of_member, list(accumulate([each.until for each in of_member], max)))
            for key, of_member in ordered.items()
        }

    @cached_property
    def _beliefs(self) -> dict[tuple[str, Queue], list[Interval]]:
        found: dict[tuple[str, Queue], list[Interval]] = {}
        for belief in self._timeline.beliefs:
            found.setdefault((belief.group, belief.queue), []).append(belief)
        return found

    @cached_property
    def _limits(self) -> dict[str, list[tuple[Time, TimedOut]]]:
        """Member to the limits of time that its client exceeded."""
        found: dict[str, list[tuple[Time, TimedOut]]] = {}
        for now, fact in self._timeline.told(TimedOut):
            found.setdefault(fact.member, []).append((now, fact))
        return found

    def exceeded(self, members: Collection[str], since: Time, until: Time) -> TimedOut | None:
        """The first limit of time that a client of these members exceeded in this time."""
        found = ((at, fact) for member in members for at, fact in self._limits.get(member, ()) if since <= at <= until)
        return min(found, key=lambda each: each[0], default=(0.0, None))[1]

    @staticmethod
    def of_limit(limit: TimedOut) -> tuple[str, ...]:
        """The settings that would keep a client within it."""
        more = ("max.poll.records",) if limit.setting == "max.poll.interval.ms" else ()
        return (limit.setting, *more)

    @cached_property
    def _triggers(self) -> dict[tuple[str, str | None], list[tuple[Time, str]]]:
        """(Group, member who rebalances by itself, or None) to what its rebalances began with."""
        found: dict[tuple[str, str | None], list[tuple[Time, str]]] = {}
        for now, fact in self._timeline.told(RebalanceBegan):
            found.setdefault((fact.group, fact.member), []).append((now, fact.trigger))
        return found

    def commits_of(self, group: str, queue: Queue) -> Sequence[Commit]:
        """The queue's commits, in order."""
        if self._commits[0] != (group, queue):
            times, facts = self._committed.get((group, queue), ((), ()))
            self._commits = (group, queue), list(commits(zip(times, facts, strict=True)))
        return self._commits[1]

    @cached_property
    def _committed(self) -> "dict[tuple[str, Queue], tuple[array[float], list[Committed]]]":
        """(Group, queue) to the times of its commits and what was told of them. A run has so many that `commits_of`
        keeps those of one queue alone."""
        found: dict[tuple[str, Queue], tuple[array[float], list[Committed]]] = {}
        for now, fact in self._timeline.told(Committed):
            times, facts = found.setdefault((fact.group, fact.queue), (array("d"), []))
            times.append(now)
            facts.append(fact)
        return found

    def stands_still(self, member: str, since: Time, until: Time) -> bool:
        """Whether it does so at any moment of this time."""
        return any(pause.since < until and pause.until > since for pause in self._pauses.get(member, ()))

    def waits_since(self, member: str, at: Time, waiting: frozenset[str]) -> Time | None:
        """Since when it has been in these states then; None where it is not."""
        states = self._states.get(member, [])
        place = bisect_right(states, at, key=lambda each: each[0])
        began = None
        for when, state in reversed(states[:place]):
            if state not in waiting:
                break
            began = when
        return began

    def handles(self, group: str, member: str, since: Time, until: Time, without: Queue | None = None) -> Time:
        """For how many milliseconds of this time it handles records, those of one queue left out."""
        of_member, ended = self._deliveries.get((group, member), ([], []))
        lasted, reached = 0.0, since
        for each in of_member[bisect_left(ended, since) : bisect_left(of_member, until, key=_SINCE)]:
            if each.queue != without:
                lasted += max(0.0, min(each.until, until) - max(each.since, reached))
                reached = max(reached, each.until)
        return lasted

    def busy(self, group: str, member: str, since: Time, until: Time) -> str:
        """ "is busy with records for 1 min 40 s of that", where that is at least half of the time; else empty."""
        lasted = self.handles(group, member, since, until)
        return f"is busy with records for {duration(lasted / 1000)} of that" if lasted >= (until - since) / 2 else ""

    def why_session(self, group: str, member: str, at: Time) -> Why:
        """Why the session of the member ran out at this time."""
        if self.stands_still(member, at - 1, at):
            return Why(f"{member} stands still and sends no heartbeats")
        joining = self.waits_since(member, at, SILENT)
        if joining is not None:
            loop = self.busy(group, member, joining, at)
            busy = f"its loop {loop}, and a" if loop else "a"
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
        for at, fact in self._limits.get(old.member, ()):
            if old.since <= at <= double.since:
                return Why(f"{old.member} {fact.then}: {fact.why} than {fact.setting}", (fact.setting,))
        if self.stands_still(old.member, double.since, until):
            return Why(f"{old.member} stands still and has not heard that {new.member} has them", paused=True)
        passes = self._triggers.get((double.group, new.member))
        if passes is not None:
            return self._of_passes(double, old, new, until)
        for at, events in self._put_out.get((double.group, old.member), ()):
            if not old.since <= at <= double.since:
                continue
            if SESSION_OVER in events:
                why = self.why_session(double.group, old.member, at)
                return Why(f"the coordinator puts {old.member} out, whose session runs out: {why.text}", why.settings)
            if JOINS_OVER in events and self.waits_since(old.member, at, UNSYNCED) is None:
                text = f"the coordinator gives them away without {old.member}, which has not asked to rejoin"
                return Why(text, ("max.poll.interval.ms", "max.poll.records"))
        return Why()

    @cached_property
    def _put_out(self) -> dict[tuple[str, str], list[tuple[Time, set[str]]]]:
        """(Group, member) to when a coordinator took everything from it, and what happened to the group then."""
        found: dict[tuple[str, str], list[tuple[Time, set[str]]]] = {}
        for now, fact in self._timeline.told(Granted):
            if not fact.queues:
                steps = self._group_steps.get((fact.group, now), set())
                found.setdefault((fact.group, fact.member), []).append((now, steps))
        return found

    @cached_property
    def _group_steps(self) -> dict[tuple[str, Time], set[str]]:
        """Group and time to what the state machine at its coordinator names that happened then."""
        found: dict[tuple[str, Time], set[str]] = {}
        for now, step in self._timeline.told(Transition):
            if step.machine in ("group", "consumer group"):
                found.setdefault((step.of, now), set()).add(step.event)
        return found

    def waits_for_session(self, group: str, since: Time, until: Time) -> bool:
        """Whether in this time the coordinator waited for a member to rejoin until its session ran out, and then for
        nobody any more."""
        ends = self._waited_for_sessions.get(group, ())
        return bisect_right(ends, since) < bisect_right(ends, until)

    @cached_property
    def _waited_for_sessions(self) -> dict[str, list[Time]]:
        """Group to when a session ran out and with it its join phase, in order."""
        found: dict[str, list[Time]] = {}
        for (group, at), events in self._group_steps.items():
            if events >= {SESSION_OVER, JOINS_OVER}:
                found.setdefault(group, []).append(at)
        return found

    def _of_passes(self, double: Double, old: Interval, new: Interval, until: Time) -> Why:
        """Members that share for themselves: the earlier owner gives a queue up in a pass of its own."""
        passes = self._triggers.get((double.group, old.member), [])
        place = bisect_right(passes, until, key=lambda each: each[0])
        began = passes[place - 1] if place else None
        text = f"{new.member} takes them in its own pass, and {old.member} keeps them until"
        if self._timeline.causes.ended_between(old.member, old.since, until):
            return Why(f"{text} its shutdown is over")
        if double.until is None or began is None or began[0] < old.since:
            return Why(f"{text} a pass of its own takes them away")
        return Why(f"{text} its own ({began[1].partition(',')[0]})")

    def why_back(self, back: Commit) -> Why:
        """Why a member committed an offset before the one that stood there."""
        of_queue = self.commits_of(back.group, back.queue)
        earlier = reversed(of_queue[: bisect_right(of_queue, back.at, key=_AT)])
        stood = next((each for each in earlier if each.taken and each.offset == back.before), None)
        began = max(
            (
                at
                for at, member in self._begun.get((back.group, back.queue), ())
                if member == back.member and at <= back.at
            ),
            default=None,
        )
        if stood is None or began is None or stood.member is None:
            return Why()
        if stood.at >= began and stood.member != back.member:
            return Why(f"{stood.member} commits further after {back.member} has asked where to begin")
        if stood.at < began:
            told = f"is told an older offset than the {back.before} that {stood.member} had committed"
            broker = back.queue.broker
            if any(stood.at <= each.since and each.until <= began for each in self._down.of.get(broker, ())):
                lost = f"{back.member} {told} and {broker} had not written to disk"
                return Why(lost, ("flushConsumerOffsetInterval",))
            return Why(f"{back.member} {told}")
        return Why()

    @cached_property
    def _begun(self) -> dict[tuple[str, Queue], list[tuple[Time, str]]]:
        """When members asked where to begin in a queue."""
        found: dict[tuple[str, Queue], list[tuple[Time, str]]] = {}
        for now, fact in self._timeline.told(Position):
            found.setdefault((fact.group, fact.queue), []).append((now, fact.member))
        return found

    def why_not_committed(self, again: Delivered, handled: Delivered) -> Why:
        """Why the offset at which reading began was behind what had been handled before."""
        before, part = handled.member, max(0, again.first - handled.first) / max(1, handled.end - handled.first)
        since = handled.since + part * (handled.until - handled.since)
        of_queue = self.commits_of(again.group, again.queue)
        until = max(again.until, handled.until + LATE_MS)
        during = of_queue[bisect_left(of_queue, since, key=_AT) : bisect_right(of_queue, until, key=_AT)]
        mine = [each for each in during if each.member == before]
        refused = next((each for each in mine if each.error and each.at <= again.until), None)
        if refused is not None:
            return Why(f"the commits of {before} are refused ({refused.error})", LIMITS)
        if self.waits_since(before, since, UNSYNCED) is not None:
            return Why(f"{before} waits in a rebalance, hands out what it has read, and cannot commit", LIMITS)
        if self._timeline.causes.ended_between(before, since, again.since):
            return self._ends_before_commit(before, again, handled)
        if self.stands_still(before, since, again.since):
            return Why(f"{before} stands still before its next commit")
        limit = self.exceeded((before,), since, again.until)
        if limit is not None:
            text = f"{before} {limit.then} before its next commit: {limit.why} than {limit.setting}"
            return Why(text, self.of_limit(limit))
        late = any(not each.error and again.since < each.at < handled.until + LATE_MS for each in mine)
        if late and before != again.member:
            return Why(f"{before} commits only after {again.member} has asked where to begin")
        earlier = reversed(of_queue[: bisect_right(of_queue, again.since, key=_AT)])
        last = next((each.at for each in earlier if each.taken), None)
        if last is None:
            return Why()
        joining = self._unsynced(before, last, again.since)
        if joining >= (again.since - last) / 2:
            of = f"{duration(joining / 1000)} of the {duration((again.since - last) / 1000)}"
            return Why(f"{before} waits in a rebalance for {of} since the last commit, and cannot commit then", LIMITS)
        return Why(f"the last commit before is {duration((again.since - last) / 1000)} old")

    def _ends_before_commit(self, before: str, again: Delivered, handled: Delivered) -> Why:
        """RocketMQ's pulls bring the offset along (spec rocketmq 2.10): where one just did, not the interval of commits
        decides, but how many records a pull brings."""
        of_queue = self.commits_of(again.group, again.queue)
        earlier = of_queue[: bisect_right(of_queue, again.since, key=_AT)]
        last = next((each for each in reversed(earlier) if each.taken and each.member == before), None)
        if again.queue.broker and last is not None and handled.until - last.at < PULLED_MS:
            settings = ("pullBatchSize",) if min(again.end, handled.end) - last.offset > 1 else (NO_SETTING,)
            return Why(f"{before} ends between handling them and its next pull, which brings the offset", settings)
        return Why(f"{before} ends before its next commit")

    def _unsynced(self, member: str, since: Time, until: Time) -> Time:
        """For how long of this time the member has no share and so commits nothing."""
        states = [*self._states.get(member, []), (self._timeline.end, "")]
        return sum(
            in_common(at, then, since, until) for (at, state), (then, _) in pairwise(states) if state in UNSYNCED
        )
