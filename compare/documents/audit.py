"""Between two JSON documents: which queues went from one owner to another.

The audit's JSON document: what `audit --format json` writes, and what the report and `--baseline` read.

    {"headline": ..., "groups": [Group, ...], "skipped": [...], "changes": [...], "asked": [...]}

``changes`` is there only with `--baseline` (see `compare.auditing.baseline`), ``asked`` only with `--what-if` and its
kin (see `compare.explaining.audited.Answer`). Figures are as in `compare.figures`; nothing is rounded. What the
sources do not tell is null, and has its reason in the group's ``untold``, ``partial`` or ``notes``.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

from compare.figures import Figure

Owners: TypeAlias = Mapping[str, Sequence[Sequence[str | int]] | None]
"""Member to [[topic, broker, number], ...], null where that is not known."""


def moved_queues(before: Owners, after: Owners) -> list[list[str | int]]:
    """[topic, broker, number, from, to], sorted, of each queue with one owner in both."""
    was, now = single_owners(before), single_owners(after)
    return [[*queue, was[queue], now[queue]] for queue in sorted(was.keys() & now.keys()) if was[queue] != now[queue]]


def single_owners(owners: Owners) -> dict[tuple[str | int, ...], str]:
    """Queue to its owner, for queues with just one."""
    found: dict[tuple[str | int, ...], str | None] = {}
    for member, queues in owners.items():
        for queue in queues or ():
            found[tuple(queue)] = None if tuple(queue) in found else member
    return {queue: owner for queue, owner in found.items() if owner is not None}


Restart: TypeAlias = Literal["none", "rolling", "all at once"]
"""What of a group has to be restarted."""


class LoadFigures(TypedDict):
    """How members' loads differ: null where a figure is not defined."""

    min: Figure
    max: Figure
    mean: Figure
    spread: Figure
    idle_share: Figure
    cv: Figure
    jain: Figure
    gini: Figure
    theil: Figure
    max_over_mean: Figure
    pile_up: Figure


class Figures(LoadFigures):
    """The figures of a group, and of each of its topics; ``lag`` in records."""

    members: Figure
    idle_members: Figure
    queues: Figure
    unowned_queues: Figure
    double_owned_queues: Figure
    lag: Figure


class PartialRecord(TypedDict):
    """What the sources leave out of a group: see `compare.reading.observed.Partial`."""

    topics: Sequence[str]
    members: Sequence[str]
    why: str


class UntoldRecord(TypedDict):
    """Figures that are null for one reason."""

    figures: Sequence[str]
    why: str


class ToldInPart(TypedDict):
    """What is missing in a group, with the group's name."""

    group: str
    partial: PartialRecord | None
    untold: list[UntoldRecord]


class GainRecord(TypedDict):
    """What is less after a remedy; ``score``: points that the score wins."""

    max: int
    idle_members: int
    max_over_mean: float
    unowned_queues: int
    double_owned_queues: int
    score: float


class RemedyRecord(TypedDict):
    """What to do, what it takes, and what it brings (null: not known)."""

    text: str
    commands: list[str]
    restart: Restart
    reversible: bool
    risks: list[str]
    gain: GainRecord | None


class FindingRecord(TypedDict):
    """A cause, what helps, and the points of the score that it costs. ``remedy`` is the text of the first one."""

    kind: str
    cause: str
    remedy: str | None
    remedies: list[RemedyRecord]
    cost: float


class OptimumRecord(TypedDict):
    """The best that the subscriptions allow; ``moves``: the fewest moves to it."""

    max: float | None
    min: float | None
    idle_members: int | None
    jain: float | None
    moves: int | None


class WhatIfRecord(TypedDict):
    """The group under a strategy: see `compare.auditing.what_if.WhatIf`."""

    system: str
    strategy: str
    max: float | None
    min: float | None
    idle_members: int | None
    jain: float | None
    moves: int | None
    unowned_queues: int
    double_owned_queues: int
    reachable: bool
    why: str | None


class GroupRecord(Figures, ToldInPart):
    """One group. ``cost`` orders the groups, worst first; ``score`` is 0 to 100, ``score_after`` the one that the first
    remedy leads to."""

    system: str
    mode: str
    kind: str
    state: str | None
    strategy: str | None
    missing_topics: list[str]
    owners: Owners | None
    topics: Mapping[str, Mapping[str, Figure]]
    cause: str | None
    remedy: str | None
    remedies: list[RemedyRecord]
    findings: list[FindingRecord]
    cost: float
    score: float | None
    score_after: float | None
    optimum: OptimumRecord | None
    what_if: list[WhatIfRecord]
    notes: list[str]
    sources: list[str]


class PicturedGroup(GroupRecord, total=False):
    """A group for the report, which draws who would own what: under the best strategy that the group can be set to,
    and at the optimum. Only groups that are ``detailed`` have these owners."""

    detailed: bool
    best_strategy: str
    best_owners: Owners | None
    optimum_owners: Owners | None


class SkippedRecord(TypedDict):
    """A source, or a line of one, that could not be read."""

    source: str
    line: int | None
    why: str


class AuditDocument(TypedDict):
    """The whole document, groups worst first."""

    headline: str
    groups: list[PicturedGroup]
    skipped: list[SkippedRecord]


class ReportDocument(AuditDocument):
    """What the report is made of; ``weight``: what loads are sums of, null where queues are counted."""

    weight: str | None


def figure(record: Mapping[str, object], name: str) -> Figure:
    """A figure of a group or topic by its name; None where it is null or missing."""
    value = record.get(name)
    return value if isinstance(value, int | float) else None
