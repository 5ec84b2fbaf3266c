"""What is explored: one variant of a scenario, its world, and the properties that watch it, with what is remembered of
each process and which states violate them.

An invariant that is broken in a state that the explorer comes to is a mistake of the model
(`protocols.timeline.invariants`). Beliefs are what members take for their own (`protocols.facts.Owns`); queues of
RocketMQ's retry topics are left out.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from compare.exploring.given_out import (
    EVERY_RECORD,
    KEPT,
    STAYS_ENDED,
    KeptWhileAllowed,
    OpenRecords,
    StaysEnded,
    least_attempts,
)
from compare.running.systems import has_no_owners, system_of, with_own_settings
from compare.running.variants import Variant
from protocols.engine.exploration import Bounds, BrokenInvariant, Ended, Watch
from protocols.errors import UserError
from protocols.facts import Committed, Granted, Owns, RebalanceEnded, Transition
from protocols.java import Queue
from protocols.scenario.events import BrokerEvent, Network, Subscribe
from protocols.scenario.exploring import Settled, explored
from protocols.scenario.exploring_events import OF_TOPICS
from protocols.scenario.model import STATIC, Scenario, split_system
from protocols.scenario.running import all_static

NAME: Final = "model-invariants"

Generations = tuple[tuple[tuple[str, str], int], ...]
Remembered = tuple[str, Generations]
"""What is broken, or nothing; and of each member (group, member) and each group (group, "") its last generation."""


class NothingRaises:
    """Nodes raise in no step: watched in every search. A `protocols.engine.exploration.Watch`."""

    name: Final = NAME
    nothing: Hashable = ""

    def remember(self, before: str, fact: tuple[object, ...]) -> str:
        """See `Watch`."""
        return before or fact.why if isinstance(fact, BrokenInvariant) else before

    def is_violated(self, remembered: Sequence[str]) -> bool:
        """See `Watch`."""
        return any(remembered)


class ModelInvariants:
    """Nodes raise in no step, a member's generation never goes back while it runs, a group's completed generations
    never do while the group lives. A `protocols.engine.exploration.Watch`."""

    name: Final = NAME
    nothing: Hashable = ("", ())

    def remember(self, before: Remembered, fact: tuple[object, ...]) -> Remembered:
        """See `Watch`."""
        why, generations = before
        if isinstance(fact, BrokenInvariant):
            return why or fact.why, generations
        if isinstance(fact, Owns):
            if fact.generation is None:
                return (why, _without(generations, (fact.group, fact.member))) if not fact.queues else before
            return _gone_on(before, (fact.group, fact.member), fact.generation)
        if isinstance(fact, RebalanceEnded) and fact.generation is not None and fact.member is None:
            return _gone_on(before, (fact.group, ""), fact.generation)
        if isinstance(fact, Transition) and fact.machine in ("group", "consumer group") and fact.after == "Dead":
            return why, _without(generations, (fact.of, ""))
        return before

    def is_violated(self, remembered: Sequence[Remembered]) -> bool:
        """See `Watch`."""
        return any(why for why, _ in remembered)


def _without(generations: Generations, whose: tuple[str, str]) -> Generations:
    return tuple([generation for generation in generations if generation[0] != whose])


def _gone_on(before: Remembered, whose: tuple[str, str], generation: int) -> Remembered:
    why, generations = before
    was = dict(generations).get(whose, generation)
    if generation < was:
        why = why or f"{' '.join(filter(None, whose))} goes back from generation {was} to {generation}"
    return why, tuple(sorted((*_without(generations, whose), (whose, generation))))


SINGLE_OWNER: Final = "single-owner"
PER_GENERATION: Final = "single-owner-per-generation"
ACKNOWLEDGED: Final = "single-owner-acknowledged"
COMMITS: Final = "commits-never-go-back"
SETTLES: Final = "settles"
EVERY_QUEUE: Final = "every-queue-owned"
FAIR_SHARE: Final = "fair-share"

OF_A_MEMBER: Final = "consumer group member"
"""The state machine of a member of the consumer protocol at its coordinator."""


LEFT: Final = "removed"
"""Its event by which the coordinator takes a member out of the group."""

UNLOADED: Final = "unloaded"
"""The event of a group by which its broker ceases to coordinate it."""


class Belief(NamedTuple):
    """What a member takes for its own, and in which generation it was told so (None: the system has none)."""

    group: str
    member: str
    queues: tuple[Queue, ...]
    generation: int | None


Beliefs: TypeAlias = tuple[Belief, ...]
"""Of the members of one process that own anything."""


def believed(before: Beliefs, fact: tuple[object, ...]) -> Beliefs:
    """The beliefs of a process after this fact."""
    if not isinstance(fact, Owns):
        return before
    others = tuple([each for each in before if (each.group, each.member) != (fact.group, fact.member)])
    queues = tuple([queue for queue in fact.queues if not queue.topic.startswith("%")])
    return tuple(sorted((*others, Belief(fact.group, fact.member, queues, fact.generation)))) if queues else others


def _shared(beliefs: Sequence[Belief]) -> Iterator[tuple[Belief, Belief]]:
    """Pairs of members of one group that believe in one queue."""
    for one, other in combinations(beliefs, 2):
        if one.group == other.group and not set(one.queues).isdisjoint(other.queues):
            yield one, other


class SingleOwner:
    """No queue is owned by two members at once, as the members believe."""

    name = SINGLE_OWNER
    nothing: Beliefs = ()

    def remember(self, before: Beliefs, fact: tuple[object, ...]) -> Beliefs:
        """See `Watch`, as for all that follows."""
        return believed(before, fact)

    def is_violated(self, remembered: Sequence[Beliefs]) -> bool:
        return any(True for _ in _shared([belief for beliefs in remembered for belief in beliefs]))


class SingleOwnerPerGeneration(SingleOwner):
    """No queue is owned by two members in one generation (of the consumer protocol: in one member epoch)."""

    name = PER_GENERATION

    def is_violated(self, remembered: Sequence[Beliefs]) -> bool:
        shared = _shared([belief for beliefs in remembered for belief in beliefs])
        return any(one.generation == other.generation and one.generation is not None for one, other in shared)


class Known(NamedTuple):
    """Beliefs of a process's members, and the members whom its coordinator counts: (group, member) of those that it has
    granted something, and those of the consumer protocol by what it calls them."""

    beliefs: Beliefs = ()
    granted: tuple[tuple[str, str], ...] = ()
    present: tuple[str, ...] = ()


class SingleOwnerAcknowledged:
    """No queue is owned by two members both of whom the coordinator counts: a member that it has removed believes on
    until it hears of it, but has been told so, or has nobody who listens to it. What a broker counted that has ended,
    or does not coordinate the group any more, does not matter; who takes the group over counts whom it tells of."""

    name = ACKNOWLEDGED
    nothing = Known()

    def remember(self, before: Known, fact: tuple[object, ...]) -> Known:
        """See `Watch`, as for all that follows."""
        if isinstance(fact, Owns):
            return before._replace(beliefs=believed(before.beliefs, fact))
        if isinstance(fact, Granted):
            others = {each for each in before.granted if each != (fact.group, fact.member)}
            return before._replace(granted=tuple(sorted(others | ({fact[:2]} if fact.queues else set()))))
        if isinstance(fact, Transition) and fact.machine == OF_A_MEMBER:
            others_there = {each for each in before.present if each != fact.of}
            return before._replace(present=tuple(sorted(others_there | ({fact.of} if fact.event != LEFT else set()))))
        if isinstance(fact, Ended) or (isinstance(fact, Transition) and fact.event == UNLOADED):
            return Known(before.beliefs)
        return before

    def is_violated(self, remembered: Sequence[Known]) -> bool:
        granted = {each for known in remembered for each in known.granted}
        names = {each.partition(" (")[0] for known in remembered for each in known.present}
        beliefs = [belief for known in remembered for belief in known.beliefs]
        counted = [belief for belief in beliefs if (belief.group, belief.member) in granted or belief.member in names]
        return any(True for _ in _shared(counted))


class Offsets(NamedTuple):
    """(Group, queue) to generation and offset of the last commit, and whether one went back."""

    last: tuple[tuple[str, Queue, int | None, int], ...] = ()
    went_back: bool = False


class CommitsNeverGoBack:
    """No offset that a broker takes is less than one before it of the same generation (where there are generations)."""

    name = COMMITS
    nothing = Offsets()

    def remember(self, before: Offsets, fact: tuple[object, ...]) -> Offsets:
        """See `Watch`, as for all that follows."""
        if not isinstance(fact, Committed) or fact.error or fact.member is None or fact.queue.topic.startswith("%"):
            return before
        others, went_back = [], before.went_back
        for last in before.last:
            if last[:2] != (fact.group, fact.queue):
                others.append(last)
            elif last[2] == fact.generation and fact.offset < last[3]:
                went_back = True
        others.append((fact.group, fact.queue, fact.generation, fact.offset))
        return Offsets(tuple(sorted(others, key=lambda last: last[:2])), went_back)

    def is_violated(self, remembered: Sequence[Offsets]) -> bool:
        return any(name.went_back for name in remembered)


class Ownership(SingleOwner):
    """No property: beliefs, for those who ask what the fair run leads to."""

    name = "beliefs"

    def is_violated(self, remembered: Sequence[Beliefs]) -> bool:
        return False


WATCHES: Final[Mapping[str, Callable[[], Watch]]] = {
    PER_GENERATION: SingleOwnerPerGeneration,
    SINGLE_OWNER: SingleOwner,
    ACKNOWLEDGED: SingleOwnerAcknowledged,
    COMMITS: CommitsNeverGoBack,
    STAYS_ENDED: StaysEnded,
    KEPT: lambda: KeptWhileAllowed({}),
    NAME: ModelInvariants,
}
"""Properties of single states."""

FAIR: Final = (SETTLES, EVERY_QUEUE, FAIR_SHARE, EVERY_RECORD)
"""Properties of what follows from each state once nothing is late any more and no event comes."""

NAMES: Final = (*WATCHES, *FAIR)


def default_property(system: str) -> str:
    """What a system promises where nothing else is asked for: one owner in each generation; one owner at a time where
    there are no generations; what has ended stays so where records are given out one by one."""
    if has_no_owners(system):
        return STAYS_ENDED
    return PER_GENERATION if split_system(system)[0] == "kafka" else SINGLE_OWNER


NEWS: Final = (*OF_TOPICS, Network, Subscribe)
"""Events after which housekeeping finds something new; what it finds after the end of a broker, the rules know."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A settled world; ``names`` of its watches, in their order, the model's invariants always among
    them; one that is about what follows once nothing is late any more has none."""

    variant: Variant
    lived: Scenario
    """The scenario as the system sees it."""
    settled: Settled
    names: tuple[str, ...]


def watches_of(variant: Variant, names: Sequence[str]) -> list[Watch]:
    """The watches of these properties, as they are for a variant."""
    return [KeptWhileAllowed(least_attempts(variant)) if name == KEPT else WATCHES[name]() for name in names]


def subject_of(variant: Variant, names: Sequence[str], bounds: Bounds) -> Subject:
    """The world of a variant, with the watches of these properties. Raises `UserError` for a group that does not
    settle."""
    part = variant.part
    system, lived = system_of(part.system), with_own_settings(variant.scenario, part.system)
    rules = system.exploration_rules(any(isinstance(event, BrokerEvent) for event in lived.events))
    if FAIR_SHARE in names and rules.shares is None:
        raise UserError(
            f"--property {FAIR_SHARE}: in {part.system} every client shares out for itself, expected a system of Kafka"
            f" with a coordinator, or {SETTLES} and {EVERY_QUEUE}"
        )
    if part.system.endswith(STATIC):
        lived = all_static(lived)
        part = part.model_copy(update={"system": part.system[: -len(STATIC)]})
    watched = [name for name in names if name in WATCHES]
    watches = watches_of(variant, watched)
    if NAME not in watched:
        watched.append(NAME)
        watches.append(NothingRaises())
    if any(name in FAIR for name in names):
        watches.append(OpenRecords() if has_no_owners(part.system) else Ownership())
    has_news = any(isinstance(event, NEWS) for event in lived.events)
    bounds = bounds._replace(housekeeping=bounds.housekeeping or has_news)
    settled = explored(lived, part, system.cluster(), rules, watches, bounds)
    return Subject(variant, lived, settled, tuple(watched))
