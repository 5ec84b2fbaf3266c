"""What each event led to, who caused what, and how far behind a group fell."""

from functools import cache
from typing import Any

import pytest

from compare.running.lag import lag_peak
from compare.running.phases import outcomes, ownership_changes, phases_of
from compare.running.production import productions
from compare.running.run_variant import RunResult, run_variant
from compare.running.variants import variants_of
from protocols.timeline import THROUGHOUT
from tests.compare.compared import made, ran


@cache
def records(**more: Any) -> dict[str, Any]:
    return {each["label"]: each for each in ran(made(**more))[1]["variants"]}


def lived(of: Any) -> RunResult:
    return run_variant(variants_of(of)[0])


def test_equal_events_of_a_moment_are_told_together_and_their_kinds_one_by_one() -> None:
    of = made(events=[{"at": "20s", "join": ["c3", "c4"], "like": "c1"}, {"at": "40s", "crash": "c1..c4"}])
    _, document = ran(of, systems=["kafka:range"])
    (record,) = document["variants"]
    assert [(each["at_s"], each["events"], each["kinds"]) for each in record["after"]] == [
        (0, [], []),
        (20, ["c3 and c4 join"], ["Join", "Join"]),
        (40, ["c1 to c4 crash"], ["Crash"] * 4),
    ]
    assert any("after c1 to c4 crash" in each["sentence"] for each in document["verdict"])


@pytest.mark.parametrize("label", ["kafka:range", "kafka:cooperative-sticky", "kafka-zookeeper:roundrobin"])
def test_what_came_of_the_events_adds_up_to_what_came_of_the_run(label: str) -> None:
    record = records()[label]
    after = record["after"]
    assert sum(each["moves"] for each in after) == record["moves"]
    assert sum(each["rebalances"] for each in after) == record["rebalances"]
    assert sum(each["unowned_queue_s"] for each in after) == pytest.approx(record["unowned_queue_s"])
    assert max(each["longest_gap_s"] for each in after) == record["longest_gap_s"]
    assert sum(each["double_owned_queue_s"] for each in after) == pytest.approx(record["double_owned_queue_s"])
    assert sum(each["fewest_moves"] for each in after) == record["fewest_moves"]
    assert after[-1]["settle_s"] == record["settle_s"]
    for name in ("fairness", "optimum"):
        assert after[-1][name] == record[name]
    assert sum(each["rebalances"] for each in record["caused"]) == record["rebalances"]


def test_between_two_events_ownership_is_what_the_last_change_left() -> None:
    run = lived(made())
    moments = phases_of(run.variant.scenario, THROUGHOUT)
    for moment, outcome in zip(moments, outcomes(run.timeline, moments), strict=True):
        *_, (now, within, owned) = [each for each in ownership_changes(run.timeline, moments) if each[0] < moment.until]
        assert within.at <= now
        assert owned == outcome.after


def test_what_nobody_reads_at_the_end_is_not_drained_and_without_load_there_is_no_lag() -> None:
    run = lived(made(events=[{"at": "20s", "crash": "c1"}, {"at": "20s", "crash": "c2"}]))
    deserted = lag_peak(run, productions(run))
    assert deserted is not None
    assert deserted.drain is None
    idle = lived(made(load={"produce": "0/s"}))
    assert lag_peak(idle, productions(idle)) is None
