"""Whether a run ended with its queues handed out, so that how even it is and what it took can be held against others.

A group that leaves queues to nobody is soon done, moves little, and may share the rest evenly: that is no merit.
"""

from collections.abc import Mapping
from typing import Final, TypeGuard

from compare.documents.comparison import Record, SharedRecord, Spread

SHARING: Final = "unowned_queue_s"
"""A figure that is None where nothing is shared, because all groups are broadcasting."""

OPEN_ENDS = ("fairness.unowned_queues", "fairness.double_owned_queues")
"""Figures that are 0 where every queue that somebody reads has exactly one owner in the end."""


def shares(record: Record | SharedRecord) -> TypeGuard[SharedRecord]:
    """Whether queues are shared in a run, so that its figures of sharing mean something."""
    return record[SHARING] is not None


def ends_complete(record: Record | SharedRecord) -> bool:
    """Of a run in which queues are shared: every queue that somebody reads has exactly one owner in the end."""
    fairness = record["fairness"]
    return not fairness["unowned_queues"] and not fairness["double_owned_queues"]


def usually_ends_complete(spread: Mapping[str, Spread]) -> bool:
    """Of a variant's figures over many seeds: 19 of 20 runs end so."""
    return not any(spread[path]["p95"] for path in OPEN_ENDS)
