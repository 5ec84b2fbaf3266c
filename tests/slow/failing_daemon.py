"""Spark's daemon of Python workers, whose first attempts at tasks fail: one while it cuts, by an error; one while it
counts, because its process ends."""

import os
from collections.abc import Callable
from typing import Any

from pyspark import TaskContext
from pyspark.daemon import manager

import compare.figures.local
import compare.figures.merging


def first_attempt_at(partition: int) -> bool:
    context = TaskContext.get()
    return context is not None and context.attemptNumber() == 0 and context.partitionId() == partition


def failing(function: Callable[..., Any], partition: int, fail: Callable[[], None]) -> Callable[..., Any]:
    def instead(*given: Any, **named: Any) -> Any:
        if first_attempt_at(partition):
            fail()
        return function(*given, **named)

    return instead


def an_error() -> None:
    raise RuntimeError("planted: the first attempt fails")


if __name__ == "__main__":
    pieces, local = compare.figures.merging, compare.figures.local
    pieces.cut = failing(pieces.cut, 0, an_error)
    local.coded_fairness = failing(local.coded_fairness, 1, lambda: os._exit(1))
    manager()
