"""Records that are given out one by one: their figures, why they are given again, and no figure of owners."""

from collections.abc import Sequence
from typing import Any

import pytest

from compare.explaining.brief_story import brief_story
from compare.explaining.side_by_side import side_by_side
from compare.explaining.standing import headline, rows
from compare.explaining.verdict import verdict
from compare.figures.metrics import paths
from compare.running.checks import does_the_same_work, left_undone, shares
from compare.running.event_outcomes import NOT_SHARED
from compare.running.phases import phases_of
from compare.running.record import run_record
from compare.running.run_variant import RunResult, ending
from compare.running.spread import figure, spread_figures
from compare.running.systems import system_of
from compare.running.variants import Variant
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.engine.simulation import CALL
from protocols.facts import Acquired, Available, Delivered, Ended
from protocols.scenario.model import SystemPart
from protocols.timeline import Recorder, lifetimes
from tests.compare.compared import made, ran

X0 = Queue("X", "", 0)
Told = Sequence[tuple[Time, Any]]


def handled(queue: Queue, offsets: range, member: str, at: Time) -> Told:
    """The member is given these records, handles and acknowledges them."""
    first, end = offsets.start, offsets.stop
    return [
        (at, Acquired("g", member, queue, first, end, 1, at + 30_000)),
        (at + 100, Delivered("g", member, queue, first, end, at, at + 100)),
        (at + 100, Ended("g", member, queue, first, end, "acknowledged")),
    ]


def everything(but: Sequence[tuple[Queue, int]] = ()) -> list[tuple[Time, Any]]:
    """All records of a minute are handled in the second after they were written, but for these."""
    told: list[tuple[Time, Any]] = []
    for queue in (X0, Queue("X", "", 1), Queue("Y", "", 0), Queue("Y", "", 1)):
        for second in range(61):
            offsets = [offset for offset in range(second * 5, second * 5 + 5) if (queue, offset) not in but]
            for offset in offsets:
                told += handled(queue, range(offset, offset + 1), "c1", (second + 1) * 1000.0)
    return told


def record(told: Told, system: str = "kafka:share") -> tuple[RunResult, Any]:
    """The record of a run in which nodes told these facts."""
    scenario = made(systems=["kafka:range"], events=[], run={"for": "62s", "seed": 1}, load={"produce": "5/s"})
    variant = Variant(scenario, SystemPart(system=system, label=system), 1)
    numbering = system_of(system).numbering
    recorder = Recorder(lives=lifetimes(scenario, numbering), without_owners=frozenset({"g"}))
    recorder.created(1, 0.0, CALL, "", "the scenario begins", 0)
    for now, fact in sorted(told, key=lambda each: each[0]):
        recorder.fact(now, "b1", fact, 1, 1)
    result = RunResult(variant, recorder.timeline(62_000.0, {1: None}), ending(scenario, numbering))
    return result, run_record(result, phases_of(scenario, numbering))


POISON = [
    each
    for attempt in range(1, 6)
    for each in (
        (attempt * 8_000.0, Acquired("g", "c1", X0, 7, 8, attempt, attempt * 8_000.0 + 30_000)),
        (attempt * 8_000.0 + 500, Available("g", "c1", X0, 7, 8, "released"))
        if attempt < 5
        else (attempt * 8_000.0 + 500, Ended("g", "c1", X0, 7, 8, "archived")),
    )
]
SLOW = [
    (2_000.0, Acquired("g", "c1", X0, 7, 8, 1, 32_000.0)),
    (32_000.0, Available("g", "c1", X0, 7, 8, "lock timeout")),
    (32_000.0, Acquired("g", "c2", X0, 7, 8, 2, 62_000.0)),
    (32_500.0, Delivered("g", "c2", X0, 7, 8, 32_000.0, 32_500.0)),
    (32_500.0, Ended("g", "c2", X0, 7, 8, "acknowledged")),
    (40_000.0, Delivered("g", "c1", X0, 7, 8, 2_000.0, 40_000.0)),
]


