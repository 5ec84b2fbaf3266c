"""Reasons of harm as data: which event led to it, by what mechanism, and which setting would change that.

Why data and not sentences: the verdict says a reason in words, the JSON gives it as fields, `--advise` tries the
setting that it names, and a test can ask for it. `compare.explaining` puts it into words.

Why a reason is looked for in the facts and not in the figures: "8,013 records twice" has several possible mechanisms
(a commit that was refused, a member that was put out while it worked, offsets that a broker lost), and only the facts
between the event and the second delivery tell which one it was. Where none fits, no reason is given.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from compare.documents.comparison import ReasonRecord
from compare.formatting import duration, many, often, unit_of
from compare.running.reason_kinds import (
    AGAIN,
    AT_ONCE,
    AWAY,
    BEGINS_BEHIND,
    BUSY,
    COMMITTED_PAST,
    DOWN,
    EXPECTED,
    GIVEN_AGAIN,
    GIVEN_UP,
    HELD,
    HOT_QUEUE,
    KEYS_MOVED,
    LATER,
    LOCKED,
    NEVER_OWNED,
    NEW_QUEUES,
    NOT_COMMITTED,
    OPEN,
    OVERLAPPING,
    OVERLOAD,
    PASSED_OVER,
    PAUSED,
    PAUSED_CODE,
    PAUSED_OWNER,
    REBALANCES,
    REBALANCING,
    REFUSED,
    RESTLESS,
    SESSION,
    SET_BACK,
    SETTINGS,
    STALLED,
    STUCK,
    TIME_LIMIT,
    TWO_OWNERS,
    UNKNOWN,
    UNNOTICED,
    UNOWNED,
    WAITS,
)
from compare.running.setting_values import family_of, value_of
from compare.running.variants import Variant
from protocols.engine.nodes import Time
from protocols.scenario.events import Event, MemberChange
from protocols.scenario.fields import listed, listed_members
from protocols.timeline.causes import BEGINNING

MOST_REASONS = 2
"""Reasons that are told of one harm: those that explain most of it."""

LEAST_SHARE = 0.1
"""A second reason that explains less of a harm than this part is left out."""

MOST_NAMED = 3
"""Members that a reason names."""


class Reason(NamedTuple):
    """Fields as in `compare.documents.comparison.ReasonRecord`; times in milliseconds. ``alike``: reasons with an equal
    kind, an equal event and an equal value of this are one. ``settings``: names of those that would change it, where
    they are others than `SETTINGS` has of the kind."""

    kind: str
    weight: float
    event: str | None = None
    text: str | None = None
    members: tuple[str, ...] = ()
    lasted: Time | None = None
    records: int | None = None
    times: int = 1
    alike: object = None
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Telling:
    """What is needed to tell of a variant's reasons. ``unit``: what its system calls a queue."""

    variant: Variant
    unit: str
    ranges: Mapping[str, str]

    @classmethod
    def of(cls, variant: Variant) -> "Telling":
        return cls(variant, unit_of(variant.part.system), ranges(variant.scenario.events))

    def documents(self, found: Iterable[Reason]) -> list[ReasonRecord]:
        """Reasons that are alike become one, told as the one of the greatest weight, with weights, records and times
        added up; the greatest first, at most `MOST_REASONS`."""
        groups: dict[object, list[Reason]] = {}
        for each in found:
            told = each._replace(event=self.ranges.get(each.event or BEGINNING, each.event or BEGINNING))
            groups.setdefault((each.kind, told.event, each.alike), []).append(told)
        ordered = sorted(map(_merged, groups.values()), key=lambda each: -each.weight)
        least = sum(each.weight for each in ordered) * LEAST_SHARE
        return [self._document(each) for each in ordered[:MOST_REASONS] if each is ordered[0] or each.weight >= least]

    def _document(self, reason: Reason) -> ReasonRecord:
        names = reason.settings or SETTINGS[reason.kind][family_of(self.variant)]
        values = {name: value_of(self.variant, name) for name in names}
        return {
            "kind": reason.kind,
            "weight": reason.weight,
            "event": reason.event or BEGINNING,
            "mechanism": _WORDS[reason.kind](reason, self.unit),
            "setting": ", ".join(f"{name}: {value}" if value else name for name, value in values.items()),
            "text": reason.text,
            "members": list(reason.members),
            "lasted_s": None if reason.lasted is None else reason.lasted / 1000,
            "records": reason.records,
            "times": reason.times,
        }


def _merged(alike: Sequence[Reason]) -> Reason:
    heaviest = max(reversed(alike), key=lambda each: each.weight)
    members = dict.fromkeys(member for each in alike for member in each.members)
    records = [each.records for each in alike if each.records is not None]
    return heaviest._replace(
        weight=sum(each.weight for each in alike),
        members=tuple(sorted(members)),
        records=sum(records) if records else None,
        times=sum(each.times for each in alike),
    )


