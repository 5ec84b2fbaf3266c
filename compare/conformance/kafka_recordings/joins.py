"""Who got which id when: the coordinator's log lines tell when each JoinGroup arrived and what id it was given."""

from typing import NamedTuple

from compare.conformance.kafka_recordings.broker_log import (
    ADDED,
    CREATED,
    JOINED,
    REPLACED,
    REPLACED_BY,
    STATIC,
    lines,
    prefix,
)
from compare.conformance.kafka_recordings.clients import Client
from compare.conformance.kafka_recordings.reading import Recording


class Joined(NamedTuple):
    """A JoinGroup that was given a new id, or the first heartbeat with one that the client made up: when it came, when
    it was taken up (with that id), whose it was."""

    came: float
    taken: float
    member_id: str
    member: str


def joins(recording: Recording, clients: dict[str, Client]) -> list[Joined]:
    """Every id that was made up and used, in the order in which the coordinator made or first saw them."""
    found: list[Joined] = []
    said = lines(recording)
    added = {line.about: line.ms for line in reversed(said) if line.kind == ADDED}
    told = {event.member_id: event.member for event in recording.events if event.member_id}
    starts = {event.member: event.ms for event in reversed(recording.of("step")) if event.what == "start member"}
    for line in said:
        if line.kind == STATIC or (line.kind == CREATED and line.about in added):
            member_id = line.about
        elif line.kind in (JOINED, REPLACED_BY):
            owner = told.get(line.about) or _unnamed(line.ms, starts, clients, {one.member for one in found})
            known = any(one.member_id == line.about for one in found)
            if owner is not None and not known and not clients[owner].is_classic:
                found.append(Joined(line.ms, line.ms, line.about, owner))
            continue
        elif line.kind == REPLACED:
            member_id = _next_id(recording, line.about, line.ms, {joined.member_id for joined in found})
        else:
            continue
        member = told.get(member_id)
        if member is None:
            member = _by_prefix(
                prefix(member_id) or line.about, line.ms, starts, clients, {one.member for one in found}
            )
        if member is not None and member_id:
            found.append(Joined(line.ms, added.get(member_id, line.ms), member_id, member))
    return found


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
