"""How a consumer joins (spec 4.4, 4.5, 4.7), and what it does when a join or a sync is refused or gets lost."""

from kafka_coordinator.consumer import Subscribe
from kafka_coordinator.consumer.states import PREPARING_REBALANCE, UNJOINED
from kafka_coordinator.messages import JoinGroup
from protocols.facts import Noted
from tests.kafka_coordinator.consumer.scripted import Scripted
from tests.rows import rows

EAGER = {"partition.assignment.strategy": "range"}
COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}
T0, T1, T2, T3 = (("t", number) for number in range(4))


def test_cooperative_gives_up_unsubscribed_topics_before_it_joins() -> None:
    c = Scripted(settings=COOPERATIVE, existing={"t": 2, "u": 1})
    c.command(Subscribe(("t", "u")))
    c.stable(T0, ("u", 0))
    c.command(Subscribe(("t",)))
    c.committed()
    assert c.callbacks() == [("revoked", (("u", 0),))]
    assert c.belief() == [(T0,)]


def test_a_failed_commit_does_not_stop_the_rebalance() -> None:
    c = Scripted(settings=EAGER)
    c.stable(T0)
    c.hears_of_rebalance()
    c.committed("UNKNOWN_TOPIC_OR_PARTITION")  # retriable
    assert c.callbacks() == []
    c.wait(100)
    c.committed("OFFSET_METADATA_TOO_LARGE")
    assert c.callbacks() == [("revoked", (T0,))]


def test_the_sticky_leader_is_told_what_members_had() -> None:
    c = Scripted(settings={"partition.assignment.strategy": "sticky"})
    c.stable(T3, T0)
    c.hears_of_rebalance()
    c.committed()
    joined = c.joined(2)
    assert joined.protocols[0][1].user_data == ((T3, T0), 1)
    assert joined.protocols[0][1].owned == ()


def test_topics_that_nobody_subscribed_to_are_refused() -> None:
    c = Scripted()
    c.metadata()
    c.coordinator()
    c.joined(1)
    c.synced(("other", 0))
    assert c.callbacks() == [("revoked", ())]  # of the rejoin, nothing was assigned
    assert c.kinds() == ["JoinGroup"]


def test_a_join_waits_longer_than_other_requests() -> None:
    c = Scripted()
    c.metadata()
    c.coordinator()
    c.wait(305_000)
    assert "FindCoordinator" not in c.kinds()
    c.wait(1)
    assert "FindCoordinator" in c.kinds()


def test_a_pattern_is_matched_against_fresh_metadata_before_the_join() -> None:
    c = Scripted(existing={"t1": 1, "t2": 1, "other": 3}, pattern="t.", settings=EAGER)
    c.coordinator()
    assert c.kinds() == ["MetadataRequest"]
    c.metadata()
    assert c.take(JoinGroup).protocols[0][1].topics == ("t1", "t2")


@rows(
    ("error", "expected"),
    [
        ("REBALANCE_IN_PROGRESS", ["JoinGroup"]),
        ("UNKNOWN_MEMBER_ID", ["JoinGroup"]),
        ("COORDINATOR_LOAD_IN_PROGRESS", []),
        ("COORDINATOR_NOT_AVAILABLE", ["FindCoordinator"]),
        ("NOT_COORDINATOR", ["FindCoordinator"]),
    ],
)
def test_a_refused_join_is_tried_again(error: str, expected: list[str]) -> None:
    c = Scripted()
    c.metadata()
    c.coordinator()
    c.joined(error=error, member_id="")
    assert c.kinds() == expected
    if "FindCoordinator" in expected:
        c.coordinator()
        assert c.kinds() == []  # the pause lasts
    c.wait(100)
    assert c.kinds() == ["JoinGroup"]
    assert c.state.membership.state == PREPARING_REBALANCE


@rows(
    "error",
    [
        "FENCED_INSTANCE_ID",
        "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_SESSION_TIMEOUT",
        "INVALID_GROUP_ID",
        "GROUP_AUTHORIZATION_FAILED",
        "GROUP_MAX_SIZE_REACHED",
        "UNSUPPORTED_VERSION",
    ],
)
def test_other_refusals_of_a_join_end_the_users_loop(error: str) -> None:
    c = Scripted()
    c.metadata()
    c.coordinator()
    c.joined(error=error)
    assert [fact for fact in c.told if isinstance(fact, Noted)] == [Noted(f"poll() of c1 throws: {error}")]
    assert c.world.node.is_over


@rows(
    ("error", "generation", "member_id", "expected"),
    [
        ("REBALANCE_IN_PROGRESS", 1, "c1-0", ["JoinGroup"]),
        ("UNKNOWN_MEMBER_ID", -1, "", ["JoinGroup"]),
        ("ILLEGAL_GENERATION", -1, "c1-0", ["JoinGroup"]),
        ("COORDINATOR_NOT_AVAILABLE", 1, "c1-0", ["FindCoordinator"]),
        ("NOT_COORDINATOR", 1, "c1-0", ["FindCoordinator"]),
    ],
)
def test_a_refused_sync_leads_to_a_join(error: str, generation: int, member_id: str, expected: list[str]) -> None:
    c = Scripted()
    c.metadata()
    c.coordinator()
    c.joined(1)
    c.synced(error=error)
    assert c.kinds() == expected
    assert (c.state.membership.generation, c.state.membership.member_id) == (generation, member_id)
    if "FindCoordinator" in expected:
        c.coordinator()
    c.wait(100)
    assert c.take(JoinGroup).member_id == member_id


@rows("error", ["FENCED_INSTANCE_ID", "GROUP_AUTHORIZATION_FAILED", "UNKNOWN_SERVER_ERROR"])
def test_other_refusals_of_a_sync_end_the_users_loop(error: str) -> None:
    c = Scripted()
    c.coordinator()
    c.joined(1)
    c.synced(error=error)
    assert c.state.user.fatal == error
    assert c.state.user.closing


def test_a_member_forgotten_while_it_joins_loses_what_it_kept() -> None:
    c = Scripted(settings={"partition.assignment.strategy": "cooperative-sticky"})
    c.stable(("t", 0))
    c.hears_of_rebalance()
    c.committed()
    c.joined(error="UNKNOWN_MEMBER_ID")
    assert c.callbacks() == [("lost", (("t", 0),))]
    assert c.take(JoinGroup).member_id == ""


def test_a_lost_connection_during_the_join_is_survived() -> None:
    c = Scripted()
    c.metadata()
    c.coordinator()
    c.closed()
    assert c.state.membership.state == UNJOINED
    c.coordinator()
    assert c.kinds() == []
    c.wait(100)
    assert c.kinds() == ["JoinGroup"]