def ranges(events: Sequence[Event]) -> dict[str, str]:
    """What an event is called to what it is told as: equal events of several members at one time or at equal distances,
    as a range or a rolling restart is written, are one. An end of a member that starts again belongs to its start, with
    those of others at that time."""
    starts = {name for event in events if event.member_change is MemberChange.RESTARTS for name in event.members()}
    ending = {
        (type(event), event.group, event.at)
        for event in events
        if event.member_change is MemberChange.ENDS and starts.issuperset(event.members())
    }
    alike: dict[object, list[Event]] = {}
    for event in events:
        ends = (type(event), event.group, event.at) in ending
        what = event.what(several=True)
        if what is not None:
            alike.setdefault((type(event), event.group, what, ends), []).append(event)
    found: dict[str, str] = {}
    together = [part for same in alike.values() for part in _written_together(same)]
    restarts = {
        frozenset(name for event in same for name in event.members())
        for same in together
        if same[0].member_change is MemberChange.RESTARTS
    }
    for same in together:
        names = list(dict.fromkeys(name for event in same for name in event.members()))
        if len(names) > 1:
            rolls = frozenset(names) in restarts and same[0].at != same[-1].at
            members, what = listed_members(names), same[0].what(several=True)
            told = f"the rolling restart of {members}" if rolls else f"{members} {what}"
            found.update((event.describe(), told) for event in same)
    return found


def _written_together(events: Sequence[Event]) -> list[list[Event]]:
    """All of them where they are at three or more times of equal distance with as many at each; else those of each
    time."""
    batches: dict[Time, list[Event]] = {}
    for event in sorted(events, key=lambda each: each.at):
        batches.setdefault(event.at, []).append(event)
    even = len({round(later - earlier) for earlier, later in pairwise(batches)}) == 1
    sizes = {len(batch) for batch in list(batches.values())[:-1]}
    if len(batches) > 2 and even and len(sizes) == 1:
        return [[event for batch in batches.values() for event in batch]]
    return list(batches.values())


def in_common(since: Time, until: Time, start: Time, end: Time) -> Time:
    """Milliseconds that two spans have in common."""
    return max(0.0, min(until, end) - max(since, start))


def _lasted(reason: Reason) -> str:
    return duration((reason.lasted or 0.0) / 1000)


def _members(reason: Reason) -> str:
    return members_text(reason.members)


def members_text(members: Sequence[str]) -> str:
    """The members by name; of many, how many they are."""
    if not members:
        return "a member"
    return f"{len(members)} members" if len(members) > MOST_NAMED else listed(members)


def _verb(reason: Reason, of_one: str, of_several: str) -> str:
    """The form of a verb that has the members as its subject."""
    return of_several if len(reason.members) > 1 else of_one


def _after(reason: Reason) -> str:
    return "" if reason.event in (None, BEGINNING) else f" after {reason.event}"


def _colon(reason: Reason) -> str:
    return f": {reason.text}" if reason.text else ""


def _no_broker(reason: Reason, unit: str) -> str:
    lasted = f" for {_lasted(reason)}" if reason.lasted else ""
    if reason.text:
        return f"no broker serves the {unit}s of {reason.text}{lasted}{_after(reason)}"
    return f"no broker with a replica of the {unit} runs{lasted}{_after(reason)}"


def _waits(reason: Reason, unit: str) -> str:
    why = reason.text or f"records wait for {_lasted(reason)} to be acknowledged"
    return why if reason.event in (None, BEGINNING) else f"{reason.event} and {why}"


def _again(reason: Reason) -> str:
    count = reason.records or 0
    return f"{many(count, 'record')} {'was' if count == 1 else 'were'} handled again"


def _paused(reason: Reason, unit: str) -> str:
    stands = _members(reason) + _verb(reason, " stands still", " stand still")
    keeps = _verb(reason, "keeps its", "keep their")
    return f"{stands if reason.event in (None, BEGINNING) else reason.event} and {keeps} {unit}s for {_lasted(reason)}"


def _away(reason: Reason, unit: str) -> str:
    if reason.text:
        return f"{reason.text} for {_lasted(reason)}{_after(reason)}"
    if len(reason.members) > 1:
        return f"each member keeps its {unit}s while it restarts, and is away for up to {_lasted(reason)}"
    return f"{_members(reason)} is away for {_lasted(reason)}{_after(reason)}, and nobody takes its {unit}s"


def _unnoticed(reason: Reason, unit: str) -> str:
    trigger, _, more = (reason.text or "").partition(",")
    noticed = f" ({trigger}{', and more' if more else ''})" if trigger else ""
    return f"the next rebalance{_after(reason)} begins only {_lasted(reason)} later{noticed}"


def _locked(reason: Reason, unit: str) -> str:
    return (
        f"the broker refuses the lock of the {unit}s to their next owner for {_lasted(reason)}{_after(reason)}, as the"
        " lock of the one before has not run out"
    )


def _rebalancing(reason: Reason, unit: str) -> str:
    which = "first rebalance" if reason.event == BEGINNING else f"rebalance{_after(reason)}"
    last = "the last member" if len(reason.members) > 1 else _members(reason)
    waiting = f", most of it until {last} joins" if reason.members else ""
    busy = f", which {reason.text}" if reason.members and reason.text else ""
    up_to = "up to " if reason.times > 1 else ""
    return f"the {which} takes {up_to}{_lasted(reason)}{waiting}{busy}"


