"""Commits, positions and what is read: by the clock, before a rebalance, by the user (spec 4.7, 4.9)."""

from kafka_coordinator.consumer import CommitNow, ReportDelivered
from kafka_coordinator.consumer.states import STABLE
from kafka_coordinator.messages import JoinGroup
from protocols.facts import Delivered, Noted, Position
from tests.kafka_coordinator.consumer.scripted import Scripted
from tests.rows import rows

T0, T1 = ("t", 0), ("t", 1)


def delivered(c: Scripted) -> list[tuple[int, int, float]]:
    return [(fact.first, fact.end, fact.since) for fact in c.told if isinstance(fact, Delivered)]


def notes(c: Scripted) -> list[str]:
    return [fact.text for fact in c.told if isinstance(fact, Noted)]


def test_reading_begins_at_the_committed_offset_or_where_the_reset_says() -> None:
    for reset, offset, at, why in (
        ("earliest", 5, 5, "committed"),
        ("earliest", -1, 0, "first"),
        ("latest", -1, 20, "last"),
    ):
        c = Scripted(rate=10.0, settings={"auto.offset.reset": reset})
        c.wait(2_000)
        c.metadata()
        c.coordinator()
        c.joined(1)
        c.synced(T0)
        c.offsets(offset)
        (position,) = [fact for fact in c.told if isinstance(fact, Position)]
        assert (position.offset, position.why) == (at, why)


def test_what_was_read_is_told_with_the_commit_and_no_record_twice() -> None:
    c = Scripted(rate=10.0)
    c.wait(1_000)
    c.stable(T0)
    c.wait(5_000)
    assert c.committed().offsets == ((T0, 60, ""),)
    c.wait(5_000)
    c.committed()
    assert delivered(c) == [(0, 60, 1_000.0), (60, 110, 6_000.0)]


def test_handling_takes_time_and_partitions_share_it() -> None:
    c = Scripted(rate=100.0, handle=20.0)
    c.wait(10_000)
    c.stable(T0, T1)
    c.wait(4_000)
    c.command(ReportDelivered())
    # 20 ms a record, two partitions: one record every 40 ms each.
    assert delivered(c) == [(0, 100, 10_000.0)] * 2


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


def test_a_poll_that_returns_too_much_ends_the_membership() -> None:
    settings = {"max.poll.interval.ms": 10_000, "max.poll.records": 500, "enable.auto.commit": False}
    c = Scripted(rate=1.0, handle=100.0, settings=settings, start=200_000.0)
    c.stable(T0)  # 200 records wait: the first poll returns them all, 20 s to handle
    for _ in range(3):
        c.wait(3_000)
        c.beat()
    c.wait(1_000)
    c.left()
    c.wait(9_999)
    assert c.callbacks() == []
    c.wait(1)
    assert c.callbacks() == [("lost", (T0,))]
    assert "JoinGroup" in c.kinds()


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


@rows(("error", "member_id"), [("ILLEGAL_GENERATION", "c1-0"), ("UNKNOWN_MEMBER_ID", "")])
def test_a_commit_of_nobodys_member_ends_the_membership(error: str, member_id: str) -> None:
    c = Scripted()
    c.stable(T0)
    c.wait(5_000)
    c.committed(error)
    assert c.callbacks() == [("lost", (T0,))]
    assert c.take(JoinGroup).member_id == member_id


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
