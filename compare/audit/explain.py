"""What stands beside a group's figures: causes and remedies, score, optimum, what-if, and who would own what."""

from collections.abc import Mapping
from dataclasses import dataclass

from compare.audit.diagnosis import diagnose
from compare.audit.finding import Finding
from compare.audit.judge import AuditedGroup
from compare.audit.model import ASSUMPTIONS, Modelled, model_of
from compare.audit.score import score
from compare.audit.what_if import MOST_QUEUES_TO_KEEP, WhatIf, optimum_row, under, what_if
from compare.best import optimum
from protocols import Queue

Owners = Mapping[str, tuple[Queue, ...]]


@dataclass(frozen=True, slots=True)
class Explained:
    """Everything that follows from a group's ownership; what needs a model is None or empty without one.

    ``findings``: the most expensive first. ``score`` and ``score_after`` (the first finding's remedy): 0 to 100.
    ``what_if``: one row per strategy. ``assumption``: a sentence about what the sources do not tell.
    """

    group: AuditedGroup
    modelled: Modelled | None
    findings: tuple[Finding, ...]
    score: float | None
    score_after: float | None
    optimum: WhatIf | None
    what_if: tuple[WhatIf, ...]
    assumption: str | None


def explain(group: AuditedGroup, weight: str | None = None) -> Explained:
    """The explanation of one group.

    ``weight``: what the optimum weighs queues by (None, ``lag`` or ``rate``); it is None where a weight is not told.
    Findings, score and what-if count queues.
    """
    modelled = model_of(group.observed)
    findings = diagnose(group, modelled)
    if modelled is None:
        return Explained(group, None, findings, None, None, None, (), None)
    now = score(modelled.today)
    after = score(findings[0].after) if findings and findings[0].after is not None else now
    return Explained(
        group,
        modelled,
        findings,
        now,
        after,
        optimum_row(modelled) if weight is None else _weighted_optimum(group, modelled, weight),
        what_if(modelled),
        ASSUMPTIONS[modelled.basis],
    )


def _weighted_optimum(group: AuditedGroup, modelled: Modelled, weight: str) -> WhatIf | None:
    told: Mapping[Queue, int | float | None] = group.observed.lag if weight == "lag" else group.observed.rates
    weights = {queue: told.get(queue) for queue in modelled.group.queues}
    known = {queue: value for queue, value in weights.items() if value is not None}
    if len(known) < len(weights):
        return None
    best = optimum(modelled.group, modelled.today, known)
    return WhatIf("optimum", "optimum", best.max, best.min, best.idle_members, best.jain, best.moves, 0, 0)


def best_owners(explained: Explained) -> Owners | None:
    """Who would own what under the fairest strategy: the group's own system first, then the fewest moves."""
    if explained.modelled is None:
        return None
    rows = [
        row for row in explained.what_if if row.max is not None and not row.unowned_queues + row.double_owned_queues
    ]
    if not rows:
        return None

    def rank(row: WhatIf) -> tuple[float, ...]:
        other_system = row.system != explained.group.observed.system
        return row.max or 0, row.idle_members or 0, -(row.jain or 0), other_system, row.moves or 0

    return under(explained.modelled, min(rows, key=rank).strategy)


def optimum_owners(explained: Explained) -> Owners | None:
    """Who would own what at the optimum, with the fewest moves from today's ownership."""
    if explained.modelled is None:
        return None
    group = explained.modelled.group
    small = len(group.members) * len(group.topics) <= MOST_QUEUES_TO_KEEP
    return optimum(group, explained.modelled.today, moves=small).allocation
