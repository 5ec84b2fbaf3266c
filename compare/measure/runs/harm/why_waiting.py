"""Why records still wait at the end: more come than the members can handle, or the group does not come to rest."""

from collections.abc import Iterator, Mapping, Sequence

from compare.measure.runs.harm.readers import ReadQueue
from compare.measure.runs.harm.reasons import Reason
from compare.measure.runs.production_history import ProductionHistory
from compare.scenarios.capacity import records_per_second
from compare.scenarios.run_variant import RunResult
from protocols import Queue
from protocols.timeline.fact_descriptions import queue_name

OVERLOAD, HOT_QUEUE, RESTLESS = "overload", "hot queue", "no rest"
"""Kinds of reasons, see `compare.documents.comparison.ReasonRecord`."""


def why_waiting(
    result: RunResult,
    reads: Sequence[ReadQueue],
    production: Mapping[Queue, ProductionHistory],
    *,
    waiting: int,
    settled: bool,
) -> Iterator[Reason]:
    """Groups that get more than they can handle; queues that get more than their one reader can; else unrest."""
    capacity = records_per_second(result.variant, result.ending)
    found = False
    for group in result.ending.groups:
        members = [capacity[key] for key in result.ending.members if key.group == group]
        rates = {read.queue: production[read.queue].rate for read in reads if read.reader == group}
        coming, possible = sum(rates.values()), sum(members)
        if coming > possible:
            found = True
            text = f"{coming:g} records per second come and the members of {group} can handle {possible:g}"
            yield Reason(OVERLOAD, waiting, text=text, alike=group)
            continue
        most = max(members, default=0.0)
        for queue, rate in rates.items():
            if rate > most:
                found = True
                text = f"{rate:g} records per second come to {queue_name(queue)} and one member can handle {most:g}"
                yield Reason(HOT_QUEUE, rate, text=text, alike=queue)
    if not found and not settled:
        yield Reason(RESTLESS, waiting)
