"""What came of a variant in plain sentences, each with the figures that it rests on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compare.scenarios.because import because_idle, because_of
from compare.scenarios.called import called, duration, many
from compare.scenarios.spread import figure
from protocols.scenario.telling import listed
from protocols.timeline.properties import SETTLES

NOTICED_S = 0.001
"""Shorter stops are none that anybody would notice."""

SAME_JAIN = 1e-9
"""Jain indices that differ by less are the same."""

LONG_S = 5.0
"""A group that takes longer to settle, or to catch up, is told of."""

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sentence:
    """``figures``: path in the variant's record to its value there."""

    text: str
    figures: Mapping[str, Any] = field(default_factory=dict)


def verdict(record: Record, spread: Mapping[str, Any] | None = None) -> list[Sentence]:
    """The sentences about one variant, what matters most first. ``spread``: its figures over many seeds."""
    told = Telling(record, spread)
    return [sentence for tell in _TELLERS for sentence in tell(told)]


@dataclass(frozen=True, slots=True)
class Telling:
    """A record with the means to tell of it."""

    record: Record
    spread: Mapping[str, Any] | None

    @property
    def name(self) -> str:
        return called(self.record)

    def at(self, path: str) -> Any:
        """A figure."""
        return figure(self.record, path)

    def resting(self, text: str, *paths: str) -> Sentence:
        """The sentence with its figures, and with how they vary over the seeds, where they do."""
        return Sentence(f"{self.name} {text}{self._varying(paths)}.", {path: self.at(path) for path in paths})

    def _varying(self, paths: Sequence[str]) -> str:
        for path in paths:
            over = (self.spread or {}).get(path)
            if not over or over["known"] < 2:
                continue
            time = path.endswith("_s") and not path.endswith("queue_s")
            low, high = (duration(over[name]) if time else _plain(over[name]) for name in ("p5", "p95"))
            if low != high:
                what = _WORDS.get(path, "")
                return f" ({what}{low} to {high}, the 5th and 95th percentile of {over['known']} seeds)"
        return ""


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


_WORDS = {
    "unowned_queue_s": "in all, queue-seconds: ",
    "double_owned_queue_s": "in all, queue-seconds: ",
    "longest_gap_s": "longest: ",
}


def _settling(told: Telling) -> Iterator[Sentence]:
    record = told.record
    broken = next((each for each in record["checks"] if each["name"] == SETTLES and not each["held"]), None)
    if broken is not None:
        text = f"{told.name} does not settle: {broken['why']}."
        yield Sentence(text, {"settle_s": told.at("settle_s")})
    elif record["settle_s"] >= LONG_S and record["after"][-1]["events"]:
        yield told.resting(f"settles {duration(record['settle_s'])} after the last event", "settle_s")


def _sharing(told: Telling) -> Iterator[Sentence]:
    """Who has how much in the end."""
    fairness, best = told.record["fairness"], told.record["optimum"]
    members, idle = fairness["members"], fairness["idle_members"]
    if not members or fairness["max"] is None or best["max"] is None:
        return
    paths = ("fairness.idle_members", "fairness.members", "optimum.idle_members")
    high, low = f"{fairness['max']:g}", f"{fairness['min']:g}"
    if not fairness["max"] and best["max"]:
        yield told.resting("ends with nobody owning anything", "fairness.max", "optimum.max")
    elif idle > best["idle_members"]:
        yield told.resting(f"leaves {idle} of {many(members, 'member')} idle{because_idle(told.record)}", *paths)
    elif idle:
        queues = many(fairness["queues"], "queue")
        yield told.resting(
            f"leaves {idle} of {many(members, 'member')} idle, as any sharing of {queues} must",
            *paths,
            "fairness.queues",
        )
    elif fairness["jain"] < best["jain"] - SAME_JAIN:
        here, possible = f"{low} to {high} queues per member", f"{best['min']:g} to {best['max']:g}"
        if (fairness["min"], fairness["max"]) == (best["min"], best["max"]):
            here, possible = f"a Jain index of {fairness['jain']:.3f}", f"{best['jain']:.3f}"
        yield told.resting(
            f"ends uneven: {here} where {possible} would be possible{because_of(told.record)}",
            *("fairness.max", "fairness.min", "optimum.max", "optimum.min", "fairness.jain", "optimum.jain"),
        )
    else:
        each = f"{high} each" if low == high else f"{low} to {high} each"
        yield told.resting(
            f"ends as fair as can be: {many(members, 'member')}, {each}", "fairness.jain", "optimum.jain"
        )


