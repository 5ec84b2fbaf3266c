"""What hurts in a variant, in plain sentences: records that are lost or handled twice, time without progress, lag that
does not drain, no rest, expectations that fail."""

from collections.abc import Callable, Iterator, Sequence

from compare.documents.comparison import Record
from compare.measure.runs.completeness import is_behind
from compare.narrative.because import because
from compare.narrative.formatting import amount, duration, many
from compare.narrative.persistent_conflicts import because_clause, some
from compare.narrative.sentences import Sentence, Telling
from protocols.timeline.properties import SETTLES

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
    broken = next((each for each in record["checks"] if each["name"] == SETTLES and not each["held"]), None)
    if broken is not None:
        last = record["after"][-1]
        why = because(record, "unsettled") or because_clause([*last["why_unowned"], *last["why_shared"]])
        text = f"{told.name} does not settle: {broken['why']}{why}."
        yield Sentence(text, {"harm.settled": record["harm"]["settled"], "settle_s": told.at("settle_s")})
    elif record["settle_s"] >= LONG_S and record["after"][-1]["events"]:
        yield told.resting(f"settles {duration(record['settle_s'])} after the last event", "settle_s")


def failed(told: Telling[Record]) -> Iterator[Sentence]:
    """What the scenario expects and what was found instead."""
    for each in told.record["checks"]:
        if each["demanded"] and not each["held"]:
            path = _EXPECTED.get(each["name"], each["name"])
            text = f"{told.name} fails the expectation {each['name']}: {each['why']}."
            yield Sentence(text, {path: told.at(path)})


_EXPECTED = {
    "settles_within": "settle_s",
    "max_over_mean": "fairness.max_over_mean",
    "idle_members": "fairness.idle_members",
    "longest_gap": "longest_gap_s",
    "longest_stall": "harm.longest_stall_s",
    "skipped": "harm.work.skipped",
    "waiting": "harm.work.waiting",
}
"""Expectations to the figures that they limit, where the names differ."""


def harm(told: Telling[Record]) -> Iterator[Sentence]:
    """All of it, the worst first."""
    for tell in _TELLERS:
        yield from tell(told)


_TELLERS: Sequence[Callable[[Telling[Record]], Iterator[Sentence]]] = (
    unread,
    repeated,
    stalled,
    behind,
    unsettled,
    failed,
)
