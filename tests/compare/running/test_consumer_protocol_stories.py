"""Example scenarios with a variant of the consumer protocol (KIP-848): what their stories claim of it."""

from typing import Any

from protocols.facts import Noted
from tests.compare.running.stories import lived, told

VARIANT = "kafka:uniform"


def moments(example: str, variant: str = VARIANT) -> dict[float, dict[str, Any]]:
    """Second to what the events of that time led to."""
    return {each["at_s"]: dict(each) for each in told(example, variant)["after"]}


def test_a_partition_that_moves_waits_for_a_heartbeat_and_the_others_never_pause() -> None:
    joined = moments("eager-and-cooperative")[30.0]
    assert (joined["paused_queues"], joined["moves"], joined["rebalances"]) == (2, 2, 1)
    assert 4.9 <= joined["longest_gap_s"] <= 5.1


def test_at_a_slow_join_only_what_moves_pauses() -> None:
    slow = {variant: moments("two-owners-at-a-join", variant)[90.0] for variant in ("kafka:range", VARIANT)}
    assert slow["kafka:range"]["paused_queues"] == 12
    assert slow[VARIANT]["paused_queues"] == slow[VARIANT]["moves"] == 4
    assert told("two-owners-at-a-join", VARIANT)["double_owned_queue_s"] == 0


def test_a_restart_stops_two_partitions_twice_and_a_static_member_gets_its_own_back() -> None:
    dynamic, static = moments("rolling-restart"), moments("rolling-restart", f"{VARIANT}+static")
    restarts = [at for at in dynamic if at > 0]
    assert len(restarts) == 8
    assert [dynamic[at]["rebalances"] for at in restarts] == [1] * 8
    assert all(dynamic[at]["paused_queues"] == 2 for at in restarts)
    assert all(static[at]["rebalances"] == static[at]["moves"] == 0 for at in restarts)
    assert [static[at]["paused_queues"] for at in restarts] == [2, 0] * 4


def test_the_newcomer_with_an_instance_id_in_use_is_refused_and_nothing_is_handled_twice() -> None:
    facts = lived("duplicate-instance-id", VARIANT).timeline.facts
    noted = [(round(each.now / 1000), each.fact.text) for each in facts if isinstance(each.fact, Noted)]
    assert noted == [(at, "poll() of c3 throws: UNRELEASED_INSTANCE_ID") for at in (60, 120)]
    found = told("duplicate-instance-id", VARIANT)
    assert found["redelivered"] == 0
    assert {member: len(queues) for member, queues in found["owners"].items()} == {"c1": 2, "c2": 2, "c3": 0}


def test_a_commit_with_an_older_epoch_than_that_of_its_partition_is_refused() -> None:
    commits = [each for each in lived("stale-commit", VARIANT).timeline.commits if each.offset == 5]
    assert [(each.generation, each.error) for each in commits] == [(1, "STALE_MEMBER_EPOCH"), (2, "")]


def test_a_first_member_waits_for_nobody() -> None:
    assert (
        told("start-to-first-pull", VARIANT)["settle_s"]
        < 0.1
        < 3
        <= told("start-to-first-pull", "kafka:range")["settle_s"]
    )


def test_a_join_outlives_the_coordinator_and_only_what_moves_waits() -> None:
    found = moments("coordinator-fails-over")
    assert (found[60.0]["paused_queues"], found[60.5]["paused_queues"]) == (2, 0)
    assert 9 < found[60.0]["longest_gap_s"] < 9 + 5
    again = [each for each in told("coordinator-fails-over", VARIANT)["causes"] if each["began_s"] > 60.5]
    assert again == [], "the epoch of the join is the last one"


def test_the_coordinator_sees_a_new_topic_itself() -> None:
    beliefs = lived("topic-created-later", VARIANT).timeline.beliefs
    created = {each.queue.number: each.since / 1000 for each in beliefs if each.queue.topic == "orders-us"}
    assert sorted(created) == [0, 1, 2, 3]
    assert 95 < max(created.values()) <= 95 + 2 * 5.1
