"""A finding about a group, and what those who look for one are given."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from compare.audit.model import Modelled, model_of
from compare.audit.score import Points, points_lost, score
from compare.audit.what_if import best_loads, loads_of
from compare.reading.observed import ObservedGroup
from compare.reading.rocketmq.retry import is_retry
from protocols import Allocation, Queue

if TYPE_CHECKING:
    from compare.audit.judge import AuditedGroup

MOST_NAMED = 3
"""Members or topics that a sentence names; `Finding.evidence` holds all."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a group is as it is, and what would help: one plain sentence each.

    ``cost``: points of the score (`compare.audit.score`) that this takes away, or would if it were scored.
    ``after``: the ownership expected once the remedy is applied; None where it leads to no other, or nobody can tell.
    """

    kind: str
    cause: str
    remedy: str
    cost: float
    evidence: Mapping[str, Any] = field(default_factory=dict)
    after: Allocation | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A group with everything that follows from it. What needs a model is None without one.

    ``best``: the fairest loads, descending; ``lost``: points that today's ownership loses. ``pile_up``, ``lag`` as in
    the figures. ``unowned``: queues known to have no owner, those of topics that nobody reads any more included.
    """

    observed: ObservedGroup
    modelled: Modelled | None
    loads: Sequence[int]
    best: Sequence[int]
    lost: Points | None
    pile_up: float | None
    lag: int | None
    unowned: tuple[Queue, ...]

    @property
    def is_kafka(self) -> bool:
        """Whether the group is Kafka's."""
        return self.observed.system == "kafka"

    @property
    def falls_short(self) -> bool:
        """Whether a fairer ownership is reachable."""
        return bool(self.loads) and sorted(self.loads, reverse=True) != list(self.best)

    @property
    def avoidably_idle(self) -> int:
        """Members that own nothing today although the fairest ownership employs them."""
        return max(0, self.loads.count(0) - list(self.best).count(0)) if self.loads else 0

    def points_back(self, after: Allocation) -> float:
        """Points of the score that an ownership would win back, 0 or more."""
        if self.lost is None:
            return 0.0
        best = self.best if self.modelled is not None and after.group is self.modelled.group else None
        return max(0.0, score(after, best) - self.lost.score)


Search: TypeAlias = Callable[[Case], Iterator[Finding]]
"""Looks for causes of one sort."""


def case_of(group: "AuditedGroup", modelled: Modelled | None = None) -> Case:
    """The case of an audited group; ``modelled`` if it is there already."""
    observed = group.observed
    if modelled is None:
        modelled = model_of(observed)
    best = () if modelled is None else best_loads(modelled.group)
    pile_up, lag = group.figure("pile_up"), group.figure("lag")
    return Case(
        observed,
        modelled,
        () if modelled is None else loads_of(modelled.today),
        best,
        None if modelled is None else points_lost(modelled.today, best),
        None if pile_up is None else float(pile_up),
        None if lag is None else int(lag),
        _unowned(observed),
    )


def _unowned(observed: ObservedGroup) -> tuple[Queue, ...]:
    if observed.unowned is not None:
        return tuple(queue for queue in observed.unowned if not is_retry(queue.topic))
    members = observed.members
    if observed.mode != "shared" or members is None or any(member.owned is None for member in members):
        return ()
    owned = {queue for member in members for queue in member.owned or ()}
    return tuple(queue for queue in observed.queues or () if queue not in owned and not is_retry(queue.topic))


def several(count: int, what: str, plural: str = "") -> str:
    """ "1 queue", "2 queues"."""
    return f"{count} {what}" if count == 1 else f"{count} {plural or what + 's'}"


def named(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
