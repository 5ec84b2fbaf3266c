"""The result as one JSON document."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from compare.formatting import several
from compare.logs.client_events import Joined
from compare.logs.clocks import DAY, taken_as_utc
from compare.logs.events import Event, Stream
from compare.logs.lines import joined
from compare.logs.model import Cause, Deploy, Doubt, GroupLog, Happening, Rebalance
from compare.logs.reading import ALONE, Sources
from compare.logs.remedies import remedy
from compare.logs.rocketmq_doubts import moves_retries_alone
from compare.logs.unnamed import UNNAMED

UNKNOWN = "unknown"
_ASKED_FOR = "--group: no line of these files names a group"

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


_NOT_JUDGED = {
    "share": "A share group: its members share partitions, nobody takes them over and nobody stands still, so that it"
    " is not judged as a consumer group.",
    "streams group": "A group of the streams protocol: the broker gives out tasks, so that it is not judged as a"
    " consumer group.",
}


def document(logs: Sequence[GroupLog], sources: Sources) -> Json:
    """Groups with their rebalances, events, causes counted, and what was not used or not understood."""
    lost, untimed = sources.not_understood(), _untimed(sources.streams)
    whole = not lost and not untimed
    named = [log.group for log in logs if log.kind != UNNAMED]
    return {
        "groups": [_group(log, whole, named[0] if len(named) == 1 else "") for log in logs],
        "not_understood": lost,
        "skipped": [*sources.skipped(), *untimed],
    }


def iso(seconds: float | None) -> str | None:
    """ISO 8601 in UTC with milliseconds; None stays None."""
    if seconds is None:
        return None
    try:
        moment = datetime.fromtimestamp(round(seconds, 3), UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _group(log: GroupLog, whole: bool, only: str) -> Json:
    times = [event.at for event in log.events if event.place.at is not None and event.place.sure]
    streams = {id(event.stream): event.stream for event in log.events}
    offsets = {name: _zone(stream.offset) for stream in streams.values() for name in stream.files}
    return {
        "system": log.system,
        "group": log.group or None,
        "group_from": _ASKED_FOR if log.kind == UNNAMED and log.group else None,
        "kind": log.kind,
        "from": iso(min(times, default=None)),
        "to": iso(max(times, default=None)),
        "zone_offsets": dict(sorted(offsets.items())),
        "rebalances": [
            _rebalance(log, each, before) for each, before in zip(log.rebalances, [None, *log.rebalances], strict=False)
        ],
        "events": [_happening(log, event) for event in log.happenings],
        "deploys": [_deploy(deploy) for deploy in log.deploys],
        "summary": _summary(log),
        "notes": _unnamed(log, streams.values(), only) if log.kind == UNNAMED else _notes(log, streams.values(), whole),
    }


def _zone(offset: float | None) -> float | None:
    """The zone alone: where only the time of day is printed the offset holds the date, too."""
    return None if offset is None else (offset + DAY / 2) % DAY - DAY / 2 if abs(offset) > DAY else offset


def _rebalance(log: GroupLog, each: Rebalance, before: Rebalance | None = None) -> Json:
    ready = each.end
    candidates = list(dict.fromkeys(name for doubt in each.doubts for name in doubt.candidates))
    names = list(dict.fromkeys(cause.name for cause in each.causes))
    told: list[Cause | Doubt] = [*each.causes, *each.doubts]
    lines = [*each.events, *(event for one in told for event in one.events)]
    return {
        "at": iso(each.at),
        "stable_at": iso(ready),
        "took_s": round(ready - each.at, 3) if ready is not None else None,
        "generation": each.generation,
        "cause": each.cause,
        "causes": names or candidates,
        "stated": [_stated(log, cause) for cause in each.causes],
        "unknown": _unknown(log, each.doubts) if each.doubts or not each.causes else None,
        "deploy": each.deploy,
        "follow_up": before is not None and _follows(each, before),
        "member": _member(each.members),
        "who": _people(log, each.members),
        "members_before": each.before,
        "members_after": each.after,
        "waited_for": _member(each.waited_for),
        "waited_for_who": _people(log, each.waited_for),
        "out_and_back": sorted(each.pauses),
        "paused_s": each.paused_s,
        "evidence": _evidence(lines, each.waiting),
    }


_FOLLOWING = frozenset(
    {
        "member_rejoined_after_poll_timeout",
        "second_round_of_cooperative_rebalance",
        "member_rejoined_without_change",
    }
)
_LASTING = frozenset({"mixed_strategies", "inconsistent_subscription", "duplicate_client_id"})


def _follows(each: Rebalance, before: Rebalance) -> bool:
    """Whether it goes with the one before."""
    if each.cause in _FOLLOWING or (each.cause in _LASTING and each.cause == before.cause):
        return True
    return each.cause == before.cause == "member_joined" and each.at - before.over < 2.0


def _stated(log: GroupLog, cause: Cause) -> Json:
    return {
        "cause": cause.name,
        "members": list(cause.members),
        "who": _people(log, cause.members),
        "behind": cause.behind or None,
        "detail": cause.detail or None,
        "lines": _evidence(cause.events),
    }


def _unknown(log: GroupLog, doubts: Sequence[Doubt]) -> Json:
    """What the doubts of a rebalance are about, taken together and one by one."""
    return {
        "candidates": list(dict.fromkeys(name for doubt in doubts for name in doubt.candidates)),
        "would_decide": joined(dict.fromkeys(doubt.would_decide for doubt in doubts if doubt.would_decide)) or None,
        "each": [
            {
                "candidates": list(doubt.candidates),
                "members": list(doubt.members),
                "who": _people(log, doubt.members),
                "would_decide": doubt.would_decide or None,
                "lines": _evidence(doubt.events),
            }
            for doubt in doubts
        ],
    }


def _happening(log: GroupLog, event: Happening) -> Json:
    """With the fields of a rebalance, of which it has no time to settle, no generation and no pause."""
    told = Rebalance(group=log.group, begun=event.at, events=event.events)
    if event.or_else:
        doubt = Doubt((event.cause, *event.or_else), event.members, event.events, event.would_decide)
        return _rebalance(log, replace(told, doubts=(doubt,)))
    return _rebalance(log, replace(told, causes=(Cause(event.cause, event.members, event.events, event.detail),)))


def _deploy(deploy: Deploy) -> Json:
    return {
        "id": deploy.number,
        "kind": deploy.kind,
        "who": list(deploy.members),
        "from": iso(deploy.begun),
        "to": iso(deploy.ended),
    }


def _people(log: GroupLog, members: Iterable[str]) -> list[str]:
    return sorted({log.names.get(name, name) for name in members})


def _member(members: Sequence[str]) -> str | list[str] | None:
    return None if not members else members[0] if len(members) == 1 else list(members)


def _evidence(events: Iterable[Event], waiting: Iterable[Event] = ()) -> list[list[str | int]]:
    lines = list(dict.fromkeys(event.evidence for event in events))[:_MOST_EVIDENCE]
    lines = list(dict.fromkeys([*lines, *(event.evidence for event in waiting)]))
    return [[file, line] for file, line in lines]


def _summary(log: GroupLog) -> list[Json]:
    """Per cause that began rebalances the rebalances with it, those without a certain one last of equals."""
    rows: dict[str | None, list[Rebalance]] = {}
    for rebalance in log.rebalances:
        for name in dict.fromkeys(cause.name for cause in rebalance.causes) or [None]:
            rows.setdefault(name, []).append(rebalance)
    return [_row(log, name, rows[name]) for name in sorted(rows, key=lambda name: (-len(rows[name]), name or "~"))]


def _row(log: GroupLog, name: str | None, those: Sequence[Rebalance]) -> Json:
    told = [one for each in those for one in (each.causes if name else each.doubts)]
    members = {member for one in told if not isinstance(one, Cause) or one.name == name for member in one.members}
    pauses = [each.paused_s for each in those if each.paused_s is not None]
    return {
        "cause": name,
        "members": sorted(members),
        "who": _people(log, members),
        "count": len(those),
        "paused_s": round(sum(pauses), 3) if pauses else None,
        "remedy": remedy(log, name or UNKNOWN),
    }


def _notes(log: GroupLog, streams: Collection[Stream], whole: bool) -> list[str]:
    """What is to be known beside the rebalances; ``whole``: whether all lines were understood, and have times."""
    notes = []
    if not log.judged:
        return [_NOT_JUDGED[log.kind]]
    if log.system == "rocketmq":
        if not log.clients_seen:
            notes.append(CANNOT["rocketmq_brokers"])
        if retried := sum(map(moves_retries_alone, log.rebalances)):
            which = several(retried, "rebalance")
            notes.append(f"In {which} no queue but that of the retries (%RETRY%) changed hands.")
    elif not log.clients_seen:
        notes.append(CANNOT["no_clients"])
    elif not log.broker_seen:
        notes.append(CANNOT["no_broker"])
    notes += map(_looks_like, log.deploys)
    notes += _clocks(streams)
    if log.apart:
        notes.append(f"By the times of {joined(log.apart)} generations go back: their zones differ (see --zone).")
    if any(each.at < DAY for each in log.rebalances):
        notes.append("No line tells the date in full: 1970-01-01 stands for it, and only the times of day are used.")
    if not log.rebalances and not log.happenings:
        notes.append(_NOTHING if whole else "No rebalance in the lines that were understood and have a time.")
    return notes


def _clocks(streams: Collection[Stream]) -> list[str]:
    notes = []
    guessed = sorted({name for stream in streams if taken_as_utc(stream) for name in stream.files})
    if guessed:
        notes.append(f"Times of {joined(guessed)} are taken as UTC: nothing in the logs tells the zone (see --zone).")
    for stream in streams:
        if stream.ahead:
            way = "ahead of" if stream.ahead > 0 else "behind"
            names = joined(stream.files)
            notes.append(f"The clock of {names} is {abs(stream.ahead):g} s {way} the others: its times are corrected.")
    return notes


def _unnamed(log: GroupLog, streams: Collection[Stream], only: str) -> list[str]:
    """Of a client whose group no line names; ``only``: the one group that the logs do name."""
    whose = f"these clients: {log.group} is what --group says" if log.group else "this client"
    notes = [f"No line names the group of {whose}. None tells when it rebalanced: the broker's log does."]
    if only:
        notes.append(f"Perhaps it is of {only}, the only group that these logs name.")
    causes = dict.fromkeys(happening.cause for happening in log.happenings)
    return notes + _clocks(streams) + [f"{cause}: {told}" for cause in causes if (told := remedy(log, cause))]


_NOTHING = "Nothing happened: no rebalance in these logs."


def _looks_like(deploy: Deploy) -> str:
    span = f"{iso(deploy.begun)} to {iso(deploy.ended)}"
    if deploy.kind == "flapping":
        return (
            f"{joined(deploy.members)} came and went again and again, {span}: it looks like an autoscaler that flaps."
        )
    return (
        f"{joined(deploy.members)} were closed and started again one after another, {span}: it looks like one deploy or"
        " rolling restart."
    )


def _untimed(streams: Sequence[Stream]) -> list[Json]:
    rows: list[Json] = []
    for stream in streams:
        if any(not isinstance(event, ALONE) for event in stream.events) and not any(
            event.place.sure for event in stream.events
        ):
            numbers = {
                (event.group, event.generation)
                for event in stream.events
                if isinstance(event, Joined) and event.generation
            }
            told = f" ({len(numbers)} generations are in it)" if numbers else ""
            why = f"none of its times was understood: used only where another file dates the same event{told}"
            rows += [{"file": name, "why": why} for name in stream.files]
    return rows
