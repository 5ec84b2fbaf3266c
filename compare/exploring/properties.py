"""The properties of the verb "explore": what is remembered of each process, and which states violate it.

Beliefs are what members take for their own (`protocols.facts.Owns`). Queues of RocketMQ's retry topics are left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from compare.exploring import invariants
from protocols.engine.exploration import Ended, Watch
from protocols.facts import Committed, Granted, Owns, Transition
from protocols.queues import Queue

SINGLE_OWNER: Final = "single-owner"
PER_GENERATION: Final = "single-owner-per-generation"
ACKNOWLEDGED: Final = "single-owner-acknowledged"
COMMITS: Final = "commits-never-go-back"
SETTLES: Final = "settles"
EVERY_QUEUE: Final = "every-queue-owned"

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
        return any(True for _ in _shared([each for beliefs in remembered for each in beliefs]))


class SingleOwnerPerGeneration(SingleOwner):
    """No queue is owned by two members in one generation (of the consumer protocol: in one member epoch)."""

    name = PER_GENERATION

    def is_violated(self, remembered: Sequence[Beliefs]) -> bool:
        shared = _shared([each for beliefs in remembered for each in beliefs])
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
        beliefs = [each for known in remembered for each in known.beliefs]
        counted = [each for each in beliefs if (each.group, each.member) in granted or each.member in names]
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
        for each in before.last:
            if each[:2] != (fact.group, fact.queue):
                others.append(each)
            elif each[2] == fact.generation and fact.offset < each[3]:
                went_back = True
        last = (fact.group, fact.queue, fact.generation, fact.offset)
        return Offsets(tuple(sorted((*others, last), key=_order)), went_back)

    def is_violated(self, remembered: Sequence[Offsets]) -> bool:
        return any(each.went_back for each in remembered)


def _order(last: tuple[str, Queue, int | None, int]) -> tuple[str, Queue]:
    return last[:2]


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
    invariants.NAME: invariants.ModelInvariants,
}
"""Properties of single states."""

FAIR: Final = (SETTLES, EVERY_QUEUE)
"""Properties of what follows from each state once nothing is late any more and no event comes."""

NAMES: Final = (*WATCHES, *FAIR)
