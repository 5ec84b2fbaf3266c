"""RocketMQ's example scenarios show what they tell: the claims of each story, with numbers."""

from collections import Counter

import pytest

from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.systems import known_strategies
from compare.running.variants import variants_of
from protocols.facts import Delivered, RebalanceBegan, Transition
from protocols.scenario.reading import read
from tests.compare.running.stories import AVG, EXAMPLES, lived, told

CIRCLE = "rocketmq:AVG_BY_CIRCLE"


def loads(example: str, variant: str = AVG) -> dict[str, int]:
    """How many queues the members have at the end, those of retry topics left out."""
    owners = told(example, variant)["owners"]
    return {member: len([queue for queue in queues if queue[0][0] != "%"]) for member, queues in owners.items()}


def numbers(example: str, member: str, topic: str, at: float, variant: str = AVG) -> list[int]:
    """The numbers of the queues of the topic that the member owned at a time, in seconds."""
    beliefs = lived(example, variant).timeline.beliefs
    return sorted(
        each.queue.number
        for each in beliefs
        if (each.member, each.queue.topic) == (member, topic)
        and each.since <= at * 1000 < (float("inf") if each.until is None else each.until)
    )


def first_of(example: str, member: str, topic: str, number: int, variant: str = AVG) -> float:
    """When the member first owned the queue, in seconds."""
    beliefs = lived(example, variant).timeline.beliefs
    return min(
        each.since / 1000
        for each in beliefs
        if (each.member, each.queue.topic, each.queue.number) == (member, topic, number)
    )


def gaps(example: str, since: float, until: float, variant: str = AVG) -> list[float]:
    """Seconds that queues were without an owner, of gaps that began in this time."""
    found = lived(example, variant).timeline.gaps
    return [(each.until - each.since) / 1000 for each in found if each.until and since <= each.since / 1000 < until]


def doubles(example: str, since: float, until: float) -> list[float]:
    """Seconds that queues had several owners, of times that began in this time."""
    found = lived(example).timeline.doubles
    return [(each.until - each.since) / 1000 for each in found if each.until and since <= each.since / 1000 < until]


def test_four_members_two_topics_leave_two_members_idle() -> None:
    for variant in (AVG, CIRCLE):
        assert loads("four-members-two-topics", variant) == {"c1": 2, "c2": 2, "c3": 0, "c4": 0}


@pytest.mark.parametrize("variant", [AVG, CIRCLE, "kafka:range"])
def test_the_remainder_goes_one_each_to_the_first_members(variant: str) -> None:
    assert loads("ten-eight-five", variant) == {
        "t1": 4,
        "t2": 3,
        "t3": 3,
        "e1": 3,
        "e2": 3,
        "e3": 2,
        "f1": 3,
        "f2": 2,
    }
    assert told("ten-eight-five", variant)["moves"] == 2


def test_avg_cuts_blocks_and_avg_by_circle_deals() -> None:
    assert numbers("ten-eight-five", "t1", "Ten", 59) == [0, 1, 2, 3]
    assert numbers("ten-eight-five", "t1", "Ten", 59, CIRCLE) == [0, 3, 6, 9]
    assert numbers("ten-eight-five", "f1", "Five", 59) == [0, 1, 2, 3, 4]


def test_a_route_reaches_members_one_after_the_other_and_queues_that_never_stopped_suffer() -> None:
    alive = [
        (each.until or 0) - each.since
        for each in lived("broker-down").timeline.gaps
        if each.queue.broker == "broker-b" and 65_000 <= each.since < 200_000
    ]
    assert 15_000 < max(alive) < 50_000
    assert sum(doubles("broker-down", 200, 250)) > 30
    assert told("broker-down")["redelivered"] > 0
    assert 0 < told("broker-down")["settle_s"] <= 50 + 2


def test_a_join_leaves_moving_queues_without_an_owner_for_a_second() -> None:
    at_once = gaps("two-owners-at-a-join", 30, 60)
    assert len(at_once) == 6
    assert all(0.9 < each < 1.1 for each in at_once)
    assert doubles("two-owners-at-a-join", 30, 60) == []


def test_a_member_that_hears_late_owns_beside_the_newcomer() -> None:
    late = doubles("two-owners-at-a-join", 90, 100)
    assert len(late) == 4
    assert all(5 < each < 7 for each in late)
    assert told("two-owners-at-a-join")["redelivered"] == 4 * 6 * 5
    for variant in ("kafka:range", "kafka:cooperative-sticky"):
        assert told("two-owners-at-a-join", variant)["double_owned_queue_s"] == 0


def test_a_slow_member_makes_all_members_of_an_eager_group_wait() -> None:
    waited = [each for each in gaps("two-owners-at-a-join", 90, 100, "kafka:range") if each > 2]
    assert len(waited) >= 6


