"""What the audit says of groups: its JSON document, and answers to what a user asks of a group: what if it had other
members, without these, with more queues?"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from compare.auditing.score import MemberCount, member_counts, next_effective_member_count
from compare.auditing.what_if import WhatIf, optimum_row, what_if
from compare.documents.audit import (
    AuditDocument,
    Figures,
    FindingRecord,
    GroupRecord,
    Owners,
    PartialRecord,
    PicturedGroup,
    ToldInPart,
)
from compare.explaining.diagnosis import MOST_DETAILED, Explained, best_owners, optimum_owners
from compare.explaining.finding import Finding
from compare.explaining.missing_figures import headline, missing_figures, missing_figures_of_topics
from compare.reading.group_kinds import usable_strategies
from compare.reading.observed import Skipped
from protocols import Queue, UserError


def document(groups: Sequence[Explained], skipped: Sequence[Skipped], pictures: bool = False) -> AuditDocument:
    """The audit as the design's JSON document; ``pictures`` adds who would own what, which the report draws."""
    return {
        "headline": headline([group.group for group in groups]),
        "groups": [_group(group, pictures) for group in groups],
        "skipped": [{"source": each.source, "line": each.line, "why": each.why} for each in skipped],
    }


def _group(explained: Explained, pictures: bool) -> PicturedGroup:
    group, observed = explained.group, explained.group.observed
    first = next(iter(explained.findings), None)
    remedies = explained.remedies
    best = explained.optimum
    in_part = what_is_untold(explained)
    group_record: GroupRecord = {
        "system": observed.system,
        "group": observed.name,
        "mode": observed.mode,
        "kind": explained.kind,
        "state": observed.state,
        "strategy": observed.strategy,
        **cast(Figures, group.figures),
        "partial": in_part["partial"],
        "untold": in_part["untold"],
        "missing_topics": list(observed.missing_topics),
        "owners": None if pictures and not explained.detailed else _owners(group.owners),
        "topics": dict(group.topics),
        "cause": first.cause if first else None,
        "remedy": remedies[0].text if remedies else None,
        "remedies": [remedy.as_json() for remedy in remedies],
        "findings": [_finding(finding) for finding in explained.findings],
        "cost": group.cost,
        "score": explained.score,
        "score_after": explained.score_after,
        "optimum": None
        if best is None
        else {
            "max": best.max,
            "min": best.min,
            "idle_members": best.idle_members,
            "jain": best.jain,
            "moves": best.moves,
        },
        "what_if": [each.as_json() for each in explained.what_if],
        "notes": [
            *observed.notes,
            *([explained.assumption] if explained.assumption else []),
            *missing_figures_of_topics(group),
            *_left_out(explained),
        ],
        "sources": list(observed.sources),
    }
    pictured = cast(PicturedGroup, group_record)
    if pictures:
        pictured["detailed"] = explained.detailed
    if pictures and explained.detailed:
        best_under = best_owners(explained)
        if best_under is not None:
            pictured["best_strategy"], pictured["best_owners"] = best_under[0], _owners(best_under[1])
        pictured["optimum_owners"] = _owners(optimum_owners(explained))
    return pictured


def _finding(found: Finding) -> FindingRecord:
    return {
        "kind": found.kind,
        "cause": found.cause,
        "remedy": None if found.remedy is None else found.remedy.text,
        "remedies": [remedy.as_json() for remedy in found.remedies],
        "cost": found.cost,
    }


def _left_out(explained: Explained) -> list[str]:
    if explained.detailed or explained.modelled is None:
        return []
    return [
        f"drawings and what-if tables are limited to the {MOST_DETAILED} groups with the lowest scores; --group"
        " NAME adds another"
    ]


def what_is_untold(explained: Explained) -> ToldInPart:
    """What the document says of a group about what is missing in it, with the group's name."""
    observed = explained.group.observed
    partial = observed.partial
    told: PartialRecord | None = None
    if partial is not None:
        told = {"topics": partial.topics, "members": partial.members, "why": partial.why}
    untold = missing_figures(explained)
    return {
        "group": observed.name,
        "partial": told,
        "untold": [{"figures": each.figures, "why": each.why} for each in untold],
    }


def _owners(owners: Mapping[str, tuple[Queue, ...] | None] | None) -> Owners | None:
    if owners is None:
        return None
    return {member: None if owned is None else [list(queue) for queue in owned] for member, owned in owners.items()}


MOST_MEMBERS = 10_000
"""Largest number of members that `--members` takes."""

MOST_QUEUES = 100_000
"""Largest number of queues that `--queues` takes."""


