"""A member of the consumer protocol whose loop and listener are the user's own (`consumer.by_hand`)."""

from kafka_coordinator.consumer import Close, Subscribe
from kafka_coordinator.consumer.commands import BeginPoll, EndPoll, ListenerReturned
from kafka_coordinator.consumer.kip848.states import FATAL, PREPARE_LEAVING, RECONCILING, STABLE, STALE, UNSUBSCRIBED
from kafka_coordinator.messages import ConsumerGroupHeartbeat
from tests.kafka_coordinator.consumer.kip848.scripted import ScriptedMember
from tests.rows import rows

A, B = ("t", 0), ("t", 1)


def begun() -> ScriptedMember:
    """A stable member that owns A and B; its user is in poll()."""
    member = ScriptedMember(by_hand=True)
    member.command(BeginPoll())
    member.metadata()
    member.coordinator()
    member.beats(1, (A, B))
    member.command(ListenerReturned())
    member.beats()
    member.offsets(0)
    assert member.callbacks() == [("assigned", (A, B))]
    assert member.member_state == STABLE
    return member


def test_nothing_happens_before_the_first_poll() -> None:
    member = ScriptedMember(by_hand=True)
    member.metadata()
    assert member.member_state == UNSUBSCRIBED
    assert member.kinds() == []
    member.command(BeginPoll())
    assert member.kinds() == ["FindCoordinator"]


def test_a_target_is_acknowledged_when_both_listeners_have_returned() -> None:
    member = begun()
    member.next_beat()
    member.beats(1, (A,))
    member.committed()
    member.committed()
    assert member.callbacks() == [("revoked", (B,))]
    member.command(ListenerReturned())
    assert member.callbacks() == [("assigned", ())]
    assert member.member_state == RECONCILING
    assert member.kinds() == []
    member.command(ListenerReturned())
    assert member.take(ConsumerGroupHeartbeat).owned == (A,)


def test_a_listener_that_takes_longer_than_the_poll_interval_ends_the_membership() -> None:
    member = begun()
    member.next_beat()
    member.beats(1, (A,))
    member.committed()
    member.committed()
    for _ in range(59):
        member.next_beat()
        member.beats()
    member.next_beat()
    assert member.take(ConsumerGroupHeartbeat).member_epoch == -1
    assert member.member_state == STALE
    member.callbacks()
    member.command(ListenerReturned())
    assert member.callbacks() == [("lost", (A, B))]
    member.command(ListenerReturned())
    assert member.take(ConsumerGroupHeartbeat).member_epoch == 0


def test_nothing_is_given_up_between_two_polls() -> None:
    member = begun()
    member.command(EndPoll())
    member.next_beat()
    member.beats(1, (A,))
    assert member.callbacks() == []
    member.command(BeginPoll())
    member.committed()
    assert member.callbacks() == [("revoked", (B,))]


@rows(("error", "state"), [("FENCED_MEMBER_EPOCH", UNSUBSCRIBED), ("INVALID_REQUEST", FATAL)])
def test_who_is_thrown_out_while_it_leaves_sends_no_last_heartbeat(error: str, state: str) -> None:
    member = begun()
    member.command(Subscribe(()))
    assert member.member_state == PREPARE_LEAVING
    member.next_beat()
    member.beats(error=error)
    assert member.member_state == state
    member.command(ListenerReturned())
    assert member.callbacks() == [("revoked", (A, B))]
    assert "ConsumerGroupHeartbeat" not in member.kinds()


def test_close_waits_for_the_listener() -> None:
    member = begun()
    member.command(Close())
    member.committed()
    assert not member.world.node.is_over
    member.command(ListenerReturned())
    assert member.beats(-1).member_epoch == -1
    assert member.world.node.is_over
