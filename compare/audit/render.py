"""The audit's JSON document and tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from compare.audit.baseline import changes, sentence
from compare.audit.headline import headline
from compare.audit.judge import AuditedGroup
from compare.output import number, print_json, print_line, print_table, ratio
from compare.reading.observed import Skipped

_COLUMNS = (
    ("system", "left"),
    ("group", "left"),
    ("strategy", "left"),
    ("state", "left"),
    ("members", "right"),
    ("idle", "right"),
    ("queues", "right"),
    ("min", "right"),
    ("max", "right"),
    ("max/mean", "right"),
    ("jain", "right"),
    ("pile-up", "right"),
    ("unowned", "right"),
    ("twice", "right"),
    ("lag", "right"),
)


def print_audit(
    groups: Sequence[AuditedGroup],
    skipped: Sequence[Skipped],
    format: str,
    before: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Print the groups, which come worst first, on standard output; ``before`` are an earlier audit's groups."""
    audited = document(groups, skipped)
    changed = None if before is None else changes(before, audited["groups"])
    if format == "json":
        print_json(audited if changed is None else {**audited, "changes": changed})
        return
    print_line(headline(groups), format)
    if groups:
        print_table(_COLUMNS, (_row(group) for group in groups), format)
    if changed is not None:
        print_line(f"Since the baseline {len(changed)} of {len(groups)} groups changed.", format)
        for change in changed:
            print_line(sentence(change), format)


def skipped_line(skipped: Skipped) -> str:
    """One line: where, and why."""
    line = f" line {skipped.line}" if skipped.line is not None else ""
    return f"{skipped.source}{line}: {skipped.why}"


def document(groups: Sequence[AuditedGroup], skipped: Sequence[Skipped]) -> dict[str, Any]:
    """The audit as the design's JSON document."""
    return {
        "headline": headline(groups),
        "groups": [_group(group) for group in groups],
        "skipped": [{"source": each.source, "line": each.line, "why": each.why} for each in skipped],
    }


def _group(group: AuditedGroup) -> dict[str, Any]:
    observed = group.observed
    return {
        "system": observed.system,
        "group": observed.name,
        "mode": observed.mode,
        "state": observed.state,
        "strategy": observed.strategy,
        **group.figures,
        "owners": {
            member: None if owned is None else [list(queue) for queue in owned]
            for member, owned in group.owners.items()
        },
        "topics": dict(group.topics),
        "notes": list(observed.notes),
        "sources": list(observed.sources),
        "cause": None,
        "remedy": None,
        "optimum": None,
        "what_if": [],
    }


def _row(group: AuditedGroup) -> list[str]:
    observed = group.observed
    figures = group.figures
    state = observed.state if observed.mode == "shared" else observed.mode
    counts = ("members", "idle_members", "queues", "min", "max")
    ratios = ("max_over_mean", "jain", "pile_up")
    return [
        observed.system,
        observed.name,
        observed.strategy or "-",
        state or "-",
        *(number(figures[name]) for name in counts),
        *(ratio(figures[name]) for name in ratios),
        number(figures["unowned_queues"]),
        number(figures["double_owned_queues"]),
        number(figures["lag"]),
    ]
