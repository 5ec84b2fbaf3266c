"""The example scenarios show what they tell: the claims of each story, in the order of the stories."""

from itertools import pairwise
from typing import Any

import pytest

from compare.running.lag import lag_of, lag_peak
from compare.running.production import productions
from protocols.facts import Noted, StandsStill, TimedOut
from protocols.java import Queue
from tests.compare.running.stories import lived, told

EAGER = ("kafka:range", "kafka:roundrobin", "kafka:sticky")
CLASSIC = (*EAGER, "kafka:cooperative-sticky")


def loads(example: str, variant: str) -> list[int]:
    """How many queues the members have at the end, in the order of their names."""
    return [len(queues) for _, queues in sorted(told(example, variant)["owners"].items())]


def test_range_leaves_half_of_four_members_idle_and_the_others_do_not() -> None:
    assert loads("four-members-two-topics", "kafka:range") == [2, 2, 0, 0]
    for variant in CLASSIC[1:]:
        assert loads("four-members-two-topics", variant) == [1, 1, 1, 1]


def test_a_crash_stops_its_queues_for_a_session_and_a_leave_for_moments() -> None:
    for variant in CLASSIC:
        found = told("join-crash-leave-commit", variant)
        assert 42 <= found["longest_gap_s"] <= 46
        assert found["settle_s"] < 5
        assert 0 < found["redelivered"] < 200
        assert [each["cause"] for each in found["causes"] if each["generation"] == 2] == ["c3 joins"]


def test_commits_that_claim_an_older_generation_are_refused() -> None:
    example = lived("stale-commit", "kafka:range")
    ended = [each.generation for each in example.timeline.rebalances]
    assert ended == [1, 2, 3]
    commits = [each for each in example.timeline.commits if each.error]
    assert [(each.generation, each.offset, each.error) for each in commits] == [
        (1, 5, "ILLEGAL_GENERATION"),
        (2, 5, "ILLEGAL_GENERATION"),
    ]


def test_partitions_that_move_cooperatively_wait_a_heartbeat_interval() -> None:
    eager, cooperative, quick = (
        told("eager-and-cooperative", variant)
        for variant in ("kafka:sticky", "kafka:cooperative-sticky", "cooperative-sticky, heartbeat 1s")
    )
    assert eager["longest_gap_s"] < 0.1
    assert 2.9 <= cooperative["longest_gap_s"] <= 3.2
    assert 0.9 <= quick["longest_gap_s"] <= 1.2
    stopped = {tuple(queue) for queue in gaps(eager)}, {tuple(queue) for queue in gaps(cooperative)}
    assert (len(stopped[0]), len(stopped[1])) == (6, 2)


def gaps(found: dict[str, Any]) -> list[list[Any]]:
    """Queues that had an owner, none, and one again."""
    intervals = found["timeline"]
    return [
        one["queue"]
        for one, after in pairwise(intervals)
        if one["queue"] == after["queue"] and one["to_s"] is not None and one["to_s"] < after["from_s"]
    ]


def test_a_member_that_stops_polling_believes_on_while_others_own() -> None:
    for variant in ("kafka:range", "kafka:cooperative-sticky"):
        found = told("stops-polling", variant)
        assert 2 * 29 <= found["double_owned_queue_s"] <= 2 * 31
        assert found["redelivered"] > 0
        assert loads("stops-polling", variant) == [2, 2]


def test_a_new_coordinator_goes_on_with_what_the_log_holds() -> None:
    for variant in ("kafka:range", "kafka:cooperative-sticky"):
        found = told("coordinator-fails-over", variant)
        assert loads("coordinator-fails-over", variant) == [2, 2, 2]
        (second, *_) = [each for each in found["causes"] if each["generation"] == 2]
        assert (second["cause"], second["began_s"] < 60.5, second["ended_s"] > 69.5) == ("c3 joins", True, True)
        assert found["longest_gap_s"] < 60.5 + 9 + 6 - 60  # of a member that had given up before the kill


def test_an_upgraded_group_keeps_its_partitions_from_then_on() -> None:
    found = told("upgrade-to-cooperative", "kafka:range")
    kept = [each for each in found["timeline"] if each["member"] in ("c1", "c2") and each["to_s"] is None]
    assert {each["member"] for each in kept} == {"c1", "c2"}
    assert all(each["from_s"] < 200 for each in kept)


def test_every_watcher_of_zookeeper_acts_at_a_crash_for_itself() -> None:
    found = told("zookeeper-herd", "kafka-zookeeper:range")
    assert sorted(loads("zookeeper-herd", "kafka-zookeeper:range")) == [2] * 6
    assert 0 < found["longest_gap_s"] < 12


@pytest.mark.parametrize("variant", ["kafka:range", "kafka:cooperative-sticky"])
def test_a_record_that_nobody_can_handle_takes_one_member_after_the_other_out_of_the_group(variant: str) -> None:
    run = lived("poison-record", variant)
    still = [(each.now, each.fact) for each in run.timeline.facts if isinstance(each.fact, StandsStill)]
    assert {(fact.queue, fact.offset) for _, fact in still} == {(Queue("orders", "", 2), 120)}
    stuck = [(at, fact.member) for at, fact in still]
    left = [(each.now, each.fact.member) for each in run.timeline.facts if isinstance(each.fact, TimedOut)]
    assert sorted(member for _, member in stuck) == ["c1", "c2", "c3", "c4"]
    assert [member for _, member in left] == [member for _, member in stuck]
    assert [after - before for (before, _), (after, _) in zip(stuck, left, strict=True)] == [30_000.0] * 4
    assert told("poison-record", variant)["rebalances"] == 5
    late = {each.queue.number: each.records for each in lag_of(run, productions(run), [240_000.0])}
    assert min(late.values()) > 100
    assert late[2] == max(late.values()) == 480 + 1 - 120
    handled = max(each.end for each in run.timeline.counted_deliveries if each.queue.number == 2)
    assert (handled, run.timeline.passed_over) == (120, ())
    # What was handled since the last commit of those who left comes again.
    assert told("poison-record", variant)["redelivered"] > 0


def test_in_rocketmq_only_that_record_is_late_and_dies() -> None:
    run = lived("poison-record", "rocketmq:AVG")
    tried = [round(each.until / 1000) for each in run.timeline.passed_over]
    assert tried == [60, 70, 100]
    assert [each.fact.text for each in run.timeline.facts if isinstance(each.fact, Noted)] == [
        "record 120 of orders-broker-a-2 is given up by shop"
    ]
    found = told("poison-record", "rocketmq:AVG")
    assert (found["rebalances"], found["redelivered"], found["longest_gap_s"]) == (1, 0, 0)
    peak = lag_peak(run, productions(run))
    assert peak is not None
    assert peak.peak < 20
    assert peak.drain is not None


def test_an_ordered_queue_stands_still_and_the_others_do_not() -> None:
    run = lived("poison-record", "rocketmq:AVG orderly")
    late = [each.records for each in lag_of(run, productions(run), [240_000.0])]
    assert max(sorted(late)[:7]) <= 1
    assert max(late) == 480 + 1 - 120
    assert told("poison-record", "rocketmq:AVG orderly")["rebalances"] == 1
