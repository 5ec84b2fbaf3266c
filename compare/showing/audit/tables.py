"""What a row of the audit says: the columns of the table, which conditions and sorting know by name and by heading.

The audit's JSON document and tables.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import floor
from typing import TypeAlias, cast

from compare.auditing.baseline import changes, sentence
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
from compare.explaining.missing_figures import (
    headline,
    missing_figure_sentences,
    missing_figures,
    missing_figures_of_topics,
)
from compare.figures import FIGURES
from compare.figures.metrics import COLUMNS as METRICS_OF
from compare.formatting import metric_text, number
from compare.reading.observed import Skipped
from compare.showing.audit.questions import Answer
from compare.showing.console import print_json, print_line, print_table
from protocols import Queue

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


_LABELS = {column.name: column.heading for column in TABLE}
_STATE = [column.name for column in TABLE].index("state")

FAIR = "as-fair-as-can-be"
WORTH_A_SENTENCE = 0.5
"""Points of the score from which on a finding is printed below the table."""


def print_audit(
    groups: Sequence[Explained],
    skipped: Sequence[Skipped],
    format: str,
    before: Sequence[GroupRecord] | None = None,
    asked: Sequence[Answer] | None = None,
) -> None:
    """Print the groups, which come worst first, on standard output.

    ``before`` are an earlier audit's groups; ``asked``, which only JSON shows here, answers to what-if questions.
    """
    if format == "json" or before is not None:
        audited = document(groups, skipped)
    changed = None if before is None else changes(before, audited["groups"])
    if format == "json":
        more = {} if changed is None else {"changes": changed}
        print_json(audited | more | ({} if asked is None else {"asked": [asdict(answer) for answer in asked]}))
        return
    print_line(headline([group.group for group in groups]), format)
    if groups:
        columns = [(each.heading, "left" if each.is_text else "right") for each in TABLE]
        print_table(columns, map(_row, groups), format, names=2)
        for line in missing_figure_sentences(map(_what_is_untold, groups), _LABELS):
            print_line(line, format)
    for group in groups:
        _print_finding(group, format)
    if changed is not None:
        print_line(f"{len(changed)} of {len(groups)} groups changed since the baseline.", format)
        for change in changed:
            print_line(sentence(change), format)


def _print_finding(explained: Explained, format: str) -> None:
    """Cause and remedy of a group that could be better off."""
    first = next(iter(explained.findings), None)
    if first is not None and first.kind != FAIR and first.cost >= WORTH_A_SENTENCE:
        remedy = first.remedy
        then = "" if remedy is None else f" {remedy.text} {remedy.terms}"
        print_line(f"{explained.group.observed.name}: {first.cause}{then}", format)


def skipped_line(skipped: Skipped) -> str:
    """One line: where, and why."""
    line = f" line {skipped.line}" if skipped.line is not None else ""
    return f"{skipped.source}{line}: {skipped.why}"


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
    in_part = _what_is_untold(explained)
    found: GroupRecord = {
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
    pictured = cast(PicturedGroup, found)
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


def _what_is_untold(explained: Explained) -> ToldInPart:
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


def _row(explained: Explained) -> list[str]:
    """The table's cells; a group of which a part is missing is marked beside its state."""
    cells = [column.cell(explained) for column in TABLE]
    if explained.group.observed.partial is not None:
        cells[_STATE] += " (partial)"
    return cells
