"""A member of the consumer protocol joins and moves to its targets (spec 6.2, 6.7)."""

from kafka_coordinator.consumer import GoOn, StopPolling
from kafka_coordinator.consumer.kip848.states import RECONCILING
from kafka_coordinator.messages import ConsumerGroupHeartbeat
from tests.kafka_coordinator.consumer.kip848.scripted import ScriptedMember

A, B, C, D = [("t", number) for number in range(4)]


def test_a_commit_with_an_outdated_epoch_is_tried_again_with_the_new_one() -> None:
    member = ScriptedMember(rate=10.0, settings={"auto.commit.interval.ms": 60_000})
    member.member(A, B)
    member.next_beat()
    member.beats(1, (A,))
    member.committed("STALE_MEMBER_EPOCH")
    assert member.callbacks() == []
    member.wait(100)
    assert member.committed().generation == 1
    assert member.callbacks() == [("revoked", (B,)), ("assigned", ())]


def test_a_commit_that_fails_for_good_does_not_stop_it() -> None:
    member = ScriptedMember(rate=10.0, settings={"auto.commit.interval.ms": 60_000})
    member.member(A, B)
    member.next_beat()
    member.beats(1, (A,))
    member.committed("UNKNOWN_MEMBER_ID")
    assert member.callbacks() == [("revoked", (B,)), ("assigned", ())]


def test_nothing_moves_while_the_user_does_not_poll_but_heartbeats_go_on() -> None:
    member = ScriptedMember()
    member.member(A, B)
    member.command(StopPolling())
    member.next_beat()
    member.beats(1, (A,))
    for _ in range(3):
        member.next_beat()
        assert member.beats().owned is None
    assert member.callbacks() == []
    assert member.belief() == []
    member.command(GoOn())
    member.committed()
    assert member.callbacks() == [("revoked", (B,)), ("assigned", ())]


def test_a_topic_that_the_client_does_not_know_waits_for_metadata() -> None:
    member = ScriptedMember(existing={"t": 4}, topics=("t", "u"))
    member.metadata()
    member.coordinator()
    member.beats(1, (A, ("u", 0)))
    assert member.callbacks() == [("assigned", (A,))]
    assert member.beats().owned == (A,)
    assert member.member_state == RECONCILING
    member.wait(100)
    member.metadata(u=1)
    assert member.callbacks() == [("assigned", (("u", 0),))]
    assert member.take(ConsumerGroupHeartbeat).owned == (A, ("u", 0))


def test_the_users_thread_may_wait_for_records_before_it_looks() -> None:
    member = ScriptedMember(poll_wait=80, choose=lambda label, options: options[-1])
    member.metadata()
    member.coordinator()
    member.beats(1, (A,))
    member.wait(79)
    assert member.callbacks() == []
    member.wait(1)
    assert member.callbacks() == [("assigned", (A,))]
