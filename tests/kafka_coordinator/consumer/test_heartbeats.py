"""The heartbeat thread: when it speaks, what it does with each answer, and what it does without one (spec 4.7)."""

from kafka_coordinator.consumer import Freeze, GoOn, StopPolling, Thaw
from kafka_coordinator.consumer.states import STABLE, UNJOINED
from kafka_coordinator.messages import FindCoordinator, Heartbeat, JoinGroup, LeaveGroup
from tests.kafka_coordinator.consumer.scripted import BROKER, Scripted
from tests.rows import rows

T0 = ("t", 0)


def test_heartbeats_begin_when_the_join_is_answered_and_come_every_interval() -> None:
    c = Scripted()
    c.coordinator()
    c.wait(10_000)
    c.joined(1)
    c.wait(2_999)
    assert "Heartbeat" not in c.kinds()
    c.wait(1)
    assert c.beat().generation == 1  # also before the sync is answered
    c.synced(T0)
    c.wait(3_000)
    assert c.take(Heartbeat).member_id == "c1-0"


def test_a_rebalance_heard_of_before_the_sync_is_answered_is_ignored() -> None:
    c = Scripted()
    c.coordinator()
    c.joined(1)
    c.wait(3_000)
    c.beat("REBALANCE_IN_PROGRESS")
    c.synced(T0)
    assert c.state.membership.state == STABLE
    assert not c.state.membership.rejoin_needed


@rows("error", ["COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"])
def test_a_wrong_coordinator_is_looked_up_anew(error: str) -> None:
    c = Scripted()
    c.stable(T0)
    c.wait(3_000)
    c.beat(error)
    assert [closed.peer for closed in c.world.closes] == [BROKER]
    c.coordinator()
    c.wait(100)
    assert c.beat().generation == 1
    assert c.callbacks() == []
    assert c.state.membership.state == STABLE


def test_a_refusal_of_an_earlier_generation_says_nothing() -> None:
    c = Scripted(settings={"partition.assignment.strategy": "cooperative-sticky"})
    c.stable(T0)
    c.wait(3_000)
    c.state.membership.generation = 2  # another one in the meantime
    c.beat("ILLEGAL_GENERATION")
    assert c.state.membership.state == STABLE


def test_a_fenced_instance_ends_the_users_loop_and_leaves_nothing_behind() -> None:
    c = Scripted(instance_id="i1")
    c.stable(T0)
    c.wait(3_000)
    c.beat("FENCED_INSTANCE_ID")
    assert c.callbacks() == [("lost", (T0,))]
    assert c.world.node.is_over
    assert not any(isinstance(message, LeaveGroup) for _, message in c.asked)


@rows("error", ["GROUP_AUTHORIZATION_FAILED", "UNKNOWN_SERVER_ERROR"])
def test_other_refusals_are_heartbeats_that_failed(error: str) -> None:
    c = Scripted()
    c.stable(T0)
    c.wait(3_000)
    c.beat(error)
    assert c.state.user.fatal is None or c.state.user.fatal == ""
    assert c.callbacks() == []
    assert not c.world.node.is_over
    c.wait(100)
    c.beat("NONE")  # the next one comes after the backoff


def test_silence_for_the_session_timeout_makes_it_look_for_the_coordinator_and_keep_its_belief() -> None:
    c = Scripted(settings={"request.timeout.ms": 120_000})
    c.stable(T0)
    c.wait(44_999)
    assert "FindCoordinator" not in c.kinds()
    c.wait(1)
    c.take(FindCoordinator)
    assert c.callbacks() == []
    assert c.state.membership.state == STABLE


def test_an_unanswered_heartbeat_ends_the_connection_after_the_request_timeout() -> None:
    c = Scripted()
    c.stable()
    c.wait(3_000)
    c.wait(30_000)
    assert c.world.closes == []
    c.wait(1)
    assert [closed.peer for closed in c.world.closes] == [BROKER]
    assert "FindCoordinator" in c.kinds()


def test_a_failed_heartbeat_is_sent_again_after_a_growing_pause() -> None:
    c = Scripted(brokers=(BROKER, "b2"))
    c.stable(T0)
    c.wait(3_000)
    beats = []
    for _ in range(5):
        c.closed()
        c.coordinator()
        start = c.now
        while "Heartbeat" not in c.kinds():
            c.wait(50)
        beats.append(c.now - start)
    assert beats == [100, 200, 400, 800, 1000]


def test_a_user_who_does_not_poll_is_given_up_after_max_poll_interval() -> None:
    c = Scripted(settings={"max.poll.interval.ms": 20_000, "session.timeout.ms": 10_000})
    c.stable(T0)
    c.command(StopPolling())
    for _ in range(6):
        c.wait(3_000)
        c.beat()
    c.wait(1_999)
    assert "LeaveGroup" not in c.kinds()
    c.wait(1)
    assert c.left().members[0].member_id == "c1-0"
    assert c.callbacks() == []  # it is told at the next poll
    c.wait(50_000)
    assert c.kinds() == []
    c.command(GoOn())
    assert c.callbacks() == [("lost", (T0,))]
    assert c.take(JoinGroup).member_id == ""


def test_a_static_member_that_does_not_poll_falls_silent() -> None:
    c = Scripted(settings={"max.poll.interval.ms": 20_000}, instance_id="i1")
    c.stable(T0)
    c.command(StopPolling())
    for _ in range(6):
        c.wait(3_000)
        c.beat()
    c.wait(60_000)
    assert c.kinds() == []
    assert c.state.membership.state == UNJOINED
    c.command(GoOn())
    assert c.callbacks() == [("lost", (T0,))]
    assert c.take(JoinGroup).member_id == ""


def test_an_answered_join_waits_for_the_user_to_poll() -> None:
    c = Scripted(settings={"partition.assignment.strategy": "cooperative-sticky"})
    c.stable(T0)
    c.hears_of_rebalance()
    c.committed()
    c.command(StopPolling())
    c.joined(2)
    assert c.kinds() == []
    c.command(GoOn())
    assert c.kinds() == ["SyncGroup"]


def test_a_frozen_process_still_believes_when_it_wakes() -> None:
    c = Scripted(rate=10.0)
    c.stable(T0)
    c.command(Freeze())
    c.world.timers.clear()  # the world keeps them back
    c.world.now += 100_000
    c.command(Thaw())
    assert c.belief() == []
    assert c.state.subscription.owned == (T0,)
