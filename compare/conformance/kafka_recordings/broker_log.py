"""What the coordinator's log lines in a recording say."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from compare.conformance.kafka_recordings.reading import Recording

UUID_LENGTH = 36
"""Of the random end of a member id; before it stands a hyphen."""

CREATED, ADDED, STATIC, REPLACED = "created", "added", "static", "replaced"
PREPARING, ASSIGNED, EMPTIED = "preparing", "assigned", "emptied"
"""Kinds of lines: an id was made up and its owner asked to join with it; it did; a static member came, or came back;
a rebalance began; the leader's assignment arrived; the group has no members any more."""


class Line(NamedTuple):
    """One line. ``about``: the member's id (of `REPLACED` and `PREPARING`: its instance id, the reason);
    ``members``: how many the generation has."""

    kind: str
    ms: float
    about: str = ""
    generation: int = 0
    members: int = 0


_JOINS = r"unknown member id joins group .*"

_PATTERNS: Mapping[str, re.Pattern[str]] = {
    CREATED: re.compile(rf"Dynamic member with {_JOINS} Created a new member id (?P<about>.+) and requesting "),
    ADDED: re.compile(r"Pending dynamic member with id (?P<about>.+) joins group "),
    STATIC: re.compile(
        rf"Static member with .* and {_JOINS} Created a new member id (?P<about>.+) for this member and "
    ),
    REPLACED: re.compile(
        rf"Static member with groupInstanceId=(?P<about>.+) and {_JOINS} Replacing previously mapped "
    ),
    PREPARING: re.compile(r"Preparing to .* with old generation (?P<generation>\d+) \(reason: (?P<about>.*)\)"),
    ASSIGNED: re.compile(
        r"Assignment received from leader (?P<about>.+) for group .* generation (?P<generation>\d+)\. "
        r"The group has (?P<members>\d+) members"
    ),
    EMPTIED: re.compile(r"Group .* with generation (?P<generation>\d+) is now empty"),
}


def lines(recording: Recording) -> list[Line]:
    """The lines that we know, in order."""
    found: list[Line] = []
    for event in recording.of("broker"):
        for kind, pattern in _PATTERNS.items():
            if match := pattern.match(event.log):
                said = match.groupdict()
                numbers = (int(said.get(name) or 0) for name in ("generation", "members"))
                found.append(Line(kind, event.ms, said.get("about") or "", *numbers))
                break
    return found


def prefix(member_id: str) -> str:
    """What the coordinator made the id of: the client id, or the instance id of a static member."""
    return member_id[: -UUID_LENGTH - 1]


def generations(recording: Recording) -> dict[int, float]:
    """Each generation that was completed (its assignment arrived, or it had no members) to the time of that."""
    return {line.generation: line.ms for line in lines(recording) if line.kind in (ASSIGNED, EMPTIED)}


def sizes(recording: Recording) -> dict[int, int]:
    """Each completed generation to how many members it had."""
    return {line.generation: line.members for line in lines(recording) if line.kind in (ASSIGNED, EMPTIED)}


def beginnings(recording: Recording) -> dict[int, float]:
    """Each generation to the time when the rebalance began that ended it."""
    found: dict[int, float] = {}
    for line in lines(recording):
        if line.kind == PREPARING:
            found.setdefault(line.generation, line.ms)
    return found
