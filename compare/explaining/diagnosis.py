"""Why a group is as it is and what would help: findings, score, optimum, what-if, and who would own what.

Findings come from rules (`causes`), each of which names the facts that it rests on and is silent where one is
missing. Remedies follow findings (`remedies`) and are computed on the very group, so that a promised gain is a
result and not an opinion. The most expensive state comes first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compare.auditing.group_figures import AuditedGroup
from compare.auditing.score import score
from compare.auditing.what_if import MOST_QUEUES_TO_KEEP, Weights, WhatIf, best_row, optimum_row, under, what_if
from compare.explaining.causes.absence import (
    given_out,
    missing_topics,
    nobody,
    nobody_online,
    rebalancing,
    static_member_silent,
    unknown_ownership,
)
from compare.explaining.causes.balance import (
    as_fair_as_can_be,
    lopsided_topics,
    more_members_than_queues,
    unequal_subscriptions,
    uneven,
)
from compare.explaining.causes.load import uneven_load
from compare.explaining.causes.ownership import broken_ownership
from compare.explaining.finding import Finding, Reader, Readers, Search, case_of
from compare.explaining.remedies.remedy import Remedy
from compare.optima import optimum
from compare.reading.group_kinds import Kind, kind_of, usable_strategies
from compare.reading.group_model import ASSUMPTIONS, Modelled, is_on_the_move, model_of
from compare.reading.observed import System
from protocols import Queue

if TYPE_CHECKING:
    from compare.auditing.group_figures import AuditedGroup


SEARCHES: tuple[Search, ...] = (
    nobody,
    nobody_online,
    rebalancing,
    broken_ownership,
    uneven,
    more_members_than_queues,
    static_member_silent,
    unequal_subscriptions,
    lopsided_topics,
    missing_topics,
    unknown_ownership,
)
"""Where two findings cost the same, the earlier search's comes first."""


def diagnose(
    group: "AuditedGroup",
    modelled: Modelled | None = None,
    readers: Readers | None = None,
    weight: str | None = None,
    weights: Weights | None = None,
) -> tuple[Finding, ...]:
    """All findings, ranked by cost; () where nothing can be said.

    ``modelled``: `model_of` the group, if it is there already; ``readers``: topic to the groups that read it.
    ``weights``: each queue's lag or rate, if ``weight`` says that its moves are asked for. Groups
    that are broadcasting have no findings. The last finding of a group without any other says that
    it is as fair as it can be.
    """
    if group.mode in ("share", "pop"):
        return (given_out(group.observed),)
    if group.mode != "shared":
        return ()
    case = case_of(group, modelled, readers)
    found = [each for search in SEARCHES for each in search(case)]
    if weights is not None and weight in ("lag", "rate"):
        found += uneven_load(case, "lag" if weight == "lag" else "rate", weights)
    found = found or list(as_fair_as_can_be(case))
    return tuple(sorted(found, key=lambda each: -each.cost))


Owners = Mapping[str, tuple[Queue, ...]]


MOST_DETAILED = 300
"""Groups of an audit that get pictures and what-if tables: those that cost most. ``--group`` names any other."""


@dataclass(frozen=True, slots=True)
class Explained:
    """Everything that follows from a group's ownership; what needs a model is None or empty without one.

    ``findings``: the most expensive first. ``score`` and ``score_after`` (the first of `remedies`): 0 to 100.
    ``what_if``: one row per strategy, () where the group gets no details.
    ``assumption``: a sentence about what the sources do not tell. ``weight``: what was asked for to weigh queues by,
    ``weights`` each queue's, None where one is not told.
    """

    group: AuditedGroup
    kind: Kind
    modelled: Modelled | None
    findings: tuple[Finding, ...]
    score: float | None
    score_after: float | None
    optimum: WhatIf | None
    what_if: tuple[WhatIf, ...]
    assumption: str | None
    detailed: bool = True
    weight: str | None = None
    weights: Weights | None = None

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """Of all findings, the first one's first, but last resorts behind everything else."""
        return _in_order(self.findings)


