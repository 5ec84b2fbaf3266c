"""When the records of a partition were or will be written."""

from protocols.engine.nodes import TICK, Time
from protocols.load import Production


def written_at(production: Production, offset: int) -> Time | None:
    """When a record was or will be written, in milliseconds; None where nobody ever writes it."""
    if offset < production.before:
        return 0.0
    even, come = production._replace(bursts=()), 0
    for at, count in production.bursts:
        earlier = _evenly(even, offset - come)
        if earlier is not None and earlier <= at:
            return earlier
        come += count
        if even.end_offset(at) + come > offset:
            return at
    return _evenly(even, offset - come)


def _evenly(production: Production, offset: int) -> Time | None:
    """The same where records come evenly only."""
    if production.per_second <= 0:
        return None
    at = round((production.since + (offset + 1 - production.before) * 1000 / production.per_second) / TICK) * TICK
    while production.end_offset(at) <= offset:
        at += TICK
    return at
