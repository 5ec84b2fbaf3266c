"""Reasons of harm in words: the clause after "because"."""

from collections.abc import Callable, Mapping

from compare.documents.comparison import ReasonRecord, Record, SharedRecord
from compare.measure.runs.harm.why_repeated import NOT_COMMITTED, SET_BACK, TWO_OWNERS
from compare.measure.runs.harm.why_stalled import (
    AGAIN,
    AWAY,
    DOWN,
    NEVER_OWNED,
    NOT_LATEST,
    PAUSED,
    REBALANCING,
    REFUSED,
    STUCK,
    UNNOTICED,
    UNOWNED,
)
from compare.measure.runs.harm.why_unread import BEGINS_BEHIND, COMMITTED_PAST, PASSED_OVER
from compare.measure.runs.harm.why_unsettled import REBALANCES, SESSION, TIME_LIMIT
from compare.measure.runs.harm.why_waiting import HOT_QUEUE, OVERLOAD, RESTLESS, STALLED
from compare.narrative.formatting import duration, many, often, unit
from protocols.scenario.descriptions import listed

MOST_NAMED = 3
"""Members that a reason names."""


def because(record: Record | SharedRecord, harm: str) -> str:
    """ ", because c1 hangs for 90s and ..."; empty where no reason of this harm was found."""
    told = dict.fromkeys(
        text for each in record["harm"]["because"].get(harm, ()) if (text := _WORDS[each["kind"]](each, unit(record)))
    )
    return f", because {'; and '.join(told)}" if told else ""


def _lasted(reason: ReasonRecord) -> str:
    return duration(reason["lasted_s"] or 0.0)


def _members(reason: ReasonRecord) -> str:
    members = reason["members"]
    if len(members) > MOST_NAMED:
        return f"{len(members)} members"
    return listed(members) or "a member"


def _verb(reason: ReasonRecord, of_one: str, of_several: str) -> str:
    """The form of a verb that has the members as its subject."""
    return of_several if len(reason["members"]) > 1 else of_one


def _after(reason: ReasonRecord) -> str:
    return f" after {reason['event']}" if reason["event"] else ""


def _no_broker(reason: ReasonRecord, unit: str) -> str:
    lasted = f" for {_lasted(reason)}" if reason["lasted_s"] else ""
    if reason["text"]:
        return f"no broker serves the {unit}s of {reason['text']}{lasted}{_after(reason)}"
    return f"no broker with a replica of the {unit} runs{lasted}{_after(reason)}"


def _away(reason: ReasonRecord, unit: str) -> str:
    if len(reason["members"]) > 1:
        return f"each member keeps its {unit}s while it restarts, and is away for up to {_lasted(reason)}"
    return f"{_members(reason)} is away for {_lasted(reason)}{_after(reason)}, and nobody takes its {unit}s"


def _unnoticed(reason: ReasonRecord, unit: str) -> str:
    trigger, _, more = (reason["text"] or "").partition(",")
    noticed = f" ({trigger}{', and more' if more else ''})" if trigger else ""
    return f"the next rebalance{_after(reason)} begins only {_lasted(reason)} later{noticed}"


def _rebalancing(reason: ReasonRecord, unit: str) -> str:
    waiting = f", most of it until {_members(reason)} {_verb(reason, 'joins', 'join')}" if reason["members"] else ""
    return f"the rebalance{_after(reason)} takes {_lasted(reason)}{waiting}"


def _refused(reason: ReasonRecord, unit: str) -> str:
    if reason["text"] == NOT_LATEST:
        return f"the broker refuses the pulls of {_members(reason)} until a heartbeat brings its subscription"
    return f"pulls of {_members(reason)} fail for {_lasted(reason)}"


def _begins_behind(reason: ReasonRecord, unit: str) -> str:
    where = "the end" if reason["text"] == "last" else f"a later offset ({reason['text']})"
    begins = f"{_members(reason)} {_verb(reason, 'begins', 'begin')} at {where} of the {unit}"
    return f"{begins}, {_lasted(reason)} after they began to be written"


def _two_owners(reason: ReasonRecord, unit: str) -> str:
    own = f"{_members(reason)} {_verb(reason, 'owns', 'own')} the same {unit}s at once"
    return f"{own} for up to {_lasted(reason)}{_after(reason)}"


def _set_back(reason: ReasonRecord, unit: str) -> str:
    if not reason["members"]:
        return reason["event"] or ""
    return f"{_members(reason)} {_verb(reason, 'commits', 'commit')} an older offset{_after(reason)}"


def _time_limit(reason: ReasonRecord, unit: str) -> str:
    return f"a member {reason['event']} {often(reason['times'])}: {reason['text']} ({_lasted(reason)})"


_WORDS: Mapping[str, Callable[[ReasonRecord, str], str]] = {
    DOWN: _no_broker,
    PAUSED: lambda reason, unit: (
        f"{reason['event'] or f'{_members(reason)} stands still'} and keeps its {unit}s for {_lasted(reason)}"
    ),
    STUCK: lambda reason, unit: (
        f"{_members(reason)} {_verb(reason, 'stands', 'stand')} still on {reason['text']}, which no attempt can handle"
    ),
    AWAY: _away,
    UNNOTICED: _unnoticed,
    REBALANCING: _rebalancing,
    UNOWNED: lambda reason, unit: f"no member takes the {unit}s",
    NEVER_OWNED: lambda reason, unit: f"the {unit}s have not had any owner by then",
    AGAIN: lambda reason, unit: f"{_members(reason)} only {_verb(reason, 'handles', 'handle')} old records again",
    REFUSED: _refused,
    TWO_OWNERS: _two_owners,
    SET_BACK: _set_back,
    NOT_COMMITTED: lambda reason, unit: (
        f"reading begins at the committed offset{_after(reason)}, which is behind what was handled"
    ),
    BEGINS_BEHIND: _begins_behind,
    PASSED_OVER: lambda reason, unit: (
        f"{_members(reason)} cannot handle {'it' if reason['records'] == 1 else 'them'}: {reason['text']}"
    ),
    COMMITTED_PAST: lambda reason, unit: "the group has committed an offset behind them",
    OVERLOAD: lambda reason, unit: reason["text"] or "",
    HOT_QUEUE: lambda reason, unit: reason["text"] or "",
    RESTLESS: lambda reason, unit: "the group does not settle",
    STALLED: lambda reason, unit: "the group has not caught up yet after the time without progress",
    TIME_LIMIT: _time_limit,
    SESSION: lambda reason, unit: f"the session of {_members(reason)} runs out {often(reason['times'])}",
    REBALANCES: lambda reason, unit: f"{many(reason['times'], 'rebalance')} follow the last event",
}
"""Kind of reason to its words; the second argument is what the system calls a queue."""
