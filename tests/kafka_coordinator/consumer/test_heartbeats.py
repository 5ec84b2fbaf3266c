"""The heartbeat thread: when it speaks, what it does with each answer, and what it does without one (spec 4.7)."""

from kafka_coordinator.consumer.states import STABLE
from kafka_coordinator.messages import FindCoordinator, LeaveGroup
from tests.kafka_coordinator.consumer.scripted import BROKER, Scripted
from tests.rows import rows

T0 = ("t", 0)


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
