"""A progress bar over the tasks of the running Spark jobs, on standard error, where that is a terminal."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

POLL_S = 0.1
"""Seconds between two looks at Spark's status tracker."""


@contextmanager
def progress(spark: SparkSession, label: str) -> Iterator[None]:
    """Show how many tasks are done while the body runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    tracker = spark.sparkContext.statusTracker()
    finished = threading.Event()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task(label, total=None)

        def follow() -> None:
            seen: dict[int, tuple[int, int]] = {}
            while not finished.wait(POLL_S):
                active = tracker.getActiveStageIds()
                for stage in [*seen, *active]:
                    info = tracker.getStageInfo(stage)
                    if info is not None:
                        seen[stage] = (info.numCompletedTasks, info.numTasks)
                if seen:
                    done, total = map(sum, zip(*seen.values(), strict=True))
                    bar.update(line, completed=done, total=total)

        watcher = threading.Thread(target=follow, name="spark-progress", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()
            watcher.join()