def test_figures_of_owners_are_null_with_one_reason() -> None:
    result, found = record(everything())
    assert not shares(found)
    assert does_the_same_work(found)
    assert not left_undone(found)
    assert found["shared_delivery"]["why_no_owners"] == "records are given out one by one, so no queue has an owner"
    for name in ("settle_s", *NOT_SHARED):
        assert found.get(name) is None, name
        assert found["after"][-1][name] is None, name
    assert found["owners"] == {}
    assert found["fairness"]["members"] == 2
    assert found["fairness"]["jain"] is found["optimum"]["jain"] is found["two_owners"]["believed_queue_s"] is None
    assert [each for each in found["checks"] if not each["held"]] == []
    assert spread_figures(found).keys() >= set(paths("spread"))
    assert "given again never" in brief_story(result)


@pytest.mark.parametrize(
    ("told", "figures", "sentence"),
    [
        (
            everything(),
            {"redeliveries": 0, "attempts.max": 1, "ended.acknowledged": 1220, "ended.archived": 0},
            "",
        ),
        (
            [*everything([(X0, 7)]), *POISON],
            {"redeliveries": 4, "attempts.max": 5, "ended.acknowledged": 1219, "ended.archived": 1},
            "never handles 1 record, because it is archived after 5 attempts [group.share.delivery.count.limit",
        ),
        (
            [*everything([(X0, 7)]), *SLOW],
            {"redeliveries": 1, "attempts.max": 2, "ended.acknowledged": 1220, "hidden.max": 21},
            "because c1 does not acknowledge it within the lock of 30 s [group.share.record.lock.duration.ms",
        ),
    ],
)
def test_what_becomes_of_records_is_counted_and_explained(told: Told, figures: dict[str, int], sentence: str) -> None:
    _, found = record(told)
    assert {path: figure(found, f"shared_delivery.{path}") for path in figures} == figures
    assert sentence in " ".join(each.text for each in verdict(found))


def test_records_that_wait_among_handled_ones_are_lag() -> None:
    _, found = record(everything([(X0, offset) for offset in range(7, 17)]))
    assert found["harm"]["work"]["waiting"] == 10
    assert found["lag"]["drain_s"] is None
    assert found["record_age_ms"]["max"] > 60_000, "of those that wait, so far"
    assert found["record_age_ms"]["at_least"] == ["max"]
    assert found["record_age_ms"]["p99"] <= 1_100


def test_a_record_handled_late_is_out_of_order_and_handled_twice_once() -> None:
    _, found = record([*everything([(X0, 7)]), *SLOW])
    assert found["redelivered"] == 1
    assert found["out_of_order"]["queue"] >= 1
    assert found["record_age_ms"]["max"] == pytest.approx(31_000, abs=300)


def test_a_variant_without_owners_stands_beside_others_at_what_hurts() -> None:
    owned = ran(made(systems=["kafka:range"], events=[]))[1]["variants"]
    _, found = record([*everything([(X0, 7)]), *SLOW])
    cells = {cell.metric.path: cell.text for cell in rows([*owned, found], {})[1]}
    assert cells["shared_delivery.redeliveries"] == "1"
    assert cells["fairness.jain"] == cells["unowned_queue_s"] == cells["settle_s"] == "-"
    best = "duplicates (handled twice: 0), age (age p99: 3 ms) and order (out of order: 0)"
    assert headline([*owned, found], {}) == f"Kafka range is best at all that differs: {best}."
    told = side_by_side([*owned, found], {})
    twice = (
        "The number of records that are handled more than once is highest with Kafka share (1), and lowest with Kafka"
    )
    assert told[0][0].text == f"{twice} range (0)."
    # Evenness, moves and gaps are figures of one of the two only: there is nothing to stand beside them.
    assert {path for _, figures in told for path in figures["kafka:share"]} == {"redelivered", "messages"}


def test_who_leaves_records_is_not_accused_of_ownership() -> None:
    owned = ran(made(systems=["kafka:range"], events=[]))[1]["variants"]
    _, behind = record(everything([(X0, offset) for offset in range(7, 57)]))
    told = headline([*owned, behind], {})
    assert told.startswith("Kafka range is best at all that differs: pauses (no progress: 0 queue-s), age (age p99")
    assert "ownership" not in told
    best = {cell.metric.path: cell.best for cell in rows([*owned, behind], {})[0]}
    assert best["harm.work.waiting"]
    assert not best["messages"], "the only one that did the work is not best at what costs others less"
