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


def ranges(events: Iterable[Event]) -> dict[str, str]:
    """What an event is called to what it is told as: equal events of several members at one time or at equal distances,
    as a range or a rolling restart is written, are one. An end of a member that starts again belongs to its start."""
    starts = {name for event in events if event.member_change is MemberChange.RESTARTS for name in event.members()}
    alike: dict[object, list[Event]] = {}
    for event in events:
        ends = event.member_change is MemberChange.ENDS and starts.issuperset(event.members())
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


# Kinds of reasons, see `compare.documents.comparison.ReasonRecord`.
DOWN, PAUSED, STUCK, AWAY, UNNOTICED = (
    "no broker",
    "owner stands still",
    "owner stuck",
    "owner away",
    "no owner until noticed",
)
LOCKED, REBALANCING, UNOWNED, NEVER_OWNED, AGAIN, REFUSED = (
    "locked by another",
    "no owner during rebalance",
    "no owner",
    "never owned",
    "handled again",
    "pulls refused",
)
TWO_OWNERS, PAUSED_OWNER, SET_BACK, NOT_COMMITTED = (
    "two owners",
    "an earlier owner stands still",
    "offsets set back",
    "not committed",
)
BEGINS_BEHIND, COMMITTED_PAST, PASSED_OVER = "begins behind", "committed past", "passed over"
TIME_LIMIT, SESSION, REBALANCES = "time limit", "session timed out", "rebalances"
OVERLOAD, HOT_QUEUE, RESTLESS, STALLED = "overload", "hot queue", "no rest", "stalled before"
BUSY, WAITS = "owner busy with other queues", "not acknowledged"
AT_ONCE, LATER, OVERLAPPING = "several threads", "handled again later", "several members"
EXPECTED, UNKNOWN = "expected", "unknown"

KAFKA, CONSUMER, ZOOKEEPER, ROCKETMQ, ORDERLY = "kafka", "consumer protocol", "zookeeper", "rocketmq", "orderly"


def _all(*names: str, **others: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Settings of both protocols of Kafka and, where nothing else is told, of the others."""
    given = {KAFKA: names, CONSUMER: names, ZOOKEEPER: names, ROCKETMQ: names, ORDERLY: names}
    given[CONSUMER] = others.get("consumer", given[CONSUMER])
    given[ZOOKEEPER] = others.get("zookeeper", given[ZOOKEEPER])
    given[ROCKETMQ] = given[ORDERLY] = others.get("rocketmq", given[ROCKETMQ])
    return given


_SESSION = _all(
    "session.timeout.ms",
    consumer=("group.consumer.session.timeout.ms",),
    zookeeper=("zookeeper.session.timeout.ms",),
    rocketmq=("channelExpiredTimeout",),
)
_REPLICAS = _all("replication.factor", rocketmq=("enableControllerMode",))
_COMMITS = _all("auto.commit.interval.ms", rocketmq=("persistConsumerOffsetInterval",))
_SHARING = _all(
    "partition.assignment.strategy",
    consumer=("group.consumer.heartbeat.interval.ms",),
    zookeeper=("rebalance.backoff.ms",),
    rocketmq=("rocketmq.client.rebalance.minInterval", "rocketmq.client.rebalance.waitInterval"),
)
_START = _all("auto.offset.reset", rocketmq=("consumeFromWhere",))
_RETRIES = _all("max.poll.interval.ms", rocketmq=("maxReconsumeTimes",))
_MEMBERS = _all("number of members", "time per record", rocketmq=("number of members", "consumeThreadMax"))

SETTINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    DOWN: _REPLICAS,
    WAITS: _all("broker.session.timeout.ms", rocketmq=("pollNameServerInterval",)),
    AT_ONCE: _all("threads", rocketmq=("orderly", "consumeThreadMax")),
    LATER: _COMMITS,
    OVERLAPPING: _SESSION,
    PAUSED: _SESSION,
    STUCK: _RETRIES,
    AWAY: _SESSION,
    UNNOTICED: _SESSION,
    LOCKED: _all("rocketmq.broker.rebalance.lockMaxLiveTime"),
    REBALANCING: _SHARING,
    UNOWNED: _all("subscriptions of the members"),
    NEVER_OWNED: _all("subscriptions of the members"),
    AGAIN: _COMMITS,
    BUSY: _all("time per record", "max.poll.records", rocketmq=("consumeThreadMax", "consumeMessageBatchMaxSize"))
    | {ORDERLY: ("consumeThreadMax", "rocketmq.client.maxTimeConsumeContinuously")},
    REFUSED: _all("reconnect.backoff.max.ms", rocketmq=("heartbeatBrokerInterval",)),
    TWO_OWNERS: _all(
        *_SESSION[KAFKA],
        consumer=_SESSION[CONSUMER],
        zookeeper=_SESSION[ZOOKEEPER],
        rocketmq=("rocketmq.client.rebalance.waitInterval", "orderly"),
    ),
    PAUSED_OWNER: _SESSION,
    SET_BACK: _all("auto.commit.interval.ms", rocketmq=("persistConsumerOffsetInterval",)),
    NOT_COMMITTED: _COMMITS,
    BEGINS_BEHIND: _START,
    COMMITTED_PAST: _COMMITS,
    PASSED_OVER: _RETRIES,
    TIME_LIMIT: _all("max.poll.interval.ms", rocketmq=("consumeTimeout",)),
    SESSION: _SESSION,
    REBALANCES: _SHARING,
    OVERLOAD: _MEMBERS,
    HOT_QUEUE: _all("key of the records", "time per record", rocketmq=("key of the records", "consumeThreadMax")),
    RESTLESS: _SHARING,
    STALLED: _MEMBERS,
    EXPECTED: _SHARING,
    UNKNOWN: _all("not known"),
}
"""Kind of reason to the settings that would change it, by family of systems; where none does, what does."""


def _lasted(reason: Reason) -> str:
    return duration((reason.lasted or 0.0) / 1000)


def _members(reason: Reason) -> str:
    members = reason.members
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
    return (
        f"{stands if reason.event in (None, BEGINNING) else reason.event} and keeps its {unit}s for {_lasted(reason)}"
    )


def _away(reason: Reason, unit: str) -> str:
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
    PAUSED: _paused,
    STUCK: _stuck,
    AWAY: _away,
    UNNOTICED: _unnoticed,
    LOCKED: _locked,
    REBALANCING: _rebalancing,
    UNOWNED: lambda reason, unit: f"no member takes the {unit}s{_after(reason)}{_colon(reason)}",
    NEVER_OWNED: lambda reason, unit: f"the {unit}s have not had any owner by then",
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
    OVERLOAD: lambda reason, unit: reason.text or "",
    HOT_QUEUE: lambda reason, unit: reason.text or "",
    RESTLESS: lambda reason, unit: "the group does not settle",
    STALLED: lambda reason, unit: "the group has not caught up yet after the time without progress",
    TIME_LIMIT: lambda reason, unit: (
        f"a member {reason.alike} {often(reason.times)}: {reason.text} ({_lasted(reason)})"
    ),
    SESSION: _session,
    REBALANCES: _rebalances,
    EXPECTED: lambda reason, unit: reason.text or "",
    UNKNOWN: lambda reason, unit: f"the run does not say why; candidates: {reason.text}",
}
