"""Events, times and names of scenarios that are written from logs."""

import re
from collections.abc import Collection, Iterable, Mapping

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


def possible(events: Iterable[Event], first: Collection[str]) -> list[Event]:
    """The events in order of time, without what a member cannot do that does not run, or runs already.

    Logs that are cut off, or two lines about one end, tell of such.
    """
    running, known = set(first), set(first)
    found: list[Event] = []
    for event in in_order(events):
        kind = next((kind for kind in _OF_MEMBERS if kind in event), None)
        name = str(event[kind]) if kind else ""
        if kind in {"leave", "crash", "hang", "stop_polling"} and name not in running:
            continue
        if (kind == "join" and name in known) or (kind == "restart" and name not in known):
            continue
        changed = event.get("subscribe") if kind is None else None
        if isinstance(changed, dict) and not changed.keys() <= running:
            continue
        if kind in {"leave", "crash"}:
            running.discard(name)
        elif kind in {"join", "restart"}:
            running.add(name)
            known.add(name)
        found.append(event)
    return found


_OF_MEMBERS = ("leave", "crash", "hang", "stop_polling", "join", "restart")