def test_what_was_done_but_not_told_is_done_again_exactly_two_records() -> None:
    timeline = lived("two-records-twice").timeline
    committed = [each.offset for each in timeline.commits if each.member == "c1"]
    handled = [
        each.fact.end for each in timeline.facts if isinstance(each.fact, Delivered) and each.fact.member == "c1"
    ]
    assert (max(committed), max(handled)) == (8, 10)
    first_of_c2 = min(
        each.fact.first for each in timeline.facts if isinstance(each.fact, Delivered) and each.fact.member == "c2"
    )
    assert first_of_c2 == 8
    assert told("two-records-twice")["redelivered"] == 2


def test_the_burst_grows_with_the_pause() -> None:
    example = "pause-and-burst"
    bursts = {variant: told(example, variant)["burst"] for variant in (AVG, "kafka:range", "kafka:range, session 10s")}
    assert bursts[AVG] > 50
    assert bursts[AVG] > 5 * bursts["kafka:range"] > 5 * bursts["kafka:range, session 10s"]
    # c1 takes over when the other's heartbeats have been missed for long enough.
    assert 100 - 60 < first_taken(example, "kafka:range") - 60 < 49
    assert 90 < first_taken(example, AVG) - 60 < 125


def first_taken(example: str, variant: str) -> float:
    """When c1 first owned a queue that it did not have at 50 s."""
    had = {each.queue for each in lived(example, variant).timeline.beliefs if each.member == "c1" and each.since < 50e3}
    return min(
        each.since / 1000
        for each in lived(example, variant).timeline.beliefs
        if each.member == "c1" and each.queue not in had and each.since > 60e3
    )


def test_only_the_group_whose_commit_was_lost_handles_a_record_again() -> None:
    deliveries = lived("lost-commit").timeline.deliveries
    begun = Counter((each.group, offset) for each in deliveries for offset in range(each.first, each.end))
    assert [record for record, count in begun.items() if count > 1] == [("lossy", 3)]


def test_the_record_counts_the_messages_that_the_network_lost() -> None:
    lost = run_record(lived("lost-commit"))["lost_messages"]
    assert lost == {"UpdateConsumerOffset": 2}, "of its topic and its retry topic"


def test_both_ways_of_resetting_handle_the_minute_again_and_one_stops_the_group_for_ten_seconds() -> None:
    found = [each for each in lived("reset-by-time").timeline.gaps if each.until]
    longest = {
        group: max((each.until or 0) - each.since for each in found if each.group == group)
        for group in ("by-broker", "by-clients")
    }
    assert longest["by-broker"] < 100
    assert 10_000 <= longest["by-clients"] < 10_200
    back = [each for each in lived("reset-by-time").timeline.commits if each.back and each.before]
    assert {each.offset for each in back} == {299}
    assert {each.group for each in back} == {"by-broker", "by-clients"}
    assert told("reset-by-time")["redelivered"] == 2 * 4 * 300


def test_the_first_pull_follows_a_second_and_a_half_after_the_start() -> None:
    def pulls(variant: str) -> list[float]:
        facts = lived("start-to-first-pull", variant).timeline.facts
        return [each.now / 1000 for each in facts if isinstance(each.fact, Transition) and each.fact.after == "PULLING"]

    assert 1.5 < pulls(AVG)[0] < 1.6
    assert pulls("AVG, 4.5")[0] < 0.1
    assert 3 < first_of("start-to-first-pull", "c1", "TopicX", 0, "kafka:range") < 3.1
    # The topic is young: the group begins at its first record, although it asks for the last.
    assert min(each.first for each in lived("start-to-first-pull").timeline.deliveries) == 0


def test_the_first_steps_of_a_client_come_in_order() -> None:
    scenario = read(EXAMPLES / "start-to-first-pull.yaml", known_strategies())
    (one,) = variants_of(scenario, (AVG,))
    trace = run_variant(one, tracing=True).timeline.trace
    assert trace is not None
    sent = [type(each.message).__name__ for each in trace.messages if each.sender == "c1"]
    wanted = ["GetRouteInfo", "HeartBeat", "GetConsumerListByGroup", "QueryConsumerOffset", "PullMessage"]
    firsts = [sent.index(kind) for kind in wanted]
    assert firsts == sorted(firsts)


def test_a_notice_to_one_group_rebalances_the_other_of_the_process() -> None:
    example = "two-groups-one-process"
    assert 92 < first_of(example, "p1", "payments", 3) < 92.2
    assert 95 < first_of(example, "i1", "invoices", 3) < 112
    began = [
        (each.fact.member, each.fact.trigger)
        for each in lived(example).timeline.facts
        if isinstance(each.fact, RebalanceBegan) and each.now > 92_000
    ]
    assert ("p1", "member list changed at broker-a") in began


