"""Whole numbers in native columns: division, sums over a range, consecutive queues."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

Number: TypeAlias = Column | int


def div(above: Number, below: Number) -> Column:
    """Whole division of numbers from 0 on."""
    return F.call_function("div", column_of(above), column_of(below))


def column_of(value: Number) -> Column:
    """The column of a number."""
    return F.lit(value) if isinstance(value, int) else value


def sum_over(count: Number, term: Callable[[Column], Column]) -> Column:
    """The sum of a term over 0 to ``count`` - 1; 0 where there is none."""
    every = F.sequence(F.lit(0).cast("long"), column_of(count).cast("long") - 1)
    zero = F.lit(0).cast("long")
    return F.when(column_of(count) > 0, F.aggregate(every, zero, lambda done, each: done + term(each))).otherwise(zero)


@dataclass(frozen=True)
class Block:
    """Consecutive queues of a topic: what the member at place ``rank`` of so many gets."""

    start: Column
    end: Column

    @classmethod
    def of(cls, queues: Number, subscribers: Number, rank: Number) -> "Block":
        rank = column_of(rank)
        base, more = div(queues, subscribers), column_of(queues) % subscribers
        start = rank * base + F.least(rank, more)
        return cls(start, start + base + (rank < more).cast("long"))

    def kept(self, after: "Block") -> Column:
        """Queues in both."""
        return F.greatest(F.least(self.end, after.end) - F.greatest(self.start, after.start), F.lit(0))

    def kept_between(self, first: Column, last: Column, shift: Column, after: "Block") -> Column:
        """Queues at ``first`` to ``last`` - 1, now ``shift`` places further on, in both."""
        end = F.least(self.end, last, after.end - shift)
        return F.greatest(end - F.greatest(self.start, first, after.start - shift), F.lit(0))
