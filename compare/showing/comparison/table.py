"""The table of the report: a row per variant, the best value of each column marked, how it varies over seeds below."""

import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import NamedTuple

from compare.documents.comparison import Record, SeedsRecord
from compare.figures import Figure
from compare.formatting import number, ratio
from compare.running.checks import (
    did_the_work,
    records_lost,
    shares,
    usually_did_the_work,
    usually_lost,
    usually_settles,
)
from compare.running.spread import figure
from compare.showing.comparison.tables import SETTLED


class Column(NamedTuple):
    """``path``: the figure. ``better``: -1 where less is better, 1 where more is, 0 where neither.

    Only a variant that settled and did all the work can be best. ``hurts``: what queues and records suffered; there
    nobody is best while another has a better value, whether it did the work or not. Of how even it is and what it took
    that does not hold: who leaves work undone needs less."""

    path: str
    heading: str
    better: int
    words: str
    hurts: bool = False


COLUMNS = (
    Column(
        "harm.work.refused", "not written", -1, "records that producers could not write, as no broker took them", True
    ),
    Column(
        "harm.work.skipped", "never handled", -1, "records that nobody handles any more: the group went on behind", True
    ),
    Column("redelivered", "twice", -1, "records that were handled more than once", True),
    Column(
        "harm.no_progress_queue_s",
        "no progress, queue-s",
        -1,
        "time in which records waited for at least a second and nobody handled any, summed over queues",
        True,
    ),
    Column("harm.longest_stall_s", "longest stall, s", -1, "the longest time without progress of one queue", True),
    Column("unowned_queue_s", "no owner, queue-s", -1, "time without an owner, summed over queues", True),
    Column("longest_gap_s", "longest gap, s", -1, "the longest time one queue was without an owner", True),
    Column("double_owned_queue_s", "two owners, queue-s", -1, "time with several owners, summed over queues", True),
    Column("lag.peak", "lag peak", -1, "the largest lag from the first event on, in records", True),
    Column("lag.drain_s", "drained, s", -1, "time from the lag peak until all records of that lag were handled", True),
    Column("harm.work.waiting", "waiting", -1, "records older than a second that nobody has handled at the end", True),
    Column(
        SETTLED,
        "settled, s",
        -1,
        "time from the last event to the last change of ownership as any member believes it; never, where it goes on",
    ),
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
    Column("messages", "messages", -1, "number of messages besides those that fetch records"),
)

SHARING_AT = next(at for at, column in enumerate(COLUMNS) if column.path == "fairness.jain")
"""The columns before it are the table of what hurts; those from it on that of who has how much and what it took."""

_PARTS = re.compile(r"[^:_+-]*[:_+-]|[^:_+-]+")
_RATIOS = frozenset({"fairness.jain", "optimum.jain"})

_BAD = frozenset({"fairness.idle_members", "harm.work.refused", "harm.work.skipped"})
"""Figures of which every value but 0 stands out."""


def rows(records: Sequence[Record], seeds: Mapping[str, SeedsRecord]) -> list[dict[str, object]]:
    """Per record its label, whole and in ``parts``, and its cells: ``text``, ``range`` over the seeds (empty where
    there is none), whether it is the ``best`` of its column, ``bad`` where somebody is worse off than need be.
    """
    values = [[_value(each, column.path, seeds) for column in COLUMNS] for each in records]
    # Who shares no queues, because its groups are broadcasting, is best at nothing beside others who do.
    sharing = [shares(each) for each in records]
    compared = sharing if any(sharing) else [True for _ in records]
    least = min((_lost(each, seeds) for each, counts in zip(records, compared, strict=True) if counts), default=0)
    may = [counts and _did_the_work(each, seeds, least) for each, counts in zip(records, compared, strict=True)]
    best = [
        _best(column, [row[at][0] if counts else None for row, counts in zip(values, compared, strict=True)], may)
        for at, column in enumerate(COLUMNS)
    ]
    found = []
    for record, row, allowed in zip(records, values, may, strict=True):
        over = seeds.get(record["label"])
        settles = usually_settles(record, None if over is None else over["figures"])
        cells = [
            {
                "heading": column.heading,
                "text": "never" if column.path == SETTLED and not settles else _text(column.path, value),
                "range": _range(_text(column.path, low), _text(column.path, high)),
                "best": best[at] is not None and value == best[at] and allowed,
                "bad": column.path in _BAD and bool(value),
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


def _best(column: Column, values: Sequence[Figure], may: Sequence[bool]) -> Figure:
    """The best value of those who may have it; None where nobody is better than the rest, or where somebody who may not
    have it suffers less."""
    known = [value for value in values if value is not None]
    allowed = [value for value, each in zip(values, may, strict=True) if each and value is not None]
    if not column.better or not allowed or (len(set(known)) < 2 and all(may)):
        return None
    least = min if column.better < 0 else max
    return None if column.hurts and least(known) != least(allowed) else least(allowed)


def _range(low: str, high: str) -> str:
    return "" if low == high else f"{low}–{high}"


def _text(path: str, value: Figure) -> str:
    if value is None:
        return "-"
    if path in _RATIOS:
        return ratio(value)
    return f"{value:,.0f}" if value >= 1000 else number(value)
