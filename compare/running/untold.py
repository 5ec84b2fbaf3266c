"""Why figures of a run are null: nothing is null without a reason.

A null is no 0: a run in which nothing was handled has no age of records, and one whose queues have no owners no time
without an owner. The rules go by where in the record a figure stands, as `compare.running.record` makes it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from compare.documents.audit import UntoldRecord
from compare.documents.comparison import Record
from compare.running.event_outcomes import NOT_SHARED

NO_OWNERS: Final = "records are given out one by one, so no queue has an owner"
BROADCAST: Final = "every member of a broadcasting group reads every queue, so no queue is shared"
NOBODY: Final = "no member is there at this time"
NO_TIME: Final = "handling a record takes no time"
NO_LOAD: Final = "nothing is produced"

_MEANT: Final = frozenset({"causes", "timeline", "because", "why_no_owners", "checks", "scale", "over_time"})
"""Lists whose nulls the documents' types explain, as the end of what lasts to the end of the run."""

_SHARING: Final = frozenset({*NOT_SHARED, "two_owners", "fairness", "optimum"})

_WHY: Final[Mapping[str, str]] = {
    "burst": "nothing was handled",
    "lag": NO_LOAD,
    "drain_s": "what waited at the peak was not all handled by the end",
    "work": NO_LOAD,
    "no_progress_queue_s": NO_LOAD,
    "longest_stall_s": NO_LOAD,
    "stalled_queues": NO_LOAD,
    "key": "the scenario gives the records no keys",
    "settled_p99": "nothing was produced and handled after ownership had come to rest",
    "traffic": "the sizes of this system's frames are not known",
    "shared_delivery": "every queue has owners, so no record is given out by itself",
    "its": "no queue that is written to was led by this server",
    "others": "no queue that is written to was led by another server",
    "retried": "Kafka's producer tries again within its client, and no other broker takes the record",
    "stored_twice": "Kafka's producer is idempotent, so a record that is sent again is stored once",
}
"""Last name of a figure's path to the reason."""

_AGES: Final = "no record was handled for the first time in this time"
_REST: Final = "there are no 30 s in which members are there, nothing happens and ownership rests"


def untold(record: Record) -> list[UntoldRecord]:
    """Every figure of the record that is null, by its dotted path, and why. A path stands for all that is below it;
    ``topics`` for its figures of which some are null."""
    reasons: dict[str, list[str]] = {}
    for path in _nulls(record, ()):
        reasons.setdefault(_why(record, path), []).append(".".join(path))
    return [{"figures": figures, "why": why} for why, figures in reasons.items()]


def _nulls(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if value is None:
        yield path
    elif isinstance(value, Mapping):
        below = [each for name, of in value.items() if name not in _MEANT for each in _nulls(of, (*path, str(name)))]
        yield from [path] if below and path[-1:] == ("topics",) else below
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for at, of in enumerate(value):
            yield from _nulls(of, (*path, str(at)))


def _why(record: Record, path: Sequence[str]) -> str:
    name = path[-1]
    if "record_age_ms" in path and name != "settled_p99":
        return _AGES
    if path[0] == "traffic" and len(path) > 1:
        return _REST
    if name == "capacity_per_s":
        return NO_TIME if record["after"][0]["fairness"]["members"] else NOBODY
    if record["unowned_queue_s"] is None:
        if record["broadcasting"] and (path[0] == "lag" or (path[0] == "harm" and record["harm"]["work"] is not None)):
            return BROADCAST
        if name == "settle_s" or not _SHARING.isdisjoint(path):
            return BROADCAST if record["broadcasting"] else NO_OWNERS
    return _WHY.get(name, NOBODY)