def test_members_with_different_subscriptions_leave_half_of_each_topic_to_nobody() -> None:
    example = "different-subscriptions"
    assert numbers(example, "c1", "TopicX", 100) == [0, 1, 2, 3]
    assert numbers(example, "c2", "TopicY", 100) == [4, 5, 6, 7]
    assert told(example)["fairness"]["unowned_queues"] == 8
    assert loads(example, "kafka:range") == {"c1": 8, "c2": 8}


def test_every_heartbeat_of_a_mixed_group_rebalances_everybody() -> None:
    timeline = lived("different-subscriptions").timeline
    began = [
        each.now
        for each in timeline.facts
        if isinstance(each.fact, RebalanceBegan) and "member list changed" in each.fact.trigger and each.now > 5_000
    ]
    # Four rounds of heartbeats in two minutes, each followed by passes of both members.
    assert len(began) >= 2 * 3
    failed = [each for each in timeline.facts if isinstance(each.fact, Transition) and each.fact.event == "pull failed"]
    assert len(failed) > 20


def test_mixed_strategies_own_two_queues_twice_and_two_never_until_the_last_is_restarted() -> None:
    example = "mixed-strategies"
    assert numbers(example, "c1", "TopicX", 120) == [0, 1, 2, 3]
    assert numbers(example, "c2", "TopicX", 120) == [1, 3, 5, 7]
    assert numbers(example, "c1", "TopicX", 200) == [0, 2, 4, 6]
    assert numbers(example, "c2", "TopicX", 200) == [1, 3, 5, 7]
    assert 2 * 117 < told(example)["double_owned_queue_s"] < 2 * 125
    assert 117 < told(example)["longest_gap_s"] < 120


def test_two_containers_with_one_client_id_read_the_same_half() -> None:
    example = "same-client-id"
    owners = told(example)["owners"]
    halves = [sorted(queue for queue in queues if queue[0] == "TopicX") for queues in owners.values()]
    assert halves[0] == halves[1] == [["TopicX", "broker-a", number] for number in range(4)]
    assert told(example)["fairness"]["unowned_queues"] == told(example)["fairness"]["double_owned_queues"] == 4
    assert told(example)["redelivered"] > 4 * 100
    assert set(loads(example, "kafka:range").values()) == {4}


def test_the_locks_of_a_killed_orderly_owner_block_its_queues() -> None:
    example = "killed-orderly-owner"
    assert 40 < told(example, "orderly")["longest_gap_s"] < 61
    assert 51 < told(example, "orderly")["longest_gap_s"] < 53
    assert told(example, "concurrently")["longest_gap_s"] < 2
    assert 42 < told(example, "kafka:range")["longest_gap_s"] < 49


def test_a_frozen_client_wakes_and_writes_an_old_offset_back() -> None:
    example = "frozen-client"
    timeline = lived(example).timeline
    back = [each for each in timeline.commits if each.back]
    assert {(each.member, each.offset) for each in back if each.at < 244_000} == {("c2", 629)}
    assert all(each.before is not None and each.before > 2000 and 243_000 < each.at < 243_100 for each in back)
    assert 2 * 59 < told(example)["double_owned_queue_s"] < 2 * 62
    taken = min(each.since for each in timeline.beliefs if each.member == "c1" and each.since > 63_000)
    assert 100 < (taken - 63_000) / 1000 < 125
    refused = {each.error for each in lived(example, "kafka:range").timeline.commits if each.error}
    assert refused == {"UNKNOWN_MEMBER_ID"}


def test_old_generations_are_refused_by_kafka_and_unknown_to_rocketmq() -> None:
    back = [each for each in lived("stale-commit").timeline.commits if each.back]
    assert [(each.offset, each.error) for each in back] == [(5, ""), (5, "")]


def test_a_member_that_stops_polling_keeps_its_queues_in_rocketmq() -> None:
    found = told("stops-polling")
    assert (found["moves"], found["double_owned_queue_s"], found["longest_gap_s"]) == (0, 0, 0)
    stopped = [
        each
        for each in lived("stops-polling").timeline.facts
        if isinstance(each.fact, Delivered) and each.fact.member == "c1" and 31_000 < each.now < 89_000
    ]
    assert stopped == []


def test_every_restart_shares_anew_twice_in_rocketmq() -> None:
    found = told("rolling-restart")
    assert found["rebalances"] == 1 + 2 * 4
    assert 0 < found["double_owned_queue_s"] < 10
    assert found["longest_gap_s"] < 2
