"""Figures of one variant over many seeds: the median, and between which values nine of ten runs lie."""

from collections.abc import Mapping, Sequence

from compare.documents.comparison import Record, Spread
from compare.figures import Figure
from compare.figures.metrics import paths

FETCHING = frozenset({"PullMessage", "PullAnswer", "ShareFetch", "ShareFetchAnswer", "ReceiveMessage", "Received"})
"""Types that fetch records. Kafka's model computes what fetches of owned partitions bring and sends none: totals leave
them out. A share consumer's fetches bring acknowledgements along: they cost no request then."""


def value_at(record: Mapping[str, object], path: str) -> object:
    """The value at a path such as ``lag.peak`` or ``after.2.fairness.jain``; None where there is none. ``messages``:
    all types but `FETCHING` together. Raises `TypeError` where the path leads into something that is no record."""
    value: object = record
    for name in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, Sequence):
            value = value[int(name)]
        elif value is not None:
            raise TypeError(f"{path} leads into {value!r}")
    if path != "messages":
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"messages are {value!r}")
    return sum(sent for name, sent in value.items() if name not in FETCHING)


def figure(record: Mapping[str, object], path: str) -> Figure:
    """The number at a path, see `value_at`; None where there is none. Raises `TypeError` for anything else."""
    value = value_at(record, path)
    if value is None or isinstance(value, int | float):
        return value
    raise TypeError(f"{path} is {value!r}")


_OF_EVENTS = ("fairness.jain", "record_age_ms.p50", "record_age_ms.p99", "record_age_ms.max", "handled_per_s")


def spread_figures(record: Record) -> dict[str, Figure]:
    """The metrics of one run; per event how even it left the group, and how old records were; per server its load;
    ``record_age_ms.bounded``: 1 for an age that is a lower bound, else 0."""
    of_events = (f"after.{at}.{name}" for at in range(len(record["after"])) for name in _OF_EVENTS)
    named = (*paths("spread"), "two_owners.believed_queue_s", *of_events)
    servers = {} if record["traffic"] is None else record["traffic"]["servers"]
    of_servers: dict[str, Figure] = {}
    for name, each in servers.items():
        of_servers[f"traffic.servers.{name}.requests_per_s"] = each["requests_per_s"]
        of_servers[f"traffic.servers.{name}.bytes_per_s"] = each["bytes_per_s"]
    bounds = record["record_age_ms"]["at_least"]
    bounded = {f"record_age_ms.bounded.{name}": int(name in bounds) for name in ("p50", "settled_p99", "p99", "max")}
    return {path: figure(record, path) for path in named} | of_servers | bounded


def spread(runs: Sequence[Mapping[str, Figure]]) -> dict[str, Spread]:
    """Figure to ``median``, ``p5`` and ``p95`` over runs (linear between neighbours), as `spread_figures` has them.

    ``known`` is the number of runs that have the figure; without any the others are None.
    """
    every = dict.fromkeys(path for run in runs for path in run)
    return {path: _spread([value for run in runs if (value := run.get(path)) is not None]) for path in every}


def _spread(values: Sequence[float]) -> Spread:
    if not values:
        return {"median": None, "p5": None, "p95": None, "known": 0}
    ordered = sorted(map(float, values))
    low, median, high = (percentile(ordered, percent) for percent in (5, 50, 95))
    return {"median": median, "p5": low, "p95": high, "known": len(values)}


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The value below which so many of a hundred lie, linear between neighbours, of ascending values; in the steps of
    `numpy.percentile`, so that both have the same digits."""
    place = percent / 100 * (len(ordered) - 1)
    before = min(int(place), len(ordered) - 1)
    low, high, part = ordered[before], ordered[min(before + 1, len(ordered) - 1)], place - before
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)