@dataclass(frozen=True, slots=True)
class Question:
    """``members``: try 1 to this many. ``without``: members who leave. ``queues``: topic to its new number."""

    members: int | None = None
    without: tuple[str, ...] = ()
    queues: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, members: str | None, without: Sequence[str], queues: Sequence[str]) -> "Question":
        """From the options' texts: ``1..N``, member ids, ``TOPIC=N``; `UserError` says what was expected."""
        limit = None
        if members is not None:
            matched = re.fullmatch(r"1\.\.(\d{1,9})", members)
            if matched is None or not 1 <= int(matched[1]) <= MOST_MEMBERS:
                raise UserError(f"--members {members!r}: expected 1..N with N from 1 to {MOST_MEMBERS}")
            limit = int(matched[1])
        grown: dict[str, int] = {}
        for text in queues:
            matched = re.fullmatch(r"(.+)=([0-9]{1,9})", text, re.DOTALL)
            if matched is None or not 1 <= int(matched[2]) <= MOST_QUEUES:
                expected = f"TOPIC=N with N from 1 to {MOST_QUEUES}, such as orders=12"
                raise UserError(f"--queues {text!r}: expected {expected}")
            if matched[1] in grown:
                raise UserError(f"--queues {text!r}: {matched[1]} has {grown[matched[1]]} already, expected one number")
            grown[matched[1]] = int(matched[2])
        return cls(limit, tuple(without), grown)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a group would be: one row per strategy that it can be set to, the optimum, and the other strategies.

    Where numbers of members were asked for: ``counts`` under ``strategy`` (today's, else the optimum), and
    ``next_useful``: per strategy the next number of members that lowers the heaviest load, None if none does. These
    count queues. ``loads`` says what the loads of ``rows`` are sums of: ``queues``, or the weight where it is told;
    ``weighed``: whether a weight was asked for.
    """

    group: str
    rows: tuple[WhatIf, ...]
    strategy: str
    counts: tuple[MemberCount, ...]
    next_useful: Mapping[str, int | None]
    loads: str = "queues"
    weighed: bool = False


def answers(question: Question, groups: Sequence[Explained]) -> list[Answer]:
    """One answer per group that the question is about: those with the named members and topics.

    Groups of which the sources do not tell who owns what have none; a question that names no member or topic is
    answered for the groups that have details (`MOST_DETAILED`). Raises `UserError` if no group has a named member or
    topic.
    """
    for id in question.without:
        if not any(group.modelled and id in group.modelled.group for group in groups):
            raise UserError(f"--without {id}: no group with known ownership has this member")
    for topic in question.queues:
        if not any(group.modelled and topic in group.modelled.group.topics for group in groups):
            raise UserError(f"--queues {topic}: no group with known ownership reads this topic")
    about = groups if question.without or question.queues else [group for group in groups if group.detailed]
    return [answer for each in about if (answer := _answer(question, each)) is not None]


def _answer(question: Question, explained: Explained) -> Answer | None:
    modelled = explained.modelled
    if modelled is None:
        return None
    without = tuple(id for id in question.without if id in modelled.group)
    queues = {topic: count for topic, count in question.queues.items() if topic in modelled.group.topics}
    if (question.without or question.queues) and not (without or queues):
        return None
    usable = usable_strategies(explained.group.observed, explained.kind)
    # Of queues that are not there yet nobody knows the weight.
    weights = None if queues else explained.weights
    weighed = explained.weight is not None
    loads = "queues" if weights is None or explained.weight is None else explained.weight
    if without or queues or explained.optimum is None or not explained.what_if:
        found = what_if(modelled, without=without, queues=queues, usable=usable, weights=weights)
        best = optimum_row(modelled, without=without, queues=queues, weights=weights)
    else:
        found, best = explained.what_if, explained.optimum
    rows = (*(row for row in found if row.reachable), best, *(row for row in found if not row.reachable))
    strategy = modelled.strategy if any(row.strategy == modelled.strategy for row in rows) else None
    if question.members is None:
        return Answer(explained.group.observed.name, rows, strategy or "optimum", (), {}, loads, weighed)
    tables = {row.strategy: member_counts(modelled, row.strategy, question.members) for row in rows}
    members = len(modelled.group.members)
    useful = {name: next_effective_member_count(table, members) for name, table in tables.items()}
    return Answer(
        explained.group.observed.name,
        rows,
        strategy or "optimum",
        tables[strategy or "optimum"],
        {name: row.members if row else None for name, row in useful.items()},
        loads,
        weighed,
    )
