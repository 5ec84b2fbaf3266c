"""What a consumer does when a join or a sync is refused, or gets lost (spec 4.4, 4.7)."""

from kafka_coordinator.consumer.states import PREPARING_REBALANCE, UNJOINED
from kafka_coordinator.messages import JoinGroup
from protocols.facts import Noted
from tests.kafka_coordinator.consumer.scripted import Scripted
from tests.rows import rows


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