def _in_order(findings: Iterable[Finding]) -> tuple[Remedy, ...]:
    found = [remedy for finding in findings for remedy in finding.remedies]
    return tuple(sorted(found, key=lambda remedy: remedy.is_last_resort))


def explain_all(groups: Sequence[AuditedGroup], weight: str | None = None) -> list[Explained]:
    """The explanation of every group, in order; details for the first `MOST_DETAILED`."""
    readers: dict[System, dict[str, list[Reader]]] = {"kafka": {}, "rocketmq": {}}
    for group in groups:
        of_system = readers[group.observed.system]
        reader = Reader(group.observed.name, kind_of(group.observed))
        for topic in {queue.topic: None for queue in group.observed.queues or ()}:
            of_system.setdefault(topic, []).append(reader)
    return [
        explain(group, weight, readers[group.observed.system], detailed=at < MOST_DETAILED)
        for at, group in enumerate(groups)
    ]


def explain(
    group: AuditedGroup,
    weight: str | None = None,
    readers: Readers | None = None,
    *,
    detailed: bool = True,
) -> Explained:
    """The explanation of one group.

    ``weight``: what optimum and what-if weigh queues by (None, ``lag`` or ``rate``); both are left out where a weight
    is not told. Findings and score count queues, but for one finding about the weights. ``readers``: topic to the
    groups that read it. ``detailed``: with what-if and the fewest moves to the optimum.
    """
    observed = group.observed
    kind = kind_of(observed)
    modelled = model_of(observed)
    weights = None if weight is None or modelled is None else _weights(group, modelled, weight)
    findings = diagnose(group, modelled, readers, weight, weights if detailed else None)
    if modelled is None:
        return Explained(group, kind, None, findings, None, None, None, (), None, detailed, weight)
    idle = any(not queues for queues in modelled.today.values())
    # Who owns nothing while the group rebalances is not idle, and a score would say so.
    now = None if idle and is_on_the_move(observed) else score(modelled.today)
    first = next(iter(_in_order(findings)), None)
    best: WhatIf | None = None
    rows: tuple[WhatIf, ...] = ()
    if weight is None or weights is not None:
        if detailed:
            best = optimum_row(modelled, weights=weights)
            rows = what_if(modelled, usable=usable_strategies(observed, kind), weights=weights)
        elif weight is None:
            best = best_row(modelled.group)
    return Explained(
        group,
        kind,
        modelled,
        findings,
        now,
        None if now is None else min(100.0, now + (0.0 if first is None else first.points)),
        best,
        rows,
        ASSUMPTIONS[modelled.basis],
        detailed,
        weight,
        weights,
    )


def _weights(group: AuditedGroup, modelled: Modelled, weight: str) -> Weights | None:
    """The weight of every queue; None where one is not told."""
    told: Mapping[Queue, int | float | None] = group.observed.lag if weight == "lag" else group.observed.rates
    weights = {queue: told.get(queue) for queue in modelled.group.queues}
    known = {queue: value for queue, value in weights.items() if value is not None}
    return known if len(known) == len(weights) else None


def best_owners(explained: Explained) -> tuple[str, Owners] | None:
    """The fairest strategy that the group can be set to, of several the one with the fewest moves, and who would own
    what under it."""
    if explained.modelled is None:
        return None
    rows = [row for row in explained.what_if if row.reachable and row.max is not None]
    if not rows:
        return None

    def rank(row: WhatIf) -> tuple[float, ...]:
        return row.max or 0, row.idle_members or 0, -(row.jain or 0), row.moves or 0

    name = min(rows, key=rank).strategy
    owners = under(explained.modelled, name)
    return None if owners is None else (name, owners)


def optimum_owners(explained: Explained) -> Owners | None:
    """Who would own what at the optimum, with the fewest moves from today's ownership."""
    if explained.modelled is None:
        return None
    group = explained.modelled.group
    small = len(group.members) * len(group.topics) <= MOST_QUEUES_TO_KEEP
    return optimum(group, explained.modelled.today, moves=small).allocation
