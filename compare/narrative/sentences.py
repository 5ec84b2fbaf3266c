"""A sentence of the verdict with the figures that it rests on, and the means to make one of a variant's record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from compare.documents.comparison import Record, SharedRecord, Spread
from compare.figures import Figure
from compare.measure.runs.spread import figure, value_at
from compare.narrative.formatting import amount, duration, unit, variant_name

R = TypeVar("R", Record, SharedRecord)
"""What is told of: any run, or one in which queues are shared."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """``figures``: path in the variant's record to its value there."""

    text: str
    figures: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Telling(Generic[R]):
    """A record with the means to tell of it."""

    record: R
    spread: Mapping[str, Spread] | None

    @property
    def name(self) -> str:
        return variant_name(self.record)

    @property
    def unit(self) -> str:
        """What the variant's system calls a queue."""
        return unit(self.record)

    def at(self, path: str) -> Figure:
        """A figure."""
        return figure(self.record, path)

    def resting(self, text: str, *paths: str) -> Sentence:
        """The sentence with its figures, and with how they vary over the seeds, where they do."""
        return Sentence(
            f"{self.name} {text}{self._varying(paths)}.", {path: value_at(self.record, path) for path in paths}
        )

    def _varying(self, paths: Sequence[str]) -> str:
        for path in paths:
            over = (self.spread or {}).get(path)
            if not over or over["known"] < 2:
                continue
            time = path.endswith("_s") and not path.endswith("queue_s")
            low, high = (duration(end) if time else amount(end) for end in (over["p5"] or 0.0, over["p95"] or 0.0))
            if low != high:
                what = _WORDS.get(path, "")
                return f" ({what}{low} to {high}, the 5th and 95th percentile of {over['known']} seeds)"
        return ""


_WORDS = {
    "unowned_queue_s": "in total, queue-seconds: ",
    "double_owned_queue_s": "in total, queue-seconds: ",
    "longest_gap_s": "longest: ",
}
