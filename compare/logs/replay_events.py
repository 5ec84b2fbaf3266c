"""Events, times and names of scenarios that are written from logs."""

import re
from collections.abc import Iterable, Mapping

AFTER_MS = 60_000
"""The run goes on for so long after the last that happened."""

ABOUT = "Written by equipoise logs. Members, partitions and settings are those that the logs show, else defaults."

Event = dict[str, object]


def clock(at: float, begin: float) -> str:
    """The moment as a scenario writes it, milliseconds after the begin, at least one."""
    return f"{max(1, round(1000 * (at - begin)))}ms"


def milliseconds(duration: object) -> int:
    """What `clock` wrote."""
    return int(str(duration).removesuffix("ms"))


def in_order(events: Iterable[Event]) -> list[Event]:
    """By time; what is written first comes first where times are equal."""
    return sorted(events, key=lambda event: milliseconds(event["at"]))


def length(events: Iterable[Mapping[str, object]], end: int) -> str:
    """How long the run takes in which the events and what the logs show until ``end`` (ms) happen."""
    last = max((milliseconds(each["at"]) + milliseconds(each.get("for", "0ms")) for each in events), default=0)
    return f"{max(end, last) + AFTER_MS}ms"


def plain(name: str) -> str:
    """The name with nothing in it that a scenario's names may not have."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-") or "member"
