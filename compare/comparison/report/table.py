"""The table of the report: a row per variant, the best value of each column marked, how it varies over seeds below."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from compare.console.output import number, ratio
from compare.documents.comparison import Record, SeedsRecord
from compare.measure.figures import Figure
from compare.measure.runs.completeness import ends_complete, shares, usually_ends_complete
from compare.measure.runs.spread import figure


class Column(NamedTuple):
    """``path``: the figure. ``better``: -1 where less is better, 1 where more is, 0 where neither. ``complete``: only a
    variant that ends complete can be best: how even it is, and what it took to get there. What queues and records
    suffered on the way (no owner, two owners, waiting, handled again) counts for all."""

    path: str
    heading: str
    better: int
    words: str
    complete: bool = True


COLUMNS = (
    Column(
        "fairness.jain",
        "Jain",
        1,
        "the Jain index at the end: 1 is even; k/n when k of n members share everything equally",
    ),
    Column("optimum.jain", "best Jain", 0, "the Jain index of the fairest allocation that the subscriptions allow"),
    Column("fairness.idle_members", "idle", -1, "members that own no queue at the end"),
    Column("fairness.max", "most", -1, "queues of the busiest member at the end"),
    Column(
        "rebalances",
        "rebalances",
        -1,
        "in Kafka completed generations; in systems whose members allocate by themselves, causes after which the"
        " queues of any member changed",
    ),
    Column("moves", "moves", -1, "how often a queue moved to another owner"),
    Column(
        "fewest_moves",
        "fewest moves",
        0,
        "the fewest moves that lead to the fairest allocation after each event (hanging members count as members); a"
        " variant with fewer moves did not reach it after every event",
    ),
    Column("unowned_queue_s", "no owner, queue-s", -1, "time without an owner, summed over queues", False),
    Column("longest_gap_s", "longest, s", -1, "the longest time one queue was without an owner", False),
    Column("double_owned_queue_s", "two owners, queue-s", -1, "time with several owners, summed over queues", False),
    Column("redelivered", "twice", -1, "records that were handled more than once", False),
    Column("lag.peak", "lag peak", -1, "the largest lag from the first event on, in records", False),
    Column("lag.drain_s", "drained, s", -1, "time from the lag peak until all records of that lag were handled", False),
    Column(
        "settle_s",
        "settled, s",
        -1,
        "time from the last event to the last change of ownership as any member believes it",
    ),
    Column("messages", "messages", -1, "number of messages besides those that fetch records"),
)

_PARTS = re.compile(r"[^:_+-]*[:_+-]|[^:_+-]+")
_RATIOS = frozenset({"fairness.jain", "optimum.jain"})


def rows(records: Sequence[Record], seeds: Mapping[str, SeedsRecord]) -> list[dict[str, object]]:
    """Per record its label, whole and in ``parts``, and its cells: ``text``, ``range`` over the seeds (empty where
    there is none), whether it is the ``best`` of its column, ``bad`` where somebody is worse off than need be.
    """
    values = [[_value(each, column.path, seeds) for column in COLUMNS] for each in records]
    complete = [_is_complete(each, seeds) for each in records]
    # Who shares no queues, because its groups are broadcasting, is best at nothing beside others who do.
    sharing = [shares(each) for each in records]
    compared = sharing if any(sharing) else [True for _ in records]
    may = [
        [ends or not column.complete for ends, counts in zip(complete, compared, strict=True) if counts]
        for column in COLUMNS
    ]
    of_column = [
        [row[at][0] for row, counts in zip(values, compared, strict=True) if counts] for at in range(len(COLUMNS))
    ]
    best = [_best(*each) for each in zip(COLUMNS, of_column, may, strict=True)]
    found = []
    for record, row, ends, counts in zip(records, values, complete, compared, strict=True):
        cells = [
            {
                "heading": column.heading,
                "text": _text(column.path, value),
                "range": _range(_text(column.path, low), _text(column.path, high)),
                "best": best[at] is not None and value == best[at] and counts and (ends or not column.complete),
                "bad": column.path == "fairness.idle_members" and bool(value),
            }
            for at, (column, (value, low, high)) in enumerate(zip(COLUMNS, row, strict=True))
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


def _is_complete(record: Record, seeds: Mapping[str, SeedsRecord]) -> bool:
    over = seeds.get(record["label"])
    return ends_complete(record) if over is None else usually_ends_complete(over["figures"])


def _best(column: Column, values: Sequence[Figure], may: Sequence[bool]) -> Figure:
    """The best value of those who may have it; None where nobody is better than the rest."""
    known = [value for value, allowed in zip(values, may, strict=True) if allowed and value is not None]
    if not column.better or not known or (len(set(known)) < 2 and all(may)):
        return None
    return max(known) if column.better > 0 else min(known)


def _range(low: str, high: str) -> str:
    return "" if low == high else f"{low}–{high}"


def _text(path: str, value: Figure) -> str:
    if value is None:
        return "-"
    if path in _RATIOS:
        return ratio(value)
    return f"{value:,.0f}" if value >= 1000 else number(value)
