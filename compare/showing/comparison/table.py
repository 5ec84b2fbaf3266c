"""The table of the report: a row per variant, the best value of each column marked, how it varies over seeds below."""

import re
from collections.abc import Mapping, Sequence
from math import ceil

from compare.documents.comparison import Record, SeedsRecord
from compare.figures import Figure
from compare.figures.metrics import COLUMNS, METRICS, ON_CAPACITY, SETTLED, Metric
from compare.formatting import metric_text
from compare.running.checks import (
    capacities_equal,
    did_the_work,
    records_lost,
    shares,
    usually_did_the_work,
    usually_lost,
    usually_settles,
)
from compare.running.spread import figure

REPORT = (*COLUMNS["hurts"], METRICS[SETTLED], *COLUMNS["report"])
"""The columns of the report; those of what hurts and when it settled are a table of their own."""

_PARTS = re.compile(r"[^:_+-]*[:_+-]|[^:_+-]+")
_HURTS = frozenset(COLUMNS["hurts"])


def rows(records: Sequence[Record], seeds: Mapping[str, SeedsRecord]) -> list[dict[str, object]]:
    """Per record its label, whole and in ``parts``, and its cells: ``text``, ``range`` over the seeds (empty where
    there is none), whether it is the ``best`` of its column, ``bad`` where somebody is worse off than need be.
    """
    values = [[_value(record, metric.path, seeds) for metric in REPORT] for record in records]
    # Who shares no queues, because its groups are broadcasting, is best at nothing beside others who do.
    sharing = [shares(each) for each in records]
    compared = sharing if any(sharing) else [True for _ in records]
    least = min((_lost(each, seeds) for each, counts in zip(records, compared, strict=True) if counts), default=0)
    may = [counts and _did_the_work(each, seeds, least) for each, counts in zip(records, compared, strict=True)]
    alike = capacities_equal(records)
    best = [
        _best(metric, [row[at][0] if counts else None for row, counts in zip(values, compared, strict=True)], may)
        if alike or metric.path not in ON_CAPACITY
        else None
        for at, metric in enumerate(REPORT)
    ]
    found = []
    for record, row, allowed in zip(records, values, may, strict=True):
        over = seeds.get(record["label"])
        settles = usually_settles(record, None if over is None else over["figures"])
        cells = [
            {
                "heading": metric.heading,
                "text": "never" if metric.path == SETTLED and not settles else _text(metric, value),
                "range": _range(_text(metric, low), _text(metric, high)),
                "best": best[at] is not None and value == best[at] and allowed,
                "bad": metric.is_bad and bool(value),
            }
            for at, (metric, (value, low, high)) in enumerate(zip(REPORT, row, strict=True))
        ]
        # Where a narrow screen may break the label.
        parts = _PARTS.findall(record["label"])
        found.append({"label": record["label"], "parts": parts, "seed": record["seed"], "cells": cells})
    return found


def _value(record: Record, path: str, seeds: Mapping[str, SeedsRecord]) -> tuple[Figure, Figure, Figure]:
    over = seeds.get(record["label"])
    if over is None or path not in over["figures"]:
        value = figure(record, path)
        return value, value, value
    spread = over["figures"][path]
    return spread["median"], spread["p5"], spread["p95"]


def _lost(record: Record, seeds: Mapping[str, SeedsRecord]) -> int:
    over = seeds.get(record["label"])
    return records_lost(record) if over is None else ceil(usually_lost(over["figures"]))


def _did_the_work(record: Record, seeds: Mapping[str, SeedsRecord], least_lost: int) -> bool:
    """Settled, with no more records lost than in any variant: what a broker that is down cannot take in any system, or
    what nobody's code can handle, is the same work for all."""
    over = seeds.get(record["label"])
    if over is None:
        return did_the_work(record, least_lost)
    return usually_did_the_work(over["figures"], least_lost)


def _best(metric: Metric, values: Sequence[Figure], may: Sequence[bool]) -> Figure:
    """The best value of those who may have it; None where nobody is better than the rest, or where somebody who may not
    have it suffers less."""
    known = [value for value in values if value is not None]
    allowed = [value for value, each in zip(values, may, strict=True) if each and value is not None]
    if not metric.better or not allowed or (len(set(known)) < 2 and all(may)):
        return None
    least = min if metric.better < 0 else max
    return None if metric in _HURTS and least(known) != least(allowed) else least(allowed)


def _range(low: str, high: str) -> str:
    return "" if low == high else f"{low}–{high}"


def _text(metric: Metric, value: Figure) -> str:
    is_large = value is not None and value >= 1000 and metric.unit != "ratio"
    return f"{value:,.0f}" if is_large else metric_text(metric, value)
