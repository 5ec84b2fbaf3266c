"""The result as one JSON document."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from compare.logs.clocks import DAY
from compare.logs.facts import Fact, Stream
from compare.logs.lines import LogFile, joined
from compare.logs.rebalances import Event, GroupLog, Rebalance
from compare.logs.remedies import UNKNOWN, remedy

Json = Mapping[str, Any]
"""A part of the document."""

_MOST_EVIDENCE = 12

CANNOT = {
    "no_clients": "The broker's log alone does not tell who was slow to join, how long partitions stood still,"
    " whether a member that was gone came back or was started anew, or why a member left that gave no reason.",
    "no_broker": "The clients' logs alone do not tell of members whose logs are not here, nor whether one that fell"
    " silent crashed, froze or closed.",
    "rocketmq_brokers": "The brokers' logs do not tell who owned which queue, which strategy a client uses, nor who"
    " waits for the lock of an orderly queue; a rebalance shows by the new versions of its members' subscriptions.",
}


def document(logs: Sequence[GroupLog], streams: Sequence[Stream], files: Sequence[LogFile]) -> Json:
    """Groups with their rebalances, events, causes counted, and what was not used."""
    return {"groups": [_group(log) for log in logs], "skipped": _skipped(logs, streams, files)}


def iso(seconds: float | None) -> str | None:
    """ISO 8601 in UTC with milliseconds; None stays None."""
    if seconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(round(seconds, 3), UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _group(log: GroupLog) -> Json:
    times = [fact.at for fact in log.facts if fact.at is not None and fact.sure]
    streams = {id(fact.stream): fact.stream for fact in log.facts}
    offsets = {name: _zone(stream.offset) for stream in streams.values() for name in stream.files}
    return {
        "system": log.system,
        "group": log.group,
        "kind": log.kind,
        "from": iso(min(times, default=None)),
        "to": iso(max(times, default=None)),
        "zone_offsets": dict(sorted(offsets.items())),
        "rebalances": [_rebalance(log, each) for each in log.rebalances],
        "events": [_event(log, event) for event in log.events],
        "summary": _summary(log),
        "notes": _notes(log, streams.values()),
    }


def _zone(offset: float | None) -> float | None:
    """The zone alone: where only the time of day is printed the offset holds the date, too."""
    return None if offset is None else (offset + DAY / 2) % DAY - DAY / 2 if abs(offset) > DAY else offset


def _rebalance(log: GroupLog, each: Rebalance) -> Json:
    ready = each.end
    return {
        "at": iso(each.at),
        "stable_at": iso(ready),
        "took_s": round(ready - each.at, 3) if ready is not None else None,
        "generation": each.generation,
        "cause": each.cause,
        "causes": each.causes,
        "member": _member(each.members),
        "who": sorted({log.names.get(name, name) for name in each.members}),
        "follow_up": each.follow_up,
        "members_before": each.before,
        "members_after": each.after,
        "waited_for": _member(each.waited_for),
        "waited_for_who": sorted({log.names.get(name, name) for name in each.waited_for}),
        "out_and_back": sorted(each.pauses) if each.pauses else [],
        "paused_s": each.paused_s,
        "evidence": _evidence(each.facts, each.waiting),
    }


def _event(log: GroupLog, event: Event) -> Json:
    return {
        "at": iso(event.at),
        "stable_at": None,
        "took_s": None,
        "generation": None,
        "cause": event.cause,
        "causes": [event.cause],
        "member": _member(event.members),
        "who": sorted({log.names.get(name, name) for name in event.members}),
        "follow_up": False,
        "members_before": None,
        "members_after": None,
        "waited_for": None,
        "waited_for_who": [],
        "out_and_back": [],
        "paused_s": None,
        "evidence": _evidence(event.facts),
    }


def _member(members: Sequence[str]) -> str | list[str] | None:
    return None if not members else members[0] if len(members) == 1 else list(members)


def _evidence(facts: Iterable[Fact], waiting: Iterable[Fact] = ()) -> list[list[str | int]]:
    lines = list(dict.fromkeys(fact.evidence for fact in facts))[:_MOST_EVIDENCE]
    lines += [line for line in dict.fromkeys(fact.evidence for fact in waiting) if line not in lines]
    return [[file, line] for file, line in lines]


def _summary(log: GroupLog) -> list[Json]:
    rows: dict[str | None, list[Rebalance]] = {}
    for each in log.rebalances:
        rows.setdefault(each.cause, []).append(each)
    found: list[Json] = []
    for cause, those in sorted(rows.items(), key=lambda row: (-len(row[1]), row[0] or "")):
        pauses = [each.paused_s for each in those if each.paused_s is not None]
        found.append(
            {
                "cause": cause,
                "members": sorted({member for each in those for member in each.members}),
                "who": sorted({log.names.get(member, member) for each in those for member in each.members}),
                "count": len(those),
                "paused_s": round(sum(pauses), 3) if pauses else None,
                "remedy": remedy(log, cause or UNKNOWN),
            }
        )
    return found


def _notes(log: GroupLog, streams: Iterable[Stream]) -> list[str]:
    notes = []
    if log.system == "rocketmq":
        if not log.clients_seen:
            notes.append(CANNOT["rocketmq_brokers"])
    elif not log.clients_seen:
        notes.append(CANNOT["no_clients"])
    elif not log.broker_seen:
        notes.append(CANNOT["no_broker"])
    guessed = sorted({name for stream in streams if stream.how.startswith("taken as UTC") for name in stream.files})
    if guessed:
        notes.append(f"Times of {joined(guessed)} are taken as UTC: nothing in the logs tells the zone (see --zone).")
    if not log.rebalances and not log.events:
        notes.append("Nothing happened: no rebalance in these logs.")
    return notes


def _skipped(logs: Sequence[GroupLog], streams: Sequence[Stream], files: Sequence[LogFile]) -> list[Json]:
    used = {name for stream in streams for name in stream.files}
    found: list[Json] = [
        {"file": file.name, "why": "no line about a group, a broker or a route"}
        for file in files
        if file.name not in used
    ]
    for stream in streams:
        if stream.facts and all(not fact.sure for fact in stream.facts):
            numbers = {
                (fact.group, fact.generation) for fact in stream.facts if fact.kind == "joined" and fact.generation
            }
            told = f" ({len(numbers)} generations are in it)" if numbers else ""
            why = f"prints no times: used only where another file dates the same event{told}"
            found += [{"file": name, "why": why} for name in stream.files]
    return found
