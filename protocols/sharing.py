"""How the queues of one reader share its time: fairly, and without waste (max-min fairness).

A queue whose records come more slowly than its equal share takes only what comes; the others share the rest equally.
So a hot queue beside idle ones gets nearly all of the time, and among many that are behind each gets as much.
"""

from collections.abc import Iterable, Mapping
from math import ceil, floor
from typing import NamedTuple, TypeVar

from protocols.engine.nodes import TICK, Time
from protocols.load import Production, Reading
from protocols.quick_records import quickly_made

SHORTEST_MS = 100.0
"""A share holds so long at least, unless records come at once or queues come and go: few records are no reason."""

K = TypeVar("K")

_reading = quickly_made(Reading)


class Share(NamedTuple):
    """Every queue may take a record per thread each ``turn`` ms until ``until`` (None: for as long as all stays as it
    is), when one that was behind has caught up and leaves time to others: then what was handled is to be told."""

    turn: Time
    until: Time | None


def share(now: Time, handle: Time, threads: int, queues: Iterable[tuple[int, Production]]) -> Share:
    """What the queues of a reader get from now on.

    ``handle``: milliseconds, above 0, that each of the ``threads`` takes for a record. ``queues``: of each the offset
    that the reader has reached, and what is written. A queue where no more waits than the threads can begin at once
    is not behind.
    """
    behind: list[tuple[int, float]] = []
    rates: list[float] = []
    for offset, production in queues:
        waiting = production.end_offset(now) - offset
        rate = production.per_second / 1000 if production.since <= now else 0.0
        if waiting > threads:
            behind.append((waiting, rate))
        else:
            rates.append(rate)
    most = left = threads / handle
    takers = len(behind) + len(rates)
    for rate in sorted(rates):
        if rate * takers > left:
            break
        left -= rate
        takers -= 1
    each = left / takers if takers else most
    turn = round(threads / each / TICK) * TICK
    faster = threads / turn
    until = min([waiting / (faster - rate) for waiting, rate in behind if rate < faster], default=None)
    return Share(turn, None if until is None else now + ceil(max(until, SHORTEST_MS) / TICK) * TICK)


def shared_anew(
    now: Time,
    handle: Time,
    threads: int,
    readings: Mapping[K, Reading],
    production: Mapping[K, Production],
    *,
    goes_on: bool,
) -> tuple[dict[K, Reading], Time | None]:
    """What is read from now on, where each stands at its ``start``, and when to share anew (see `Share`).

    ``goes_on``: what is in hand stays in hand; else reading begins now.
    """
    if handle <= 0:
        return {key: _reading((each[0], now, 0.0, 1)) for key, each in readings.items()}, None
    found = share(now, handle, threads, [(each.start, production[key]) for key, each in readings.items()])
    made = {}
    for key, each in readings.items():
        since = now
        if goes_on and each.turn > 0 and production[key].end_offset(now) > each.start:
            since -= floor((now - each.since) / each.turn * found.turn / TICK) * TICK
        made[key] = Reading(each.start, since, found.turn, threads)
    return made, found.until
