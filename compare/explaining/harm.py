"""A sentence of the verdict with the figures that it rests on, and the means to make one of a variant's record.

Sentences about what lasts: reasons that keep queues without an owner or with several, and queues never owned.

Reasons of harm in words: the clause after "because".

What hurts in a variant, in plain sentences: records that are lost or handled twice, time without progress, lag that
does not drain, no rest, expectations that fail.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from compare.documents.comparison import ReasonRecord, Record, SharedRecord, Spread
from compare.figures import Figure
from compare.formatting import amount, duration, many, often, unit, variant_name
from compare.running.checks import demanded_figure, is_behind
from compare.running.harm import (
    AT_ONCE,
    BEGINS_BEHIND,
    COMMITTED_PAST,
    HOT_QUEUE,
    LATER,
    NOT_COMMITTED,
    OVERLAPPING,
    OVERLOAD,
    PASSED_OVER,
    REBALANCES,
    RESTLESS,
    SESSION,
    SET_BACK,
    STALLED,
    TIME_LIMIT,
    TWO_OWNERS,
)
from compare.running.spread import figure, value_at
from compare.running.stalls import (
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
    WAITS,
)
from protocols.scenario.fields import listed
from protocols.timeline.properties import SETTLES

R = TypeVar("R", Record, SharedRecord)
"""What is told of: any run, or one in which queues are shared."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """``figures``: path in the variant's record to its value there."""

    text: str
    figures: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Telling(Generic[R]):
    """A record with the means to tell of it."""

    record: R
    spread: Mapping[str, Spread] | None

    @property
    def name(self) -> str:
        return variant_name(self.record)

    @property
    def unit(self) -> str:
        """What the variant's system calls a queue."""
        return unit(self.record)

    def at(self, path: str) -> Figure:
        """A figure."""
        return figure(self.record, path)

    def resting(self, text: str, *paths: str) -> Sentence:
        """The sentence with its figures, and with how they vary over the seeds, where they do."""
        return Sentence(
            f"{self.name} {text}{self._varying(paths)}.", {path: value_at(self.record, path) for path in paths}
        )

    def _varying(self, paths: Sequence[str]) -> str:
        for path in paths:
            over = (self.spread or {}).get(path)
            if not over or over["known"] < 2:
                continue
            time = path.endswith("_s") and not path.endswith("queue_s")
            told = (over["median"] or 0.0, over["p5"] or 0.0, over["p95"] or 0.0)
            median, low, high = (duration(each) if time else amount(each) for each in told)
            if low != high:
                what = _FIGURE_WORDS.get(path, "")
                return f" ({what}median {median}, {low} to {high} over {over['known']} seeds)"
        return ""


_FIGURE_WORDS = {
    "unowned_queue_s": "in total, queue-seconds: ",
    "double_owned_queue_s": "in total, queue-seconds: ",
    "longest_gap_s": "longest: ",
}


def because_clause(why: list[str]) -> str:
    """ ", because c1 and c2 have the client id 'x', ..."; empty without a reason."""
    return f", because {'; and '.join(why)}" if why else ""


def some(part: int, whole: int, what: str) -> str:
    """ "all 6 queues", "2 of 6 queues", "the only queue"; ``whole`` may be less, as where a group has no members left
    who read queues."""
    if part < whole:
        return f"{part} of {many(whole, what)}"
    return {1: f"the only {what}", 2: f"both {what}s"}.get(part, f"all {many(part, what)}")


def never_owned(record: SharedRecord, least_s: float) -> tuple[str, int] | None:
    """What is told of queues that wait for a first owner, and the moment that it is about; None where no wait is as
    long as ``least_s``. The end of the run is told of where nothing else has ended the wait."""
    after = record["after"]
    worst = max(range(len(after)), key=lambda at: (after[at]["never_owned_s"], -at))
    each = after[worst]
    if each["never_owned_s"] < least_s:
        return None
    until = f"until {listed(after[worst + 1]['events'])}" if worst + 1 < len(after) else "to the end of the run"
    waiting = some(each["never_owned_queues"], each["fairness"]["queues"], unit(record))
    lasted = duration(each["never_owned_s"])
    return (
        f"leaves {waiting} without a first owner for {lasted}, {until}{because_clause(each['why_unowned'])}",
        worst,
    )


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


def _again(reason: ReasonRecord) -> str:
    count = reason["records"] or 0
    return f"{many(count, 'record')} {'was' if count == 1 else 'were'} handled again"


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


def _waits(reason: ReasonRecord, unit: str) -> str:
    why = reason["text"] or f"records wait for {_lasted(reason)} to be acknowledged"
    return f"{reason['event']} and {why}" if reason["event"] else why


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
    WAITS: _waits,
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
    AT_ONCE: lambda reason, unit: (
        f"{_members(reason)} {_verb(reason, 'hands', 'hand')} records of one {unit} to several threads"
    ),
    LATER: lambda reason, unit: f"later ones had been handled when {_again(reason)}",
    OVERLAPPING: lambda reason, unit: f"several members handle records of one {unit} at a time",
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


