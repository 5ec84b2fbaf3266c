"""The result as one JSON document, with what to do about each cause: the setting and its number from what was
measured, and what it would not help with.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from compare.logs.clocks import DAY
from compare.logs.facts import Event, Fact, GroupLog, Rebalance, Stream
from compare.logs.lines import LogFile, joined

UNKNOWN = "unknown"

_Figures = Mapping[str, float]


def remedy(log: GroupLog, cause: str) -> str | None:
    """One or two sentences; None where nothing is to be done."""
    make = (_ROCKETMQ if log.system == "rocketmq" else _KAFKA).get(cause)
    return make(log.figures) if make else None


def _ms(seconds: float) -> int:
    """A rounded-up setting in milliseconds: half as much again as was needed, in whole seconds."""
    return math.ceil(seconds * 1.5) * 1000


def longer_interval(figures: _Figures) -> int | None:
    """The max.poll.interval.ms that the longest batch would have fitted into, half as much again."""
    allowed, beyond = figures.get("max.poll.interval.ms"), figures.get("beyond_s")
    return None if allowed is None or beyond is None else _ms(allowed / 1000 + beyond)


def _slow(figures: _Figures) -> str:
    allowed = figures.get("max.poll.interval.ms")
    beyond = figures.get("beyond_s")
    if allowed is None or beyond is None:
        return (
            "Set max.poll.interval.ms above the longest batch, or lower max.poll.records; the logs do not tell how long"
            " the batch took. It does not help with members that crash or freeze."
        )
    longest = allowed / 1000 + beyond
    share = max(1, math.floor(100 * allowed / 1000 / longest / 1.5))
    return (
        f"Set max.poll.interval.ms to {_ms(longest)} (the longest batch took {longest:.1f} s, allowed are"
        f" {allowed / 1000:g} s), or lower max.poll.records to {share} % of its value. A longer interval does not help"
        " with members that crash or freeze, and makes rebalances wait longer for a slow member."
    )


def _session(figures: _Figures) -> str:
    away = figures.get("away_session_s") or figures.get("away_not_rejoined_s")
    allowed = figures.get("session.timeout.ms")
    if away is None:
        return (
            "Look for the crash, the long garbage collection or the paused machine; a longer session.timeout.ms only"
            " pays for pauses that end. A crash it makes noticed later."
        )
    needed = away + (allowed or 0.0) / 1000
    return (
        f"Static members (group.instance.id) with session.timeout.ms of {_ms(needed)} would have outlived the longest"
        f" absence ({needed:.1f} s from its last heartbeat) without a rebalance; its partitions stand still so long."
        " It does not help with a member that never comes back."
    )


def _restart(figures: _Figures) -> str:
    away = figures.get("away_clean_s") or figures.get("away_unknown_s")
    if away is None:
        return (
            "Static members (group.instance.id) with a session.timeout.ms longer than a restart make restarts free of"
            " rebalances. They do not help when the number of members changes for good."
        )
    return (
        f"Static members (group.instance.id) with session.timeout.ms of {_ms(away)}: the longest restart took"
        f" {away:.1f} s. They do not help when the number of members changes for good."
    )


def _says(text: str) -> Callable[[_Figures], str]:
    return lambda _: text


_KAFKA: Mapping[str, Callable[[_Figures], str]] = {
    "poll_interval_exceeded": _slow,
    "member_rejoined_after_poll_timeout": _says("Goes with poll_interval_exceeded: its remedy removes both."),
    "session_timeout": _session,
    "member_rejoined_after_fencing": _says("Goes with the session that ended before: its remedy removes both."),
    "member_left": _restart,
    "member_joined": _says(
        "Start members together: a rebalance takes all who join before it completes; group.initial.rebalance.delay.ms"
        " does so for an empty group. Static members come back from a restart without one."
    ),
    "second_round_of_cooperative_rebalance": _says(
        "The price of cooperative-sticky where partitions move; it stops nobody who keeps its partitions. The consumer"
        " protocol (group.protocol=consumer) has no second round."
    ),
    "coordinator_restart": _says(
        "Restarts of brokers: keep session.timeout.ms longer than a restart of the broker, and restart one at a time."
    ),
    "partitions_added": _says("One rebalance for each change of the topic: make changes together."),
    "topic_matched_pattern": _says("Narrow the pattern of the subscription, or create topics together."),
    "subscription_changed": _says("Subscribe once, before the first poll, with the same topics in every member."),
    "member_rejoined_without_change": _says("Harmless: a client library rejoined without need; update it."),
    "static_member_restarted": _says("Nothing to do: this is what static members are for."),
    "fenced_instance": _says("Give every process a group.instance.id of its own."),
    "inconsistent_protocol": _says("Let partition.assignment.strategy of all members share one assignor."),
    "unreleased_instance_id": _says(
        "Wait for the session of the killed process before the new one starts, or lower"
        " group.consumer.session.timeout.ms."
    ),
}

_ROCKETMQ: Mapping[str, Callable[[_Figures], str]] = {
    "member_joined": _says("Start members together: each one that starts makes all others share anew."),
    "member_left": _says("Clean shutdowns hand over within a second; restart one member at a time."),
    "connection_closed": _says(
        "Look for the crash; the others take over as soon as the brokers see the connection close."
    ),
    "heartbeat_expired": _says(
        "Look for the freeze; lower channelExpiredTimeout and serverChannelMaxIdleTimeSeconds of the brokers (120 s) to"
        " have the queues taken over sooner."
    ),
    "member_rejoined": _says("Goes with the absence before."),
    "broker_down": _says("A replica that takes over (DLedger or controller mode) keeps the broker's queues readable."),
    "broker_up": _says("Goes with broker_down."),
    "queues_changed": _says("Clients see new queues with their next poll of routes (pollNameServerInterval, 30 s)."),
    "duplicate_client_id": _says("Give every process its own instanceName (or let it be the process id) and address."),
    "inconsistent_subscription": _says("Let all members of the group subscribe to the same topics and tags."),
    "orderly_lock_held_by_dead_member": _says(
        "Queues of a dead orderly consumer wait until its lock expires: rebalanceLockMaxLiveTime of the brokers"
        " (60000 ms)."
    ),
    "mixed_strategies": _says("Set the same AllocateMessageQueueStrategy in every member."),
}


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
        "rebalances": [_rebalance(log, rebalance) for rebalance in log.rebalances],
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
    """With the fields of a rebalance, of which it has no time to settle, no generation and no pause."""
    as_one = Rebalance(log.group, begun=event.at, cause=event.cause, causes=[event.cause])
    as_one.members, as_one.facts = event.members, event.facts
    return _rebalance(log, as_one)


def _member(members: Sequence[str]) -> str | list[str] | None:
    return None if not members else members[0] if len(members) == 1 else list(members)


def _evidence(facts: Iterable[Fact], waiting: Iterable[Fact] = ()) -> list[list[str | int]]:
    lines = list(dict.fromkeys(fact.evidence for fact in facts))[:_MOST_EVIDENCE]
    lines += [line for line in dict.fromkeys(fact.evidence for fact in waiting) if line not in lines]
    return [[file, line] for file, line in lines]


def _summary(log: GroupLog) -> list[Json]:
    rows: dict[str | None, list[Rebalance]] = {}
    for rebalance in log.rebalances:
        rows.setdefault(rebalance.cause, []).append(rebalance)
    jsons: list[Json] = []
    for cause, those in sorted(rows.items(), key=lambda row: (-len(row[1]), row[0] or "")):
        pauses = [each.paused_s for each in those if each.paused_s is not None]
        jsons.append(
            {
                "cause": cause,
                "members": sorted({member for each in those for member in each.members}),
                "who": sorted({log.names.get(member, member) for each in those for member in each.members}),
                "count": len(those),
                "paused_s": round(sum(pauses), 3) if pauses else None,
                "remedy": remedy(log, cause or UNKNOWN),
            }
        )
    return jsons


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
    jsons: list[Json] = [
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
            jsons += [{"file": name, "why": why} for name in stream.files]
    return jsons
