"""What each event led to, who caused what, and how far behind a group fell."""

from functools import cache
from typing import Any

import pytest

from compare import fairness
from compare.running.phases import outcomes, ownership_changes, phases_of
from compare.running.production import lag_peak
from compare.running.run_variant import RunResult, run_variant
from compare.running.variants import variants_of
from protocols import Allocation, Group, Queue
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


def test_there_is_a_moment_for_the_beginning_and_for_every_time_at_which_something_happens() -> None:
    of = made(
        events=[
            {"at": "20s", "join": "c3", "subscribe": ["X"]},
            {"at": "20s", "crash": "c1"},
            {"at": "30s", "queues": {"X": 5}},
        ]
    )
    found = phases_of(of, THROUGHOUT)
    assert [(each.at, each.until, len(each.events)) for each in found] == [
        (0, 20_000, 0),
        (20_000, 30_000, 2),
        (30_000, 90_000, 1),
    ]
    assert [sorted(each.then.groups["g"].members, key=lambda member: member.id)[0].id for each in found] == [
        "c1",
        "c2",
        "c2",
    ]
    assert [len(each.then.groups["g"].queues) for each in found] == [4, 4, 7]


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


def test_fairness_after_an_event_is_that_of_the_members_and_queues_there_are_then() -> None:
    record = records()["kafka:range"]
    group = Group.of({"X": 2, "Y": 2}, {name: ["X", "Y"] for name in ("c1", "c2", "c3")})
    own = {name: [Queue(topic, "", number) for topic in "XY"] for number, name in enumerate(("c1", "c2"))}
    expected = fairness(Allocation(group, {**own, "c3": []}))
    assert record["after"][1]["fairness"]["jain"] == expected.jain
    assert record["after"][1]["fairness"]["topics"]["X"]["idle_members"] == 1
    assert record["after"][1]["events"] == ["c3 joins"]
    assert record["after"][1]["optimum"]["max"] == 2


def test_a_join_needs_one_move_of_four_queues_and_a_crash_all_that_the_member_had() -> None:
    assert [each["fewest_moves"] for each in records()["kafka:cooperative-sticky"]["after"]] == [0, 1, 1]
    crashed = lived(made(events=[{"at": "20s", "crash": "c2"}], systems=["kafka:sticky"]))
    record = ran(crashed.variant.scenario)[1]["variants"][0]
    # Both queues had an owner once: that each gets another one is a move.
    assert record["after"][1]["fewest_moves"] == record["moves"] == 2
    # And the other member gives up its own for a moment, to share anew.
    assert record["after"][1]["paused_queues"] == 4
    assert record["after"][1]["longest_gap_s"] == record["longest_gap_s"] > 40


def test_between_two_events_ownership_is_what_the_last_change_left() -> None:
    run = lived(made())
    moments = phases_of(run.variant.scenario, THROUGHOUT)
    for moment, outcome in zip(moments, outcomes(run.timeline, moments), strict=True):
        *_, (now, within, owned) = [each for each in ownership_changes(run.timeline, moments) if each[0] < moment.until]
        assert within.at <= now
        assert owned == outcome.after


def test_lag_peaks_after_the_events_and_is_drained_when_all_of_it_was_handled() -> None:
    crash = lived(made(events=[{"at": "20s", "crash": "c2"}]))
    found = lag_peak(crash)
    assert found is not None
    # Two queues at 10 records a second wait for a session of 45 s that began with the last heartbeat.
    assert 2 * 10 * 41 < found.peak < 2 * 10 * 50 + 40
    assert 60_000 < found.at < 75_000
    assert found.drain is not None
    assert found.drain < 10_000


def test_what_nobody_reads_at_the_end_is_not_drained_and_without_load_there_is_no_lag() -> None:
    deserted = lag_peak(lived(made(events=[{"at": "20s", "crash": "c1"}, {"at": "20s", "crash": "c2"}])))
    assert deserted is not None
    assert deserted.drain is None
    assert lag_peak(lived(made(load={"produce": "0/s"}))) is None
