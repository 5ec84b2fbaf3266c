"""From observed groups to figures: what can be told is computed, what cannot be told is None.

A group is *told* when it shares its queues and the sources name every member and everything each one owns. Then
all figures are computed, by the engine that was asked for; otherwise only the counts that the sources give.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.figures import FIGURES, Figure, GroupLoads, figures_of
from compare.reading.observed import ObservedGroup, ObservedMember
from protocols import Queue, UserError, sort_queues
from protocols.java import sorted_as_java

RETRY = "%RETRY%"
"""RocketMQ's retry topics begin with it; figures leave them out unless asked for."""

ROWS_FOR_SPARK = 2_000_000
"""From this many owned queues on, ``auto`` chooses Spark: starting it costs more than numpy needs for fewer."""


@dataclass(frozen=True, slots=True)
class AuditedGroup:
    """A group with its figures (names as in the design, `lag` and `members` among them), overall and per topic.

    ``owners``: member id to its queues, sorted; None where the sources do not tell what it owns.
    """

    observed: ObservedGroup
    owners: Mapping[str, tuple[Queue, ...] | None]
    figures: Mapping[str, Figure]
    topics: Mapping[str, Mapping[str, Figure]]

    @property
    def mode(self) -> str:
        """`shared`, `broadcasting` or `pop`."""
        return self.observed.mode

    def figure(self, name: str) -> Figure:
        """A figure of the whole group."""
        return self.figures[name]


def judge(
    groups: Sequence[ObservedGroup], *, weight: str | None = None, with_retry: bool = False, engine: str = "auto"
) -> list[AuditedGroup]:
    """The groups with their figures, worst first.

    ``weight``: None (each queue weighs 1), ``lag`` or ``rate``; a group of which a weight is not told has no figures
    of load. ``engine``: ``local``, ``spark`` or ``auto``.
    """
    loads = [_loads(group, weight, with_retry) for group in groups]
    told = [each for each in loads if each is not None]
    if engine == "auto":
        engine = "spark" if sum(len(each.owners) for each in told) >= ROWS_FOR_SPARK else "local"
    computed = iter(figures_of(told, engine=engine))
    audited = [
        _told(group, *next(computed), with_retry) if load is not None else _untold(group, weight, with_retry)
        for group, load in zip(groups, loads, strict=True)
    ]
    return sorted(audited, key=_rank)


def worst_first(figures: Mapping[str, Figure]) -> tuple[float, ...]:
    """Sort key: queues without exactly one owner first, then idle members, then the heaviest load over the mean."""
    broken = (figures["unowned_queues"] or 0) + (figures["double_owned_queues"] or 0)
    return -broken, -(figures["idle_members"] or 0), -(figures["max_over_mean"] or 0), -(figures["spread"] or 0)
