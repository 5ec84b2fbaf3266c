"""A sentence of the verdict with the figures that it rests on, and the means to make one of a variant's record.

Sentences about what lasts: reasons that keep queues without an owner or with several, and queues never owned.

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
from compare.running.reason_kinds import EXPECTED, NUMBER_OF_MEMBERS, RESTLESS
from compare.running.spread import figure, value_at
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


def because(record: Record | SharedRecord, harm: str) -> str:
    """ ", because c1 hangs for 90s [session.timeout.ms: 45s] and ..."; empty where there is no such harm."""
    return reasons_clause(record["harm"]["because"].get(harm, ()))


def reasons_clause(reasons: Sequence[ReasonRecord]) -> str:
    """The same of these reasons."""
    return because_clause(list(dict.fromkeys(f"{each['mechanism']} [{each['setting']}]" for each in reasons)))


def groups_without_members(record: Record | SharedRecord) -> list[str]:
    """Sentences such as "group h has no members", of groups whose queues nobody takes any more."""
    reasons = (each for harm in ("unowned", "waiting") for each in record["harm"]["because"].get(harm, ()))
    return list(
        dict.fromkeys(each["text"] for each in reasons if each["text"] and each["setting"] == NUMBER_OF_MEMBERS)
    )


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


def given_again(told: Telling[Record]) -> Iterator[Sentence]:
    """Records that were given to a member again, where they are given out one by one, and those given up."""
    delivery = told.record["shared_delivery"]
    if delivery is None or not delivery["redeliveries"]:
        return
    most = delivery["attempts"]["max"]
    text = f"gives records again {often(delivery['redeliveries'])}"
    # An administrator's reset begins anew: what it gives again is at its first attempt.
    text += f", at attempt {most}" if most > 1 and delivery["redeliveries"] == 1 else ""
    text += f", one of them up to attempt {most}" if most > 1 and delivery["redeliveries"] > 1 else ""
    yield told.resting(
        text + because(told.record, "given_again"), "shared_delivery.redeliveries", "shared_delivery.attempts.max"
    )


def disordered(told: Telling[Record]) -> Iterator[Sentence]:
    """Records that were handled out of order, though not only because they were handled again."""
    by_queue, by_key = told.record["out_of_order"]["queue"], told.record["out_of_order"]["key"]
    if max(by_queue, by_key or 0) > told.record["redelivered"]:
        if by_key is None:
            text = f"handles {many(by_queue, 'record')} out of the order of their {told.unit}"
        else:
            also = f" and {by_queue:,} out of that of their {told.unit}" if by_queue else ""
            text = f"handles {many(by_key, 'record')} out of the order of their key{also}"
        text += because(told.record, "out_of_order")
        yield told.resting(text, "out_of_order.queue" if by_key is None else "out_of_order.key", "out_of_order.queue")


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
        age = record["record_age_ms"]["p99"]
        if age is not None and "p99" in record["record_age_ms"]["at_least"]:
            text += f" and the p99 age of records is at least {duration(age / 1000)}"
        yield told.resting(text + because(record, "waiting"), "harm.work.waiting", "harm.work.written")
    elif lag is not None and lag["drain_s"] is not None and _is_backlog(record, lag["peak"]):
        gap = told.at("longest_gap_s") or 0.0
        if lag["drain_s"] >= LONG_S or gap >= LONG_S:
            text = f"reaches a lag of {many(lag['peak'], 'record')} and drains it in {duration(lag['drain_s'])}"
            yield told.resting(text, "lag.drain_s", "lag.peak")


def _is_backlog(record: Record, peak: int) -> bool:
    """Whether more records wait than come in a second, which are on their way, and than had to be given again, which
    only wait for their time."""
    work, delivery = record["harm"]["work"], record["shared_delivery"]
    again = 0 if delivery is None else delivery["redeliveries"]
    return work is None or (peak - again) * record["after"][-1]["until_s"] > work["written"]


def unsettled(told: Telling[Record]) -> Iterator[Sentence]:
    """That ownership does not come to rest, or late."""
    record = told.record
    broken = next((check for check in record["checks"] if check["name"] == SETTLES and not check["held"]), None)
    if broken is not None:
        last = record["after"][-1]
        restless = all(each["kind"] == RESTLESS for each in record["harm"]["because"].get("unsettled", ()))
        why = "" if restless else because(record, "unsettled")
        why = why or because_clause([*last["why_unowned"], *last["why_shared"]])
        text = f"{told.name} does not settle: {broken['why']}{why}."
        yield Sentence(text, {"harm.settled": record["harm"]["settled"], "settle_s": told.at("settle_s")})
    elif record["settle_s"] is not None and record["settle_s"] >= LONG_S and record["after"][-1]["events"]:
        yield told.resting(f"settles {duration(record['settle_s'])} after the last event", "settle_s")


def failed(told: Telling[Record]) -> Iterator[Sentence]:
    """What the scenario expects and what was found instead."""
    for check in told.record["checks"]:
        if check["demanded"] and not check["held"]:
            path, _ = demanded_figure(check["name"], told.record)
            found = told.record["harm"]["because"].get(check["name"], ())
            why = reasons_clause([each for each in found if each["kind"] != EXPECTED])
            text = f"{told.name} fails the expectation {check['name']}: {check['why']}{why}."
            yield Sentence(text, {path: told.at(path)})


def harm(told: Telling[Record]) -> Iterator[Sentence]:
    """All of it, the worst first."""
    for tell in _TELLERS:
        yield from tell(told)


_TELLERS: Sequence[Callable[[Telling[Record]], Iterator[Sentence]]] = (
    unread,
    repeated,
    given_again,
    disordered,
    stalled,
    behind,
    unsettled,
    failed,
)