def _refused(reason: Reason, unit: str) -> str:
    if reason.text:
        return f"the broker refuses the pulls of {_members(reason)} until a heartbeat brings its subscription"
    return f"pulls of {_members(reason)} fail for {_lasted(reason)}"


def _begins_behind(reason: Reason, unit: str) -> str:
    where = "the end" if reason.text == "last" else f"a later offset ({reason.text})"
    begins = f"{_members(reason)} {_verb(reason, 'begins', 'begin')} at {where} of the {unit}"
    return f"{begins}, {_lasted(reason)} after they began to be written"


def _two_owners(reason: Reason, unit: str) -> str:
    own = f"{_members(reason)} {_verb(reason, 'owns', 'own')} the same {unit}s at once"
    return f"{own} for up to {_lasted(reason)}{_after(reason)}{_colon(reason)}"


def _set_back(reason: Reason, unit: str) -> str:
    if not reason.members:
        return "" if reason.event is None else reason.event
    return f"{_members(reason)} {_verb(reason, 'commits', 'commit')} an older offset{_after(reason)}{_colon(reason)}"


def _not_committed(reason: Reason, unit: str) -> str:
    return f"reading begins at the committed offset{_after(reason)}, which is behind what was handled{_colon(reason)}"


def _stuck(reason: Reason, unit: str) -> str:
    stands = _verb(reason, "stands", "stand")
    return f"{_members(reason)} {stands} still on {reason.text}, which no attempt can handle"


def _session(reason: Reason, unit: str) -> str:
    return f"the session of {_members(reason)} runs out {often(reason.times)}{_colon(reason)}"


def _rebalances(reason: Reason, unit: str) -> str:
    return f"{many(reason.times, 'rebalance')} after the last event" + (f" ({reason.text})" if reason.text else "")


_WORDS: Mapping[str, Callable[[Reason, str], str]] = {
    DOWN: _no_broker,
    WAITS: _waits,
    AT_ONCE: lambda reason, unit: (
        f"{_members(reason)} {_verb(reason, 'hands', 'hand')} records of one {unit} to several threads"
    ),
    LATER: lambda reason, unit: f"later ones had been handled when {_again(reason)}",
    OVERLAPPING: lambda reason, unit: f"several members handle records of one {unit} at a time",
    KEYS_MOVED: lambda reason, unit: (
        f"keys go to other {unit}s{_after(reason)}, and some of their records there are handled before earlier ones in"
        f" the {unit}s from before"
    ),
    PAUSED: _paused,
    PAUSED_CODE: _paused,
    STUCK: _stuck,
    AWAY: _away,
    UNNOTICED: _unnoticed,
    LOCKED: _locked,
    REBALANCING: _rebalancing,
    UNOWNED: lambda reason, unit: f"no member takes the {unit}s{_after(reason)}{_colon(reason)}",
    OPEN: lambda reason, unit: (
        f"the run ends {_lasted(reason)} after the {unit}s lost their owner"
        + (f", {reason.text}" if reason.text else "")
    ),
    NEVER_OWNED: lambda reason, unit: f"the {unit}s have not had any owner by then",
    NEW_QUEUES: lambda reason, unit: (
        f"the group does not know of the new {unit}s by the end of the run, {_lasted(reason)}{_after(reason)}"
        if reason.alike
        else f"no member owns the new {unit}s{_after(reason)} until {_lasted(reason)} later, when the group knows"
        " of them"
    ),
    AGAIN: lambda reason, unit: f"{_members(reason)} only {_verb(reason, 'handles', 'handle')} old records again",
    BUSY: lambda reason, unit: (
        f"{_members(reason)} {_verb(reason, 'handles', 'handle')} records of other {unit}s for up to {_lasted(reason)}"
    ),
    REFUSED: _refused,
    TWO_OWNERS: _two_owners,
    PAUSED_OWNER: _two_owners,
    SET_BACK: _set_back,
    NOT_COMMITTED: _not_committed,
    BEGINS_BEHIND: _begins_behind,
    PASSED_OVER: lambda reason, unit: (
        f"{_members(reason)} cannot handle {'it' if reason.records == 1 else 'them'}: {reason.text}"
    ),
    COMMITTED_PAST: lambda reason, unit: "the group has committed an offset behind them",
    **dict.fromkeys((OVERLOAD, HOT_QUEUE, EXPECTED, GIVEN_UP, HELD), lambda reason, unit: reason.text or ""),
    GIVEN_AGAIN: lambda reason, unit: f"{reason.text}{_after(reason)}",
    RESTLESS: lambda reason, unit: "the group does not settle",
    STALLED: lambda reason, unit: f"the group has not caught up yet after {reason.text}",
    TIME_LIMIT: lambda reason, unit: (
        f"a member {reason.alike} {often(reason.times)}: {reason.text} ({_lasted(reason)})"
    ),
    SESSION: _session,
    REBALANCES: _rebalances,
    UNKNOWN: lambda reason, unit: f"the run does not say why; candidates: {reason.text}",
}