def _stopping(told: Telling) -> Iterator[Sentence]:
    """Queues without an owner, by what happened: the two kinds of events with the longest stops."""
    by_kind: dict[str, list[int]] = {}
    for at, each in enumerate(told.record["after"]):
        # While a group forms, members join one after the other in any system: only a long wait is worth a word.
        if each["longest_gap_s"] >= (NOTICED_S if each["kinds"] else LONG_S):
            by_kind.setdefault("+".join(dict.fromkeys(each["kinds"])), []).append(at)
    after = told.record["after"]

    def longest(places: Sequence[int]) -> int:
        return max(places, key=lambda at: (after[at]["longest_gap_s"], -at))

    kinds = sorted(by_kind, key=lambda kind: -after[longest(by_kind[kind])]["longest_gap_s"])
    for kind in kinds[:2]:
        places = by_kind[kind]
        worst = longest(places)
        happened = sum("+".join(dict.fromkeys(each["kinds"])) == kind for each in after)
        all_of = all(after[at]["paused_queues"] >= after[at]["fairness"]["queues"] for at in places)
        each = after[worst]
        stopped, queues = each["paused_queues"], each["fairness"]["queues"]
        what = f"all {many(queues, 'queue')}" if stopped >= queues > 1 else f"{stopped} of {many(queues, 'queue')}"
        lasted = duration(each["longest_gap_s"])
        if len(places) == happened > 1 and all_of and kind in _EVERY:
            text = f"pauses {what} at each {_EVERY[kind]}, for up to {lasted}"
        else:
            when = f"after: {listed(each['events'])}" if each["events"] else "while the group begins"
            wait = " for" if stopped == 1 else ", the longest wait"
            text = f"leaves {what} without an owner{wait} {lasted} ({when}){_why_so_long(told.record, each)}"
        places_told = (f"after.{worst}.longest_gap_s", f"after.{worst}.paused_queues")
        yield told.resting(
            text,
            "longest_gap_s" if each["longest_gap_s"] == told.record["longest_gap_s"] else places_told[0],
            *places_told,
        )


_EVERY = {"Join": "join", "Crash": "crash", "Leave": "leave", "Restart": "restart", "Hang": "hang"}


def _why_so_long(record: Record, after: Record) -> str:
    """What took most of the longest gap: until the system did anything, or the rebalance itself."""
    gap = after["longest_gap_s"]
    if gap < 1:
        return ""
    for cause in record["causes"]:
        if not after["at_s"] <= cause["cause_s"] < after["until_s"] or cause["ended_s"] is None:
            continue
        waited, took = cause["began_s"] - after["at_s"], cause["ended_s"] - cause["began_s"]
        if _is_most(waited, gap) and cause["trigger"]:
            trigger, _, more = cause["trigger"].partition(",")
            return f": it begins to share anew only {duration(waited)} later ({trigger}{', and more' if more else ''})"
        if _is_most(took, gap):
            return f": the rebalance takes {duration(took)}"
    return ""


def _is_most(part: float, whole: float) -> bool:
    return whole / 2 <= part <= whole * 1.2


def _doubling(told: Telling) -> Iterator[Sentence]:
    record = told.record
    if record["double_owned_queue_s"] < NOTICED_S:
        if record["redelivered"]:
            yield told.resting(f"has {many(record['redelivered'], 'record')} handled twice", "redelivered")
        return
    worst = max(range(len(record["after"])), key=lambda at: (record["after"][at]["double_owned_queue_s"], -at))
    each = record["after"][worst]
    when = f"after: {listed(each['events'])}" if each["events"] else "while the group begins"
    twice = f"; {many(record['redelivered'], 'record')} are handled twice" if record["redelivered"] else ""
    total = f"{record['double_owned_queue_s']:.3g} queue-seconds"
    yield told.resting(
        f"has queues with two owners for {total} in all, most of it in {many(each['shared_queues'], 'queue')} ({when})"
        f"{twice}",
        "double_owned_queue_s",
        "redelivered",
        f"after.{worst}.shared_queues",
        f"after.{worst}.double_owned_queue_s",
    )


def _moving(told: Telling) -> Iterator[Sentence]:
    moves, fewest = told.record["moves"], told.record["fewest_moves"]
    if moves > fewest:
        text = f"moves {many(moves, 'queue')} where {f'{fewest:,}' if fewest else 'none'} would do"
        yield told.resting(text, "moves", "fewest_moves")


def _catching_up(told: Telling) -> Iterator[Sentence]:
    lag = told.record["lag"]
    if lag is None:
        return
    if lag["drain_s"] is None:
        yield told.resting(
            f"falls {many(lag['peak'], 'record')} behind and has not caught up at the end", "lag.peak", "lag.drain_s"
        )
    elif lag["drain_s"] >= LONG_S or told.record["longest_gap_s"] >= LONG_S:
        text = f"falls up to {many(lag['peak'], 'record')} behind and has caught up {duration(lag['drain_s'])} later"
        yield told.resting(text, "lag.peak", "lag.drain_s")


_TELLERS: Sequence[Callable[[Telling], Iterator[Sentence]]] = (
    _sharing,
    _settling,
    _stopping,
    _doubling,
    _moving,
    _catching_up,
)
