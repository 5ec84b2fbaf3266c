"""Whether a run ended with its queues handed out and its work done, so that how even it is and what it took can be held
against others.

A group that leaves queues to nobody, or records unhandled, is soon done, moves little, and may share the rest evenly:
that is no merit.
"""

from collections.abc import Mapping
from typing import Final, TypeGuard

from compare.documents.comparison import Record, SharedRecord, Spread, WorkRecord

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


BEHIND_SHARE: Final = 0.01
"""Of all records that were written: if more wait at the end, the work is not done."""


def is_behind(work: WorkRecord) -> bool:
    """Whether more records wait at the end than are on their way in any system."""
    return work["waiting"] > work["written"] * BEHIND_SHARE


def records_lost(record: Record | SharedRecord) -> int:
    """Records that could not be written or that nobody handles any more."""
    work = record["harm"]["work"]
    return 0 if work is None else work["refused"] + work["skipped"]


def did_the_work(record: Record | SharedRecord, least_lost: int = 0) -> bool:
    """The group settled with one owner for every queue, and handled all records but so many that every variant loses:
    what it took can be compared with others who did the same work."""
    work = record["harm"]["work"]
    done = work is None or not (records_lost(record) > least_lost or is_behind(work))
    return done and record["harm"]["settled"] and ends_complete(record)


def usually_settles(record: Record | SharedRecord, spread: Mapping[str, Spread] | None) -> bool:
    """The run came to rest; of figures over many seeds: 19 of 20 runs did."""
    return record["harm"]["settled"] if spread is None else spread["harm.settled"]["p5"] == 1


def usually_lost(spread: Mapping[str, Spread]) -> float:
    """Of a variant's figures over many seeds: `records_lost`, which 19 of 20 runs do not exceed."""
    return sum(spread[f"harm.work.{name}"]["p95"] or 0.0 for name in ("refused", "skipped"))


def usually_did_the_work(spread: Mapping[str, Spread], least_lost: float = 0.0) -> bool:
    """Of a variant's figures over many seeds: 19 of 20 runs did."""
    waiting, written = (spread[f"harm.work.{name}"] for name in ("waiting", "written"))
    behind = (waiting["p95"] or 0) > (written["median"] or 0) * BEHIND_SHARE
    lost = usually_lost(spread) > least_lost
    return spread["harm.settled"]["p5"] == 1 and not behind and not lost and usually_ends_complete(spread)


def usually_ends_complete(spread: Mapping[str, Spread]) -> bool:
    """Of a variant's figures over many seeds: 19 of 20 runs end so."""
    return not any(spread[path]["p95"] for path in OPEN_ENDS)
