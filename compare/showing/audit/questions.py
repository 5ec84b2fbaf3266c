"""What a user asks of a group: what if it had other members, without these, with more queues?"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compare.auditing.score import MemberCount, member_counts, next_effective_member_count
from compare.auditing.what_if import WhatIf, optimum_row, what_if
from compare.explaining.diagnosis import MOST_DETAILED, Explained
from compare.figures.metrics import COLUMNS, METRICS
from compare.formatting import metric_text, number
from compare.reading.group_kinds import usable_strategies
from compare.showing.console import print_line, print_table
from protocols import UserError

_FIGURES = (*COLUMNS["what if"], METRICS["unowned_queues"])
_COLUMNS = (
    ("system", "left"),
    ("strategy", "left"),
    *((metric.heading.lower(), "right") for metric in _FIGURES),
    ("for this group", "left"),
)
_COUNTS = (("members", "right"), ("max", "right"), ("min", "right"), ("idle", "right"), ("", "left"))

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


def print_answers(found: Sequence[Answer], groups: Sequence[Explained], question: Question, format: str) -> None:
    """The answers about these groups as tables (``table`` or ``markdown``)."""
    for answer in found:
        columns = (*_COLUMNS, ("next effective member count", "right")) if answer.next_useful else _COLUMNS
        rows = [
            _row(row) + ([number(answer.next_useful[row.strategy])] if answer.next_useful else [])
            for row in answer.rows
        ]
        what = "numbers of queues" if answer.loads == "queues" else f"sums of {answer.loads}"
        title = f"What if: {answer.group}" + (f" (loads are {what})" if answer.weighed else "")
        print_table(columns, rows, format, title)
        if answer.counts:
            helps = f"the next member count that lowers the largest load is {answer.next_useful[answer.strategy]}"
            if answer.next_useful[answer.strategy] is None:
                helps = f"no larger member count up to {question.members} lowers the largest load"
            cells = [
                [*map(number, (row.members, row.max, row.min, row.idle_members)), _mark(row)] for row in answer.counts
            ]
            counted = ", counted in queues" if answer.loads != "queues" else ""
            print_table(_COUNTS, cells, format, f"{answer.group} under {answer.strategy}{counted}: {helps}")
    if not (question.without or question.queues or all(group.detailed for group in groups)):
        print_line(
            f"What-if tables are shown for the {MOST_DETAILED} groups with the lowest scores; --group NAME shows"
            " another.",
            format,
        )
    if not found:
        print_line("What-if tables need ownership, which is unknown for every group.", format)


def _mark(row: MemberCount) -> str:
    return "even" if row.even else "useful" if row.useful else ""


def _row(row: WhatIf) -> list[str]:
    figures = [metric_text(metric, getattr(row, metric.path)) for metric in _FIGURES]
    reach = "" if row.system == "optimum" else "yes" if row.reachable else "no"
    if row.why is not None:
        reach += f" ({row.why})"
    return [row.system, row.strategy, *figures, reach]
