"""What the coordinator's log lines in a recording say: who got which id when, which generations and epochs there were.

A group epoch of the consumer protocol stands where the classic protocol has a generation: it begins when the group's
epoch is raised, and is complete when every member has reached it. The log tells the first; for the second there are
only the descriptions of the group, which were taken about every 100 ms.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from compare.conformance.kafka_recordings.reading import Client, Recording

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
                line = Line(kind, event.ms, said.get("about") or "", generation, members, said.get("replaced") or "")
                found.append(line)
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


class Joined(NamedTuple):
    """A JoinGroup that was given a new id, or the first heartbeat with one that the client made up: when it came, when
    it was taken up (with that id), whose it was."""

    came: float
    taken: float
    member_id: str
    member: str


def joins(recording: Recording, clients: dict[str, Client]) -> list[Joined]:
    """Every id that was made up and used, in the order in which the coordinator made or first saw them."""
    joined: list[Joined] = []
    said = lines(recording)
    added = {line.about: line.ms for line in reversed(said) if line.kind == ADDED}
    told = {event.member_id: event.member for event in recording.events if event.member_id}
    starts = {event.member: event.ms for event in reversed(recording.of("step")) if event.what == "start member"}
    for line in said:
        if line.kind == STATIC or (line.kind == CREATED and line.about in added):
            member_id = line.about
        elif line.kind in (JOINED, REPLACED_BY):
            owner = told.get(line.about) or _unnamed(line.ms, starts, clients, {one.member for one in joined})
            known = any(one.member_id == line.about for one in joined)
            if owner is not None and not known and not clients[owner].is_classic:
                joined.append(Joined(line.ms, line.ms, line.about, owner))
            continue
        elif line.kind == REPLACED:
            member_id = _next_id(recording, line.about, line.ms, {each.member_id for each in joined})
        else:
            continue
        member = told.get(member_id)
        if member is None:
            member = _by_prefix(
                prefix(member_id) or line.about, line.ms, starts, clients, {one.member for one in joined}
            )
        if member is not None and member_id:
            joined.append(Joined(line.ms, added.get(member_id, line.ms), member_id, member))
    return joined


def _unnamed(at: float, starts: dict[str, float], clients: dict[str, Client], known: set[str]) -> str | None:
    """Whose a member id of the consumer protocol is that no callback names: of those that start last, one without."""
    found = [
        name
        for name, client in clients.items()
        if not client.is_classic and name not in known and starts.get(name, at + 1) <= at
    ]
    return max(found, key=lambda name: starts[name], default=None)


def _next_id(recording: Recording, instance_id: str, after: float, known: set[str]) -> str:
    """The id that a static member got when it came back: the log does not tell it, callbacks and descriptions do."""
    for event in recording.events:
        seen = [event.member_id or ""] + [member.id for member in (event.g.members if event.g else ())]
        for member_id in seen:
            # The description may have been taken a little before its time stamp.
            if event.ms > after - 1000 and prefix(member_id) == instance_id and member_id not in known:
                return member_id
    return ""


def _by_prefix(
    wanted: str, at: float, starts: dict[str, float], clients: dict[str, Client], known: set[str]
) -> str | None:
    """The member that has most probably asked: of those that have started and have this name, the last one."""
    found = [
        name
        for name, client in clients.items()
        if wanted == (client.instance_id or client.client_id) and starts.get(name, at + 1) <= at
    ]
    return max(found, key=lambda name: (name not in known, starts[name]), default=None)


def epoch_sizes(recording: Recording) -> dict[int, int]:
    """Each epoch to how many members the group had when it began."""
    found: dict[int, int] = {}
    members: set[str] = set()
    for line in lines(recording):
        if line.kind in (ADDED, STATIC, JOINED, REPLACED_BY):
            members.add(line.about)
            members.discard(line.replaced)
        elif line.kind in (LEFT, FAILED):
            members.discard(line.about)
        elif line.kind == BUMPED:
            found[line.generation] = len(members)
    return found


def epoch_beginnings(recording: Recording) -> dict[int, float]:
    """Each epoch (or generation, before an upgrade) to the time when the next one began."""
    return {line.generation - 1: line.ms for line in lines(recording) if line.kind == BUMPED}


def reached(recording: Recording) -> dict[int, float]:
    """Each epoch to the time when all members were seen to have reached it; it may have been a little earlier. A
    description that took long is stamped with its beginning, which may be before the epoch's."""
    found: dict[int, float] = {}
    began = {line.generation: line.ms for line in lines(recording) if line.kind == BUMPED}
    for event in recording.of("group"):
        if event.g is not None and event.g.group_epoch is not None and event.g.state in ("Stable", "Empty"):
            found.setdefault(event.g.group_epoch, max(event.ms, began.get(event.g.group_epoch, event.ms)))
    return found
