"""Commits, positions and what is read: by the clock, before a rebalance, by the user (spec 4.7, 4.9)."""

from kafka_coordinator.consumer import CommitNow
from kafka_coordinator.consumer.states import STABLE
from protocols.facts import Noted
from tests.kafka_coordinator.consumer.scripted import Scripted
from tests.rows import rows

T0, T1 = ("t", 0), ("t", 1)


def notes(c: Scripted) -> list[str]:
    return [fact.text for fact in c.told if isinstance(fact, Noted)]


def test_a_rebalance_waits_until_the_records_in_hand_are_handled() -> None:
    settings = {"max.poll.records": 20, "enable.auto.commit": False}
    c = Scripted(rate=1.0, handle=100.0, settings=settings, start=100_000.0)
    c.stable(T0)  # 100 records wait: polls return 20, handled in 2 s
    c.wait(3_000)
    c.beat("REBALANCE_IN_PROGRESS")
    c.wait(999)
    assert c.callbacks() == []
    c.wait(1)
    assert c.callbacks() == [("revoked", (T0,))]


def test_records_that_come_faster_than_they_are_handled_end_the_membership_later() -> None:
    settings = {"max.poll.interval.ms": 10_000, "enable.auto.commit": False, "session.timeout.ms": 400_000}
    c = Scripted(rate=11.0, handle=100.0, settings=settings)
    c.stable(T0)
    while "LeaveGroup" not in c.kinds() and c.now < 400_000:
        c.wait(1_000)
        if "Heartbeat" in c.kinds():
            c.beat()
    assert 20_000 < c.now < 400_000


@rows("error", ["COORDINATOR_LOAD_IN_PROGRESS", "UNKNOWN_TOPIC_OR_PARTITION"])
def test_an_automatic_commit_is_tried_again_after_a_pause(error: str) -> None:
    c = Scripted()
    c.stable(T0)
    c.wait(5_000)
    c.committed(error)
    c.wait(100)
    assert c.committed().offsets == ((T0, 0, ""),)


@rows("error", ["COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "REQUEST_TIMED_OUT"])
def test_a_commit_at_the_wrong_broker_leads_to_another_lookup(error: str) -> None:
    c = Scripted()
    c.stable(T0)
    c.wait(5_000)
    c.committed(error)
    c.coordinator()
    c.wait(100)
    assert "OffsetCommit" in c.kinds()


def test_a_fenced_commit_is_fatal() -> None:
    c = Scripted(instance_id="i1")
    c.stable(T0)
    c.wait(5_000)
    c.committed("FENCED_INSTANCE_ID")
    assert c.state.user.fatal == "FENCED_INSTANCE_ID"


def test_the_user_commits_positions_offsets_and_in_the_name_of_another_generation() -> None:
    c = Scripted()
    c.stable(T0, generation=3, offset=4)
    c.command(CommitNow())
    assert c.committed().offsets == ((T0, 4, ""),)
    c.command(CommitNow(((T1, 9),), 2))
    stale = c.committed("ILLEGAL_GENERATION")
    assert (stale.offsets, stale.generation) == (((T1, 9, ""),), 2)
    assert notes(c) == ["c1's commit: commit failed: ILLEGAL_GENERATION"]
    assert c.state.membership.state == STABLE  # it was not this membership's generation


def test_the_user_is_told_of_a_commit_that_is_refused() -> None:
    c = Scripted()
    c.stable(T0)
    c.command(CommitNow())
    c.committed("OFFSET_METADATA_TOO_LARGE")
    c.hears_of_rebalance()
    c.committed()
    c.command(CommitNow(((T0, 1),)))
    assert notes(c) == ["c1's commit: OFFSET_METADATA_TOO_LARGE", "c1's commit: rebalance in progress"]


def test_the_users_commit_is_tried_again_until_its_time_is_over() -> None:
    c = Scripted(settings={"default.api.timeout.ms": 250, "enable.auto.commit": False})
    c.stable(T0)
    c.command(CommitNow())
    for _ in range(3):
        c.committed("COORDINATOR_LOAD_IN_PROGRESS")
        c.wait(100)
    assert notes(c) == ["c1's commit: retriable"]


@rows("error", ["COORDINATOR_LOAD_IN_PROGRESS", "UNSTABLE_OFFSET_COMMIT", "NOT_COORDINATOR"])
def test_committed_offsets_are_asked_for_again(error: str) -> None:
    c = Scripted()
    c.metadata()
    c.coordinator()
    c.joined(1)
    c.synced(T0)
    c.offsets(error=error)
    if error == "NOT_COORDINATOR":
        c.coordinator()
    c.wait(100)
    c.offsets(3)
    assert c.state.subscription.positions[T0].start == 3


def test_offsets_that_cannot_be_read_end_the_users_loop() -> None:
    c = Scripted()
    c.coordinator()
    c.joined(1)
    c.synced(T0)
    c.offsets(error="GROUP_AUTHORIZATION_FAILED")
    assert c.state.user.fatal == "GROUP_AUTHORIZATION_FAILED"
