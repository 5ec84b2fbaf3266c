"""Sentences about what lasts: reasons that keep queues without an owner or with several, and queues never owned."""

from compare.documents.comparison import SharedRecord
from compare.narrative.formatting import duration, many, unit
from protocols.scenario.descriptions import listed


def because_clause(why: list[str]) -> str:
    """ ", because c1 and c2 have the client id 'x', ..."; empty without a reason."""
    return f", because {'; and '.join(why)}" if why else ""


def some(part: int, whole: int, what: str) -> str:
    """ "all 6 queues", "2 of 6 queues", "the only queue"; ``whole`` may be less, as where a group has no members left
    who read queues."""
    if part < whole:
        return f"{part} of {many(whole, what)}"
    return {1: f"the only {what}", 2: f"both {what}s"}.get(part, f"all {many(part, what)}")


def never_owned(record: SharedRecord, least_s: float) -> tuple[str, int] | None:
    """What is told of queues that wait for a first owner, and the moment that it is about; None where no wait is as
    long as ``least_s``. The end of the run is told of where nothing else has ended the wait."""
    after = record["after"]
    worst = max(range(len(after)), key=lambda at: (after[at]["never_owned_s"], -at))
    each = after[worst]
    if each["never_owned_s"] < least_s:
        return None
    until = f"until {listed(after[worst + 1]['events'])}" if worst + 1 < len(after) else "to the end of the run"
    waiting = some(each["never_owned_queues"], each["fairness"]["queues"], unit(record))
    lasted = duration(each["never_owned_s"])
    return (
        f"leaves {waiting} without a first owner for {lasted}, {until}{because_clause(each['why_unowned'])}",
        worst,
    )
