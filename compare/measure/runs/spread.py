"""Figures of one variant over many seeds: the median, and between which values nine of ten runs lie."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

FIGURES = (
    "fairness.jain",
    "fairness.max_over_mean",
    "fairness.idle_members",
    "fairness.min",
    "fairness.max",
    "fairness.unowned_queues",
    "fairness.double_owned_queues",
    "optimum.jain",
    "optimum.moves",
    "rebalances",
    "moves",
    "fewest_moves",
    "unowned_queue_s",
    "longest_gap_s",
    "double_owned_queue_s",
    "redelivered",
    "burst",
    "messages",
    "settle_s",
    "lag.peak",
    "lag.drain_s",
)
"""What is told of many seeds, as paths into a variant's record; of ``messages`` all types but `FETCHING` together."""

FETCHING = frozenset({"PullMessage", "PullAnswer"})
"""Types that fetch records. Kafka's model computes what its fetches bring and sends none: totals leave them out."""


def figure(record: Mapping[str, Any], path: str) -> Any:
    """The value at a path such as ``lag.peak`` or ``after.2.fairness.jain``; None where there is none. ``messages``:
    all types but `FETCHING` together."""
    value: Any = record
    for name in path.split("."):
        value = value[int(name)] if isinstance(value, Sequence) else None if value is None else value.get(name)
    if path == "messages":
        return sum(sent for name, sent in value.items() if name not in FETCHING)
    return value


def spread_figures(record: Mapping[str, Any]) -> dict[str, Any]:
    """`FIGURES` of one run, and per event how even it left the group."""
    paths = [*FIGURES, *(f"after.{at}.fairness.jain" for at in range(len(record["after"])))]
    return {path: figure(record, path) for path in paths}


def spread(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Figure to ``median``, ``p5`` and ``p95`` over runs (linear between neighbours), as `spread_figures` has them.

    ``known`` is the number of runs that have the figure; without any the others are None.
    """
    return {path: _spread([run[path] for run in runs if run[path] is not None]) for path in runs[0]}


def _spread(values: Sequence[float]) -> dict[str, Any]:
    if not values:
        return {"median": None, "p5": None, "p95": None, "known": 0}
    low, median, high = np.percentile(np.array(values, dtype=np.float64), (5, 50, 95)).tolist()
    return {"median": median, "p5": low, "p95": high, "known": len(values)}
