"""Who notices what of topics that change (spec 4.8), and how a consumer finds a broker that answers."""

from kafka_coordinator.consumer import StopPolling, Subscribe
from kafka_coordinator.messages import CoordinatorFound, FindCoordinator, JoinGroup
from tests.kafka_coordinator.consumer.scripted import Scripted, member
from tests.rows import rows

T0 = ("t", 0)
EAGER = {"partition.assignment.strategy": "range", "metadata.max.age.ms": 10_000, "enable.auto.commit": False}


def test_a_subscription_that_changes_while_it_joins_is_joined_afterwards() -> None:
    c = Scripted(settings=EAGER)
    c.metadata()
    c.coordinator()
    c.command(Subscribe(("u",)))
    assert c.joined(1).protocols[0][1].topics == ("t",)
    c.synced(("u", 0))
    assert c.take(JoinGroup).protocols[0][1].topics == ("u",)


def test_no_subscription_at_all_leaves_the_group_and_another_one_joins_again() -> None:
    c = Scripted(settings=EAGER)
    c.stable(T0)
    c.command(Subscribe(()))
    assert c.callbacks() == [("revoked", (T0,))]
    c.left()
    c.wait(100_000)
    assert [kind for kind in c.kinds() if kind != "MetadataRequest"] == []
    c.command(Subscribe(("t",)))
    assert c.take(JoinGroup).member_id == ""


@rows("kind", ["MetadataRequest", "FindCoordinator"])
def test_another_broker_is_asked_where_one_refuses(kind: str) -> None:
    c = Scripted(brokers=("b1", "b2", "b3"))
    asked = {type(message).__name__: to for to, message in c.asked}
    assert asked[kind] == "b1"
    c.closed("b1")
    c.wait(100)
    asked = {type(message).__name__: to for to, message in c.asked}
    assert asked[kind] == "b2"


@rows(
    ("protocol", "poll_ms", "away", "expected"),
    [
        ("classic", 100, False, [100, 100, 100, 100, 100]),
        ("classic", 1000, False, [100, 200, 400, 300, 100]),
        ("classic", 1000, True, [200, 200, 200, 200, 200]),
        ("consumer", 100, False, [100, 200, 400, 800, 1000]),
    ],
)
def test_how_often_a_coordinator_is_asked_for(protocol: str, poll_ms: int, away: bool, expected: list[int]) -> None:
    """As Java 4.4.0's consumers do while the coordinator's broker is dead (docs/scale.md): each poll() begins anew, and
    while the user's loop is ``away`` the heartbeat thread asks in every second of its turns."""
    c = Scripted(brokers=("b1", "b2"), settings={"group.protocol": protocol}, poll_timeout_ms=poll_ms)
    if away:
        c.stable(T0)
        c.command(StopPolling())
        c.closed("b1")
        c.wait(3000)
    pauses = []
    for _ in expected:
        c.coordinator("COORDINATOR_NOT_AVAILABLE")
        start = c.now
        while "FindCoordinator" not in c.kinds():
            c.wait(50)
        pauses.append(c.now - start)
    assert pauses == expected


def test_a_coordinator_that_refuses_is_taken_again_after_its_pause() -> None:
    c = Scripted(brokers=("b1", "b2"), settings={"reconnect.backoff.ms": 150})
    c.metadata()
    c.closed("b1")
    c.wait(100)
    for known in (False, True):
        c.answer(CoordinatorFound(c.take(FindCoordinator).correlation, "NONE", "b1"), "b2")
        assert (c.state.lookup.coordinator == "b1") is known
        c.wait(100)


def test_without_permission_the_users_loop_ends() -> None:
    c = Scripted()
    c.coordinator("GROUP_AUTHORIZATION_FAILED")
    assert c.world.node.is_over


def pauses_until_asked(c: Scripted, count: int, **topics: int) -> list[float]:
    """Milliseconds between an answer and the next request, for so many answers."""
    found = []
    for _ in range(count):
        c.metadata(**topics)
        start = c.now
        while "MetadataRequest" not in c.kinds():
            c.wait(50)
        found.append(c.now - start)
    return found


def test_a_topic_that_is_not_there_is_asked_for_again_soon() -> None:
    """`UnknownTopicOrPartitionException` is an `InvalidMetadataException`, which requests an update."""
    c = Scripted(settings=EAGER, topics=("t", "late"), existing={"t": 1})
    assert pauses_until_asked(c, 6) == [100, 200, 400, 800, 1000, 1000]
    c.metadata(late=2)
    start = c.now
    while "MetadataRequest" not in c.kinds():
        c.wait(100)
    assert c.now - start == 10_000


def test_the_leader_notices_a_topic_that_is_created_later_and_joins_again() -> None:
    c = Scripted(settings=EAGER, topics=("t", "late"), existing={"t": 1})
    c.metadata()
    c.coordinator()
    c.joined(1, leader="c1-0", members=[member("c1-0", "t", "late")])
    c.synced(T0)
    c.offsets(0)
    c.callbacks()
    while "MetadataRequest" not in c.kinds():
        c.wait(50)
    c.metadata(late=2)
    assert c.callbacks() == [("revoked", (T0,))]
    assert c.take(JoinGroup).reason == "cached metadata has changed"


def test_a_client_that_is_not_javas_waits_for_the_maximum_age() -> None:
    c = Scripted(settings=EAGER, topics=("t", "late"), existing={"t": 1}, by_hand=True)
    c.metadata()
    c.wait(9_999)
    assert "MetadataRequest" not in c.kinds()
