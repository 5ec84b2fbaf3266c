"""A member of the consumer protocol is fenced, refused, does not poll, leaves (spec 6.5, 6.6, 6.7)."""

from kafka_coordinator import errors
from kafka_coordinator.consumer import CommitNow, GoOn, StopPolling, Subscribe
from kafka_coordinator.consumer.kip848.polling import REACTIONS
from kafka_coordinator.consumer.kip848.states import CONSUMER_PROTOCOL, FATAL, JOINING, STABLE, STALE, UNSUBSCRIBED
from kafka_coordinator.messages import ConsumerGroupHeartbeat
from protocols.facts import Noted, TimedOut
from protocols.state_machine import Edge
from tests.kafka_coordinator.consumer.kip848.scripted import INTERVAL, ScriptedMember
from tests.rows import rows

A, B = ("t", 0), ("t", 1)


def test_a_reconciliation_ends_where_the_member_is_fenced() -> None:
    member = ScriptedMember(rate=10.0, settings={"auto.commit.interval.ms": 60_000})
    member.member(A, B)
    member.next_beat()
    member.beats(1, (A,))
    member.next_beat()
    member.beats(error="UNKNOWN_MEMBER_ID")
    assert member.callbacks() == [("lost", (A, B))]
    member.committed()
    assert member.callbacks() == []
    member.beats(5, (B,))
    assert member.callbacks() == [("assigned", (B,))]


@rows("error", ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"])
def test_another_coordinator_hears_everything_as_soon_as_it_is_known(error: str) -> None:
    member = ScriptedMember()
    member.member(A, epoch=2)
    member.next_beat()
    member.beats(error=error)
    member.coordinator()
    request = member.beats()
    assert (request.member_epoch, request.topics, request.owned) == (2, ("t",), (A,))
    assert member.callbacks() == []


def test_a_coordinator_that_loads_is_asked_again_after_pauses() -> None:
    member = ScriptedMember()
    member.member(A)
    member.next_beat()
    member.committed()
    for pause in (100, 200, 400):
        member.beats(error="COORDINATOR_LOAD_IN_PROGRESS")
        member.wait(pause - 1)
        assert member.kinds() == []
        member.wait(1)
    assert member.beats().owned == (A,)
    member.wait(INTERVAL - 1)
    assert "ConsumerGroupHeartbeat" not in member.kinds()


def test_without_permission_for_a_topic_poll_throws_and_the_member_stays() -> None:
    member = ScriptedMember()
    member.member(A)
    member.next_beat()
    member.beats(error="TOPIC_AUTHORIZATION_FAILED")
    assert member.member_state == STABLE
    assert any(isinstance(fact, Noted) and "throws" in fact.text for fact in member.told)


@rows("error", sorted({name for name in vars(errors) if name.isupper()} - set(REACTIONS) - {"NONE"}))
def test_every_other_error_ends_the_users_loop(error: str) -> None:
    member = ScriptedMember()
    member.member(A)
    member.next_beat()
    member.beats(error=error)
    assert member.callbacks() == [("lost", (A,))]
    assert Noted(f"poll() of c1 throws: {error}") in member.told
    assert member.member_state == FATAL
    assert member.world.node.is_over


@rows(("instance_id", "epoch"), [(None, -1), ("i1", -2)])
def test_whose_user_does_not_poll_leaves_and_joins_anew_at_the_next_poll(instance_id: str | None, epoch: int) -> None:
    member = ScriptedMember(settings={"max.poll.interval.ms": 12_000}, instance_id=instance_id)
    member.member(A)
    member.command(StopPolling())
    for _ in range(2):
        member.next_beat()
        member.beats()
    member.wait(2_000)
    assert member.kinds() == []  # the limit is over, and the thread that sends heartbeats is asleep
    member.next_beat()
    left = member.beats(epoch)
    assert (left.member_epoch, left.instance_id) == (epoch, instance_id)
    assert member.member_state == STALE
    assert any(isinstance(fact, TimedOut) for fact in member.told)
    member.wait(60_000)
    assert member.kinds() == []
    assert member.callbacks() == []
    member.command(GoOn())
    assert member.callbacks() == [("lost", (A,))]
    assert member.take(ConsumerGroupHeartbeat).member_epoch == 0
    assert member.member_state == JOINING


@rows("interval", [5_000, 9_000])
def test_who_polls_again_before_the_next_heartbeat_stays(interval: int) -> None:
    member = ScriptedMember(settings={"max.poll.interval.ms": 12_000})
    member.member(A, interval=interval)
    member.command(StopPolling())
    for _ in range(12_000 // interval):
        member.wait(interval)
        member.beats(interval=interval)
    member.wait(12_001 - member.now)
    member.command(GoOn())
    member.wait(8_000)
    assert member.member_state == STABLE


def test_unsubscribe_revokes_and_leaves_and_a_new_subscription_joins() -> None:
    member = ScriptedMember()
    member.member(A)
    member.command(Subscribe(()))
    assert member.callbacks() == [("revoked", (A,))]
    assert member.beats(-1).member_epoch == -1
    assert member.member_state == UNSUBSCRIBED
    member.next_beat()
    assert member.kinds() == []
    member.command(Subscribe(("t",)))
    assert member.take(ConsumerGroupHeartbeat).member_epoch == 0


def test_the_users_commit_with_an_outdated_epoch_fails() -> None:
    member = ScriptedMember()
    member.member(A)
    member.command(CommitNow())
    member.committed("STALE_MEMBER_EPOCH")
    assert member.state.commits.outcome == "commit failed: STALE_MEMBER_EPOCH"
    assert member.member_state == STABLE


def test_the_answer_to_an_earlier_heartbeat_means_nothing_to_one_who_has_left() -> None:
    member = ScriptedMember()
    member.member(A)
    member.next_beat()
    earlier = member.take(ConsumerGroupHeartbeat)
    member.command(Subscribe(()))
    member.asked.insert(0, ("b1", earlier))
    member.beats(7, (A, B))
    assert member.member_state == UNSUBSCRIBED
    assert member.callbacks() == [("revoked", (A,))]


def test_the_graph_says_who_may_leave_how() -> None:
    for state in (JOINING, STABLE):
        assert Edge(state, "poll timer expired", "", "LEAVING") in CONSUMER_PROTOCOL.edges
