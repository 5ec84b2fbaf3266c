"""A finding about a group, and what those who look for one are given."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from compare.auditing.score import Points, points_lost, score
from compare.auditing.what_if import best_loads, loads_of
from compare.explaining.remedies.remedy import Gain, Remedy, best_first
from compare.reading.group_kinds import Kind, kind_of, usable_strategies
from compare.reading.group_model import Modelled, is_on_the_move, model_of, unowned_queues
from compare.reading.observed import ObservedGroup, names_of
from compare.reading.rocketmq.lines import is_retry
from protocols import Allocation, Queue

if TYPE_CHECKING:
    from compare.auditing.group_figures import AuditedGroup

MOST_NAMED = 3
"""Members or topics that a sentence names; `Finding.evidence` holds all."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a group is as it is, in one plain sentence, and what would help, most gain for least risk first.

    ``cost``: points of the score (`compare.auditing.score`) that this takes away, or would if it were scored.
    ``remedies``: () where nothing is to be done, or nothing is known that is safe to advise.
    """

    kind: str
    cause: str
    cost: float
    remedies: tuple[Remedy, ...] = ()
    evidence: Mapping[str, object] = field(default_factory=dict)

    @property
    def remedy(self) -> Remedy | None:
        """The first one."""
        return self.remedies[0] if self.remedies else None


def finding(
    kind: str,
    cause: str,
    remedies: Iterable[Remedy | None],
    cost: float | None = None,
    evidence: Mapping[str, object] | None = None,
) -> Finding:
    """The finding with its remedies in order, None left out; without ``cost``, what the best of them wins back."""
    ordered = best_first(remedy for remedy in remedies if remedy is not None)
    if cost is None:
        cost = max((remedy.points for remedy in ordered), default=0.0)
    return Finding(kind, cause, cost, ordered, evidence or {})


@dataclass(frozen=True, slots=True)
class Reader:
    """A group that reads a topic."""

    name: str
    kind: Kind


Readers: TypeAlias = Mapping[str, Sequence[Reader]]
"""Topic to the groups that read it, as far as the sources tell."""


@dataclass(frozen=True, slots=True)
class Case:
    """A group with everything that follows from it. What needs a model is None without one.

    ``best``: the fairest loads, descending; ``lost``: points that today's ownership loses. ``pile_up``, ``lag`` as in
    the figures. ``unowned``: queues known to have no owner, those of topics that nobody reads any more included.
    ``kind``: whose group it is; ``usable``: the strategies that it can be set to. ``readers``: who
    reads which topic.
    """

    observed: ObservedGroup
    modelled: Modelled | None
    loads: Sequence[int]
    best: Sequence[int]
    lost: Points | None
    pile_up: float | None
    lag: int | None
    unowned: tuple[Queue, ...]
    kind: Kind
    usable: tuple[str, ...]
    readers: Readers = field(default_factory=dict)

    @property
    def is_kafka(self) -> bool:
        """Whether the group is Kafka's."""
        return self.observed.system == "kafka"

    @property
    def on_the_move(self) -> bool:
        """Whether what members own is about to change, so that nothing may be concluded from it."""
        return is_on_the_move(self.observed)

    @property
    def idle_is_known(self) -> bool:
        """Whether a member without a queue is known to be idle: it is not while the group rebalances, nor where a
        source leaves out topics that it may own queues of."""
        partial = self.observed.partial
        return not self.on_the_move and not (partial is not None and partial.topics)

    @property
    def falls_short(self) -> bool:
        """Whether a fairer ownership is reachable."""
        return bool(self.loads) and sorted(self.loads, reverse=True) != list(self.best)

    @property
    def avoidably_idle(self) -> int:
        """Members that own nothing today although the fairest ownership employs them."""
        if not self.loads or not self.idle_is_known:
            return 0
        return max(0, self.loads.count(0) - list(self.best).count(0))

    def points_back(self, after: Allocation) -> float:
        """Points of the score that an ownership would win back, 0 or more."""
        if self.lost is None:
            return 0.0
        best = self.best if self.modelled is not None and after.group is self.modelled.group else None
        return max(0.0, score(after, best) - self.lost.score)

    def gain(self, after: Allocation | None) -> Gain | None:
        """What is less once an ownership holds; None where either is not known."""
        if after is None or self.modelled is None or not self.loads:
            return None
        today, loads = self.modelled.today, loads_of(after)
        return Gain(
            max=max(self.loads) - max(loads),
            idle_members=self.loads.count(0) - loads.count(0),
            max_over_mean=over_mean(self.loads) - over_mean(loads),
            unowned_queues=len(today.unowned) - len(after.unowned),
            double_owned_queues=len(today.double_owned) - len(after.double_owned),
            score=self.points_back(after),
        )

    def others_reading(self, topic: str) -> list[Reader]:
        """The other groups that read a topic."""
        return [reader for reader in self.readers.get(topic, ()) if reader.name != self.observed.name]


def over_mean(loads: Sequence[int]) -> float:
    """The heaviest load over the mean; 1 where nobody carries anything."""
    return max(loads) * len(loads) / sum(loads) if sum(loads) else 1.0


Search: TypeAlias = Callable[[Case], Iterator[Finding]]
"""Looks for causes of one sort."""


def case_of(
    group: "AuditedGroup",
    modelled: Modelled | None = None,
    readers: Readers | None = None,
) -> Case:
    """The case of an audited group; ``modelled`` if it is there already, ``readers`` as in `Case`."""
    observed = group.observed
    if modelled is None:
        modelled = model_of(observed)
    best = () if modelled is None else best_loads(modelled.group)
    kind = kind_of(observed)
    pile_up, lag = group.figure("pile_up"), group.figure("lag")
    return Case(
        observed,
        modelled,
        () if modelled is None else loads_of(modelled.today),
        best,
        None if modelled is None else points_lost(modelled.today, best),
        None if pile_up is None else float(pile_up),
        None if lag is None else int(lag),
        tuple(queue for queue in unowned_queues(observed) if not is_retry(queue.topic)),
        kind,
        usable_strategies(observed, kind),
        readers or {},
    )


def clients(observed: ObservedGroup, ids: Sequence[str]) -> list[str]:
    """What people are told of these members: `names_of` them."""
    members = observed.members or observed.seen
    told = dict(zip((member.id for member in members), names_of(members), strict=True))
    return [told.get(id, id) for id in ids]


def named(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
