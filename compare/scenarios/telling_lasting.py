"""Sentences about what lasts: reasons that keep queues without an owner or with several, and queues never owned."""

from compare.documents.comparison import SharedRecord
from compare.scenarios.called import duration, many
from protocols.scenario.telling import listed


def because(why: list[str]) -> str:
    """ ", because c1 and c2 have the client id 'x', ..."; empty without a reason."""
    return f", because {'; and '.join(why)}" if why else ""


def some(part: int, whole: int) -> str:
    """ "all 6 queues", "2 of 6 queues", "the only queue"."""
    if part < whole:
        return f"{part} of {many(whole, 'queue')}"
    return {1: "the only queue", 2: "both queues"}.get(whole, f"all {many(whole, 'queue')}")


def never_owned(record: SharedRecord, least_s: float) -> tuple[str, int] | None:
    """What is told of queues that wait for a first owner, and the moment that it is about; None where no wait is as
    long as ``least_s``. The end of the run is told of where nothing else has ended the wait."""
    after = record["after"]
    worst = max(range(len(after)), key=lambda at: (after[at]["never_owned_s"], -at))
    each = after[worst]
    if each["never_owned_s"] < least_s:
        return None
    until = f"until: {listed(after[worst + 1]['events'])}" if worst + 1 < len(after) else "to the end"
    waiting = some(each["never_owned_queues"], each["fairness"]["queues"])
    lasted = duration(each["never_owned_s"])
    return f"leaves {waiting} without any first owner for {lasted} ({until}){because(each['why_unowned'])}", worst
