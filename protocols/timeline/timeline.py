"""What happened in a run: who owned what when, why it changed, what was said, committed and delivered.

Nodes report facts as they act; a timeline puts them in order once, and all figures, pictures, stories and properties
are functions of it. So a number and the picture beside it cannot disagree, and what real clients did before served
brokers is told by the same code as a simulation. Also here: committed offsets, which were taken, which refused, and
which went back.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeVar

from protocols.engine.nodes import Time
from protocols.facts import Committed, Delivered, Ended, Owns, PassedOver
from protocols.java import Queue, sort_queues
from protocols.load import quickly_made
from protocols.timeline.causes import Causes
from protocols.timeline.deliveries import Positions, burst, given_up, passed_over, positions, redelivered
from protocols.timeline.fact_log import FactLog
from protocols.timeline.lifetimes import Lifetimes
from protocols.timeline.ownership import Double, Gap, Interval, OwnershipFigures, Pause
from protocols.timeline.rebalances import Rebalance, completed, rebalances
from protocols.timeline.records import Given, ended_how, times_given
from protocols.timeline.trace import ObservedFact, Sent, Trace

F = TypeVar("F")


class Commit(NamedTuple):
    """An offset that a broker was asked to take at ``at``.

    ``member`` is None for an administrator, ``error`` empty where the offset was taken. ``before``: the offset that
    stood there, None where there was none.
    """

    at: Time
    group: str
    queue: Queue
    offset: int
    member: str | None
    generation: int | None
    error: str
    before: int | None

    @property
    def fact(self) -> Committed:
        return Committed(self.group, self.queue, self.offset, self.member, self.generation, self.error)

    @property
    def taken(self) -> bool:
        return not self.error

    @property
    def back(self) -> bool:
        """Whether it was taken and lies before what stood there."""
        return not self.error and self.before is not None and self.offset < self.before


_commit = quickly_made(Commit)


def commits(facts: Iterable[tuple[Time, Committed]]) -> Iterator[Commit]:
    """The commits in the order in which brokers saw them."""
    stands: dict[tuple[str, Queue], int] = {}
    for now, fact in facts:
        key = fact.group, fact.queue
        yield _commit((now, *fact, stands.get(key)))
        if not fact.error:
            stands[key] = fact.offset


def back_within_a_generation(all_commits: Iterable[Commit]) -> list[Commit]:
    """Commits of members that lie before another one of the same generation (where systems have none: of any).

    What an administrator sets begins anew.
    """
    highest: dict[tuple[str, Queue], tuple[int | None, int]] = {}
    found = []
    for commit in all_commits:
        if commit.error:
            continue
        key = commit.group, commit.queue
        before = highest.get(key)
        if commit.member is None:
            highest.pop(key, None)
        elif before is not None and before[0] == commit.generation and commit.offset < before[1]:
            found.append(commit)
        else:
            highest[key] = commit.generation, commit.offset
    return found


@dataclass(frozen=True)
class Timeline:
    """Everything is in the order of its time; times are milliseconds of virtual time."""

    end: Time
    causes: Causes
    """What the scenario let happen."""
    facts: FactLog
    """Every fact."""
    beliefs: tuple[Interval, ...]
    """Ownership as members believe it."""
    grants: tuple[Interval, ...]
    """Ownership as it was granted (Kafka) or computed (RocketMQ, ZooKeeper)."""
    gaps: tuple[Gap, ...]
    """Queues without an owner, after their first one, by beliefs."""
    doubles: tuple[Double, ...]
    """Queues with several owners, by beliefs."""
    ownership: OwnershipFigures
    pauses: tuple[Pause, ...]
    messages: Mapping[str, int]
    """Type of message to how many were sent."""
    lost: Mapping[str, int]
    """The same of those that a fault of the network lost."""
    trace: Trace | None = None
    """Every message and cause, where the simulation traced."""
    given: tuple[Given, ...] = ()
    """Records that were given out one by one, by when they were given."""
    lives: Lifetimes = field(default_factory=dict)
    uncounted: tuple[str, ...] = ()
    broadcasting: frozenset[str] = frozenset()
    """Groups in which every member reads every queue: ``gaps``, ``doubles`` and ``ownership`` are of the others."""
    without_owners: frozenset[str] = frozenset()
    """Groups whose records are given out one by one, so that no queue has an owner."""

    @property
    def not_shared(self) -> frozenset[str]:
        """Groups that no figure of sharing counts."""
        return self.broadcasting | self.without_owners

    def told(self, kind: type[F]) -> Iterator[tuple[Time, F]]:
        """The facts of this kind, each with its time."""
        return self.facts.told(kind)

    @cached_property
    def rebalances(self) -> tuple[Rebalance, ...]:
        """In the order of their beginnings; members' passes that changed nothing are left out."""
        return tuple(rebalances(self.facts, self.causes, self.gaps, self.pauses))

    @property
    def commits(self) -> Iterator[Commit]:
        """What brokers were asked to take, and what administrators set; made anew each time, as there are many."""
        return commits(self.told(Committed))

    def commits_of(self, queues: Collection[tuple[str, Queue]]) -> Iterator[Commit]:
        """The same of these queues alone, each with its group."""
        told = self.told(Committed) if queues else ()
        return commits((now, fact) for now, fact in told if (fact.group, fact.queue) in queues)

    @cached_property
    def commits_apart(self) -> tuple[Commit, ...]:
        """Those that were refused or lie before what stood there."""
        return tuple([commit for commit in self.commits if commit.error or commit.back])

    @cached_property
    def commits_back(self) -> tuple[Commit, ...]:
        """Those that lie before what stood there."""
        return tuple([commit for commit in self.commits_apart if commit.back])

    @cached_property
    def deliveries(self) -> tuple[Delivered, ...]:
        return tuple([fact for _, fact in self.told(Delivered)])

    @cached_property
    def passed_over(self) -> tuple[Delivered, ...]:
        """Records that were read past, or given up, without being handled: no deliveries, but no lag either."""
        passed = [passed_over(now, fact) for now, fact in self.told(PassedOver)]
        passed += [given_up(now, fact) for now, fact in self.told(Ended) if fact.how != "acknowledged"]
        return tuple(passed)

    @property
    def takers(self) -> tuple[Interval, ...]:
        """Who owned what as members believe it; of groups without owners who was permitted to take records of what."""
        return (*self.beliefs, *(grant for grant in self.grants if grant.group in self.without_owners))

    @cached_property
    def times_given(self) -> Mapping[int, int]:
        """How often to how many records were given so often, where they are given out one by one."""
        return times_given(self.given, self.lives)

    @cached_property
    def ended_how(self) -> Mapping[str, int]:
        """How such records ended (`protocols.facts.End`) to how many did."""
        return ended_how(fact for _, fact in self.told(Ended))

    @cached_property
    def owned(self) -> Mapping[tuple[str, str], tuple[Queue, ...]]:
        """(Group, member) to what it believes to own at the end, sorted; members that own nothing are left out."""
        found: dict[tuple[str, str], list[Queue]] = {}
        for belief in self.beliefs:
            if belief.until is None:
                found.setdefault((belief.group, belief.member), []).append(belief.queue)
        return {key: sort_queues(queues) for key, queues in found.items()}

    @cached_property
    def last_of_generation(self) -> Mapping[tuple[str, int | None], ObservedFact]:
        """(Group, generation) to the last statement of a member about what it owns in it, if that is anything."""
        stated = (observed for observed in self.facts.of_kinds(Owns) if observed.fact.queues)
        return {(observed.fact.group, observed.fact.generation): observed for observed in stated}

    @cached_property
    def rebalance_count(self) -> int:
        """Generations completed (Kafka), distinct causes after which a member's queues changed (RocketMQ)."""
        return completed(self.rebalances)

    @cached_property
    def sent_and_told(self) -> tuple[Sent | ObservedFact, ...]:
        """Messages and facts in the order in which the nodes sent and told them, also where all happen at one time.

        Raises `ValueError` where the simulation did not trace.
        """
        if self.trace is None:
            raise ValueError("the order of messages and facts needs a simulation that traces")
        found: list[tuple[int, int, Sent | ObservedFact]] = [
            (message.after_facts, 0, message) for message in self.trace.messages
        ]
        found += [(place, 1, fact) for place, fact in enumerate(self.facts)]
        return tuple(each for _, _, each in sorted(found, key=lambda each: each[:2]))

    @property
    def settle(self) -> Time:
        """Milliseconds from the last event of the scenario to the last change of any belief."""
        return max(0.0, self.ownership.last_change - self.causes.last_event)

    @cached_property
    def redelivered(self) -> int:
        """How many records were delivered to more than one member, or twice; where everybody is meant to read
        everything, twice to one."""
        return redelivered(self.deliveries_by_reader, self.lives)

    @cached_property
    def burst(self) -> float | None:
        """The highest delivery rate of a member over its normal rate; None without deliveries."""
        return burst(self.counted_deliveries)

    @cached_property
    def deliveries_by_reader(self) -> tuple[Delivered, ...]:
        """The counted deliveries; where a group is broadcasting, each member is named as a group of its own, which is
        how it reads."""
        if not self.broadcasting:
            return self.counted_deliveries
        return tuple(
            delivery._replace(group=f"{delivery.group}/{delivery.member}")
            if delivery.group in self.broadcasting
            else delivery
            for delivery in self.counted_deliveries
        )

    @cached_property
    def reading(self) -> Positions:
        """The same by group (reader) and queue."""
        return positions(self.deliveries_by_reader)

    @cached_property
    def counted_deliveries(self) -> tuple[Delivered, ...]:
        """The deliveries of the queues that figures count."""
        return self._counted(self.deliveries)

    @cached_property
    def progress(self) -> Positions:
        """How far each group has read the queues that figures count: deliveries, and what was passed over."""
        if not self.passed_over and not self.broadcasting:
            return self.reading
        return positions(self._counted((*self.deliveries, *self.passed_over)))

    def _counted(self, deliveries: tuple[Delivered, ...]) -> tuple[Delivered, ...]:
        if not self.uncounted:
            return deliveries
        return tuple([delivery for delivery in deliveries if not delivery.queue.topic.startswith(self.uncounted)])
