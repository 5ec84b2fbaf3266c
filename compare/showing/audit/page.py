"""The page: a ranked table that reads and prints without a script, and the details as data for one.

The audit as one HTML file that a person enjoys: no network, no time stamp, the same bytes for the same document.
"""

from collections.abc import Callable, Sequence
from math import floor

from compare.documents.audit import PicturedGroup, ReportDocument, figure
from compare.explaining.missing_figures import missing_figure_sentences
from compare.figures.metrics import COLUMNS, METRICS
from compare.formatting import number
from compare.showing.audit.drawing import HEIGHT, TOPIC_FIGURES, WHAT_IF, WIDTH, Texts, details, shape
from compare.showing.html import page

SCRIPTS = ("base.js", "picture.js", "details.js", "list.js")
MOST_SKIPPED = 200
"""Skipped sources listed on the page; the rest is counted."""

LIST = tuple((metric.path, metric.heading) for metric in COLUMNS["audit page"])
"""Figures in the list: name and heading."""

LABELS = {**dict(LIST), "score": "score"}


def write_report(document: ReportDocument) -> str:
    """The audit's JSON document as one HTML page that asks the network for nothing.

    Missing or null parts of the document are left out of the page. The same document gives the same text, which
    holds no lone surrogates: it can be written as UTF-8.
    """
    groups: Sequence[PicturedGroup] = document.get("groups") or []
    skipped = document.get("skipped") or []
    return page(
        "audit",
        _payload(groups),
        SCRIPTS,
        _labels(),
        headline=_first_sentence(document.get("headline") or ""),
        weight=document.get("weight"),
        rows=[_row(group) for group in groups],
        columns=LIST,
        untold=missing_figure_sentences(groups, LABELS),
        scored=any(group.get("score") is not None for group in groups),
        tiles=_tiles(groups),
        skipped=skipped[:MOST_SKIPPED],
        skipped_count=len(skipped),
        explained=[(metric.heading, metric.words) for metric in COLUMNS["audit figures"]],
        shape_width=WIDTH,
        shape_height=HEIGHT,
    )


def _first_sentence(headline: str) -> str:
    """The worst of it: what the sentences after it count, the tiles count as well."""
    first, end, _ = headline.partition(". ")
    return first + end.strip()


def _labels() -> str:
    """Where a narrow window puts the cells of a row below each other, each says what it is."""
    names = [("score", "score"), *((f"c{at}", label) for at, (_, label) in enumerate(LIST))]
    return "".join(f'.groups .{name} {{ --label: "{label}"; }}\n' for name, label in names)


def _payload(groups: Sequence[PicturedGroup]) -> dict[str, object]:
    texts = Texts()
    return {
        "groups": [details(group, texts) for group in groups],
        "texts": texts.all,
        "figures": [[metric.path, metric.heading, metric.words] for metric in COLUMNS["audit figures"]],
        "topic_figures": TOPIC_FIGURES,
        "what_if": WHAT_IF,
    }


def _row(group: PicturedGroup) -> dict[str, object]:
    cells = [
        {
            "text": number(figure(group, name)),
            "bad": METRICS[name].is_bad and bool(group.get(name)),
            "unknown": group.get(name) is None,
        }
        for name, _ in LIST
    ]
    mode = group.get("mode") or "shared"
    kind = group.get("kind")
    badges = [
        group.get("system"),
        None if kind in (None, "plain", "unknown") else kind,
        None if mode in ("shared", kind) else mode,
        group.get("strategy"),
        group.get("state"),
        "partial" if group.get("partial") else None,
    ]
    detailed = group.get("detailed", True)
    return {
        "name": str(group.get("group", "")),
        "badges": [str(badge) for badge in badges if badge],
        "cause": group.get("cause") if detailed or group.get("remedy") else None,
        "remedy": group.get("remedy") if detailed else None,
        "score": _score(group.get("score")),
        "after": _score(group.get("score_after")),
        "grade": _grade(group.get("score")),
        "shape": shape(group.get("owners") or {}) if detailed else None,
        "cells": cells,
        "flags": " ".join(name for name, _, is_in in FILTERS if is_in(group)),
    }


def _score(score: float | None) -> str | None:
    # Half a point counts up, as the page's script has it.
    return None if score is None else str(floor(score + 0.5))


def _grade(score: float | None) -> str:
    if score is None:
        return ""
    return "good" if score >= 90 else "fair" if score >= 60 else "poor"


def _improvable(group: PicturedGroup) -> bool:
    optimum, today = group.get("optimum"), group.get("jain")
    best = optimum["jain"] if optimum else None
    return best is not None and today is not None and best > today + 1e-9


FILTERS: tuple[tuple[str, str, Callable[[PicturedGroup], bool]], ...] = (
    ("empty", "without members", lambda group: group.get("members") == 0),
    ("idle", "with idle members", lambda group: bool(group.get("idle_members"))),
    ("unowned", "with queues without owner", lambda group: bool(group.get("unowned_queues"))),
    ("twice", "with queues owned twice", lambda group: bool(group.get("double_owned_queues"))),
    ("improvable", "less fair than possible", _improvable),
    ("lag", "with records that wait", lambda group: bool(group.get("lag"))),
    ("untold", "incompletely known", lambda group: group.get("jain") is None and group.get("members") != 0),
)
"""Short name, words, and which groups belong to it."""


def _tiles(groups: Sequence[PicturedGroup]) -> list[tuple[str, int, str]]:
    counts = [(name, sum(map(is_in, groups)), words) for name, words, is_in in FILTERS]
    return [("", len(groups), "groups" if len(groups) != 1 else "group"), *(count for count in counts if count[1])]


__all__ = ["write_report"]
