"""The audit as tables: the columns, which conditions and sorting know by name and by heading, sentences below them, and
answers to what-if questions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import floor
from typing import TypeAlias

from compare.auditing.baseline import Change, sentence
from compare.auditing.score import MemberCount
from compare.auditing.what_if import WhatIf
from compare.explaining.audited import Answer, Question, what_is_untold
from compare.explaining.causes.absence import GIVEN_OUT
from compare.explaining.diagnosis import MOST_DETAILED, Explained
from compare.explaining.missing_figures import headline, missing_figure_sentences
from compare.figures import FIGURES
from compare.figures.metrics import COLUMNS as METRICS_OF
from compare.figures.metrics import METRICS
from compare.formatting import metric_text, number
from compare.reading.observed import Skipped
from compare.showing.console import print_line, print_table

Value: TypeAlias = str | float | int | None


@dataclass(frozen=True, slots=True)
class Column:
    """``name`` as in JSON, ``heading`` as in the table, ``value`` of a group, and how a person reads it."""

    name: str
    heading: str
    value: Callable[[Explained], Value]
    text: Callable[[float | int | None], str] | None = number

    @property
    def is_text(self) -> bool:
        """Whether it holds a name instead of a number."""
        return self.text is None

    def cell(self, explained: Explained) -> str:
        """The table's cell."""
        value = self.value(explained)
        if value is None or self.text is None or isinstance(value, str):
            return "-" if value is None else str(value)
        return self.text(value)


def _figure(name: str) -> Callable[[Explained], Value]:
    return lambda explained: explained.group.figures[name]


def _state(explained: Explained) -> Value:
    observed = explained.group.observed
    return observed.state if observed.mode == "shared" else observed.mode


def _points(value: float | int | None) -> str:
    # Half a point counts up, as in the report.
    return "-" if value is None else str(floor(value + 0.5))


TABLE = (
    Column("system", "system", lambda explained: explained.group.observed.system, None),
    Column("group", "group", lambda explained: explained.group.observed.name, None),
    Column("kind", "kind", lambda explained: explained.kind, None),
    Column("strategy", "strategy", lambda explained: explained.group.observed.strategy, None),
    Column("state", "state", _state, None),
    *(
        Column(metric.path, metric.heading.lower(), _figure(metric.path), partial(metric_text, metric))
        for metric in METRICS_OF["audit"]
    ),
    Column("score", "score", lambda explained: explained.score, _points),
)
"""The table's columns, from left to right."""

_OTHERS = (
    *(Column(name, name, _figure(name)) for name in FIGURES if name not in {column.name for column in TABLE}),
    Column("score_after", "score after", lambda explained: explained.score_after),
    Column("cost", "cost", lambda explained: explained.group.cost),
)

COLUMNS: Mapping[str, Column] = {
    **{column.heading: column for column in TABLE},
    **{column.name: column for column in (*TABLE, *_OTHERS)},
}
"""By name, and by heading where that is another word."""

NAMES = tuple(dict.fromkeys(column.name for column in (*TABLE, *_OTHERS)))
"""The names, for messages."""


_WHAT_IF_FIGURES = (*METRICS_OF["what if"], METRICS["unowned_queues"])
_WHAT_IF = (
    ("system", "left"),
    ("strategy", "left"),
    *((metric.heading.lower(), "right") for metric in _WHAT_IF_FIGURES),
    ("for this group", "left"),
)
_COUNTS = (("members", "right"), ("max", "right"), ("min", "right"), ("idle", "right"), ("", "left"))

_LABELS = {column.name: column.heading for column in TABLE}
_STATE = [column.name for column in TABLE].index("state")

FAIR = "as-fair-as-can-be"
WORTH_A_SENTENCE = 0.5
"""Points of the score from which on a finding is printed below the table."""


def print_audit(groups: Sequence[Explained], format: str, changed: Sequence[Change] | None = None) -> None:
    """Print the groups, which come worst first, on standard output. ``changed``: since an earlier audit."""
    print_line(headline([group.group for group in groups]), format)
    if groups:
        columns = [(each.heading, "left" if each.is_text else "right") for each in TABLE]
        print_table(columns, map(_row, groups), format, names=2)
        for line in missing_figure_sentences(map(what_is_untold, groups), _LABELS):
            print_line(line, format)
    for group in groups:
        _print_finding(group, format)
    if changed is not None:
        print_line(f"{len(changed)} of {len(groups)} groups changed since the baseline.", format)
        for change in changed:
            print_line(sentence(change), format)


def _print_finding(explained: Explained, format: str) -> None:
    """Cause and remedy of a group that could be better off, and what is told where nobody owns anything."""
    first = next(iter(explained.findings), None)
    if first is not None and (first.kind == GIVEN_OUT or (first.kind != FAIR and first.cost >= WORTH_A_SENTENCE)):
        remedy = first.remedy
        then = "" if remedy is None else f" {remedy.text} {remedy.terms}"
        print_line(f"{explained.group.observed.name}: {first.cause}{then}", format)


def skipped_line(skipped: Skipped) -> str:
    """One line: where, and why."""
    line = f" line {skipped.line}" if skipped.line is not None else ""
    return f"{skipped.source}{line}: {skipped.why}"


def _row(explained: Explained) -> list[str]:
    """The table's cells; a group of which a part is missing is marked beside its state."""
    cells = [column.cell(explained) for column in TABLE]
    if explained.group.observed.partial is not None:
        cells[_STATE] += " (partial)"
    return cells


def print_answers(found: Sequence[Answer], groups: Sequence[Explained], question: Question, format: str) -> None:
    """The answers about these groups as tables (``table`` or ``markdown``)."""
    for answer in found:
        columns = (*_WHAT_IF, ("next effective member count", "right")) if answer.next_useful else _WHAT_IF
        rows = [
            _what_if_row(row) + ([number(answer.next_useful[row.strategy])] if answer.next_useful else [])
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


def _what_if_row(row: WhatIf) -> list[str]:
    figures = [metric_text(metric, getattr(row, metric.path)) for metric in _WHAT_IF_FIGURES]
    reach = "" if row.system == "optimum" else "yes" if row.reachable else "no"
    if row.why is not None:
        reach += f" ({row.why})"
    return [row.system, row.strategy, *figures, reach]
