"""Several events of one time in words."""

from collections.abc import Iterable
from itertools import groupby

from protocols.scenario.descriptions import listed_members
from protocols.scenario.events.base import Event


def described(events: Iterable[Event]) -> list[str]:
    """What happens, in the order given; equal events of several members that follow each other are one: "c3 joins",
    "c1, c2 and c3 crash", "c1 to c8 hang for 40s"."""
    told: list[str] = []
    for (_, _, what), equal in groupby(events, lambda event: (type(event), event.group, event.what(several=True))):
        same = list(equal)
        if what is None or len(same) == 1:
            told += [event.describe() for event in same]
        else:
            told.append(f"{listed_members([name for event in same for name in event.members()])} {what}")
    return told
