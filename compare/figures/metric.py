"""A row of the table of metrics: what a metric is called, says and counts, and which direction is better."""

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Metric:
    """``unit`` says how it is written, too: counts are whole numbers, a ``ratio`` has two decimals, ``points`` none, a
    ``range`` goes from least to most. ``better``: -1 where less is, 1 where more is, 0 where neither. ``column``: the
    name among columns of others, the end of the path unless it is told. ``source``: the function that computes it."""

    path: str
    heading: str
    words: str
    unit: str
    better: int = -1
    column: str = ""
    source: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it is a count."""
        return self.unit in ("members", "queues", "load", "records", "messages", "rebalances", "moves", "yes or no")

    @property
    def is_of_records(self) -> bool:
        """Whether it counts or times records, so that it says nothing where nobody writes any."""
        return self.unit in ("records", "ms", "per second")

    @property
    def is_bad(self) -> bool:
        """Whether every value but 0 stands out."""
        return self.path in _BAD


_BAD = {
    *("idle_members", "unowned_queues", "double_owned_queues"),
    *("fairness.idle_members", "harm.work.lost", "harm.work.refused", "harm.work.skipped"),
}


def by(source: str, *rows: Metric) -> tuple[Metric, ...]:
    """The rows, each with this source and a column."""
    return tuple(replace(row, source=source, column=row.column or row.path.rpartition(".")[2]) for row in rows)


AGES_ALIKE_MS: Final = 10
"""A request and its answer travel for so long at most, with the default latency. Ages that differ by less tell how a
fetch is modelled: Kafka's are computed, RocketMQ's pulls are sent."""

ALIKE_SHARE: Final = 0.05
"""Ages, and requests and bytes per second, that differ by a smaller part are alike: the model is within a few percent
of the frames that real clients sent, not nearer."""


SHOWN_SHARE: Final = 0.005
"""Figures that differ by a smaller part are told with the same three digits."""


def alike(path: str, one: float, other: float) -> float:
    """Values of a metric such as these two that differ by no more are alike. What becomes of records is counted."""
    of, largest = path.partition(".")[0], max(abs(one), abs(other))
    if of == "record_age_ms":
        return max(AGES_ALIKE_MS, ALIKE_SHARE * largest)
    if path.startswith("harm.work."):
        return 0.0
    return (ALIKE_SHARE if of == "traffic" else SHOWN_SHARE) * largest