LONG_S = 5.0
"""A queue without progress for longer, or a group that takes longer to settle or to catch up, is told of."""


def unread(told: Telling[Record]) -> Iterator[Sentence]:
    """Records that nobody could write, or that nobody handles any more."""
    work = told.record["harm"]["work"]
    if work is None:
        return
    if work["refused"]:
        text = f"cannot take {many(work['refused'], 'record')} from producers{because(told.record, 'refused')}"
        yield told.resting(text, "harm.work.refused")
    if work["skipped"]:
        text = f"never handles {many(work['skipped'], 'record')}{because(told.record, 'skipped')}"
        yield told.resting(text, "harm.work.skipped")


def repeated(told: Telling[Record]) -> Iterator[Sentence]:
    """Records that were handled more than once."""
    if told.record["redelivered"]:
        text = f"handles {many(told.record['redelivered'], 'record')} more than once"
        yield told.resting(text + because(told.record, "redelivered"), "redelivered")


def disordered(told: Telling[Record]) -> Iterator[Sentence]:
    """Records that were handled out of order, though not only because they were handled again."""
    count, by_key = told.record["out_of_order"]["queue"], told.record["out_of_order"]["key"]
    if count > told.record["redelivered"]:
        keys = "" if by_key is None else f", {by_key:,} of them out of the order of their key"
        text = f"handles {many(count, 'record')} out of order{keys}{because(told.record, 'out_of_order')}"
        yield told.resting(text, "out_of_order.queue", "out_of_order.key")


def stalled(told: Telling[Record]) -> Iterator[Sentence]:
    """Queues in which records waited for long and nobody handled any."""
    harm = told.record["harm"]
    longest, total, queues = harm["longest_stall_s"], harm["no_progress_queue_s"], harm["stalled_queues"]
    if longest is None or total is None or queues is None or longest < LONG_S:
        return
    which = some(queues, told.record["fairness"]["queues"], told.unit)
    summed = "" if queues == 1 else f", {amount(total)} queue-seconds in total"
    yield told.resting(
        f"makes no progress in {which} for up to {duration(longest)}{summed}{because(told.record, 'no_progress')}",
        "harm.longest_stall_s",
        "harm.no_progress_queue_s",
        "harm.stalled_queues",
    )


def behind(told: Telling[Record]) -> Iterator[Sentence]:
    """Records that wait at the end, or how long it took to catch up."""
    record = told.record
    work, lag = record["harm"]["work"], record["lag"]
    if work is not None and is_behind(work):
        text = f"is behind at the end: {many(work['waiting'], 'record')} of {work['written']:,} wait"
        yield told.resting(text + because(record, "waiting"), "harm.work.waiting", "harm.work.written")
    elif lag is not None and lag["drain_s"] is not None:
        gap = told.at("longest_gap_s") or 0.0
        if lag["drain_s"] >= LONG_S or gap >= LONG_S:
            text = f"reaches a lag of {many(lag['peak'], 'record')} and drains it in {duration(lag['drain_s'])}"
            yield told.resting(text, "lag.peak", "lag.drain_s")


def unsettled(told: Telling[Record]) -> Iterator[Sentence]:
    """That ownership does not come to rest, or late."""
    record = told.record
    broken = next((check for check in record["checks"] if check["name"] == SETTLES and not check["held"]), None)
    if broken is not None:
        last = record["after"][-1]
        why = because(record, "unsettled") or because_clause([*last["why_unowned"], *last["why_shared"]])
        text = f"{told.name} does not settle: {broken['why']}{why}."
        yield Sentence(text, {"harm.settled": record["harm"]["settled"], "settle_s": told.at("settle_s")})
    elif record["settle_s"] >= LONG_S and record["after"][-1]["events"]:
        yield told.resting(f"settles {duration(record['settle_s'])} after the last event", "settle_s")


def failed(told: Telling[Record]) -> Iterator[Sentence]:
    """What the scenario expects and what was found instead."""
    for check in told.record["checks"]:
        if check["demanded"] and not check["held"]:
            path, _ = demanded_figure(check["name"], told.record)
            text = f"{told.name} fails the expectation {check['name']}: {check['why']}."
            yield Sentence(text, {path: told.at(path)})


def harm(told: Telling[Record]) -> Iterator[Sentence]:
    """All of it, the worst first."""
    for tell in _TELLERS:
        yield from tell(told)


_TELLERS: Sequence[Callable[[Telling[Record]], Iterator[Sentence]]] = (
    unread,
    repeated,
    disordered,
    stalled,
    behind,
    unsettled,
    failed,
)
