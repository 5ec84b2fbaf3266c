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

LEFT, FAILED = "left", "failed"
"""Of both protocols: a member left; its session ended."""

JOINED, REPLACED_BY, BUMPED = "joined", "replaced by", "bumped"
"""Of the consumer protocol: a member came, whichever protocol it speaks; a static one came back; the epoch went up."""


class Line(NamedTuple):
    """One line. ``about``: the member's id (of `REPLACED` and `PREPARING`: its instance id, the reason);
    ``generation``: also an epoch; ``members``: how many the generation has; ``replaced``: the member id before."""

    kind: str
    ms: float
    about: str = ""
    generation: int = 0
    members: int = 0
    replaced: str = ""


_PREFIX = re.compile(r"\[Group(?:Id)? .*?\] ")
"""Before some of the lines."""

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
    LEFT: re.compile(
        r"(?!.* temporarily left )(?:Dynamic m|Static m|M)ember (?P<about>.+?) (?:with instance id .+ )?"
        r"(?:has left group|left the consumer group)"
    ),
    FAILED: re.compile(r"Member (?P<about>.+?) (?:in group .* has failed|fenced from the group)"),
    JOINED: re.compile(r"(?:Static m|M)ember (?P<about>.+?) (?:with instance id .+ )?joins the consumer group using "),
    REPLACED_BY: re.compile(
        r"Static member with instance id .* re-joins the consumer group using .* "
        r"Created a new member (?P<about>\S+) to replace the existing member (?P<replaced>\S+)\.$"
    ),
    BUMPED: re.compile(r"Bumped group epoch to (?P<generation>\d+) "),
}


def lines(recording: Recording) -> list[Line]:
    """The lines that we know, in order."""
    found: list[Line] = []
    for event in recording.of("broker"):
        text = _PREFIX.sub("", event.log, count=1)
        for kind, pattern in _PATTERNS.items():
            if match := pattern.match(text):
                said = match.groupdict()
                generation, members = (int(said.get(name) or 0) for name in ("generation", "members"))
                told = Line(kind, event.ms, said.get("about") or "", generation, members, said.get("replaced") or "")
                found.append(told)
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
