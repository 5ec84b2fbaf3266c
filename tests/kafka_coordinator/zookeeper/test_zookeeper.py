"""The 0.8 scheme: what goes wrong in it (spec 7.4) follows from its timers and messages."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_coordinator.zookeeper.connection import SERVER
from protocols.facts import Delivered, Granted, Noted
from protocols.java import Queue
from protocols.scenario.events import (
    AddTopic,
    BrokerEvent,
    Commit,
    Crash,
    DeleteTopic,
    Hang,
    Join,
    Leave,
    Network,
    Queues,
    Restart,
    Subscribe,
)
from protocols.scenario.fields import TopicPart
from tests.kafka_coordinator.zookeeper.zookeeper_story import Story

LATE = ((20_000.0, "u1"), (40_000.0, "v1"))

PARTITIONS = {Queue("t", "", number) for number in range(6)}


def hang(at: float, member: str, seconds: float) -> Hang:
    return Hang.model_validate({"at": at, "hang": member, "for": seconds * 1000.0})


def test_one_that_hangs_believes_on_while_others_own_its_partitions() -> None:
    story = Story(hang(30_000.0, "c2", 20))
    doubly = {queue for queue, owners in story.owners(45).items() if len(owners) == 2}
    assert doubly == set(story.beliefs(29)["c2"])
    assert all(len(owners) == 1 for owners in story.owners(59).values())
    assert set(story.owners(59)) == PARTITIONS


def test_a_consumer_that_is_cut_off_goes_on_until_it_learns_that_its_session_has_expired() -> None:
    cut = Network.model_validate({"at": 30_000.0, "network": "cut", "between": ("c2", SERVER), "for": 15_000.0})
    story = Story(cut)
    assert any(len(owners) == 2 for owners in story.owners(44).values())
    assert all(len(owners) == 1 for owners in story.owners(59).values())


def test_a_consumer_that_does_not_reach_zookeeper_in_time_gives_up_and_one_that_does_joins_late() -> None:
    cut = Network.model_validate({"at": 0.0, "network": "cut", "between": ("c2", SERVER), "for": 4_000.0})
    story = Story(cut, zookeeper_connection_timeout_ms=3_000)
    assert story.notes() == ["c2 gives up: no connection to ZooKeeper within 3000 ms"]
    assert {member for each in story.owners(59).values() for member in each} == {"c1", "c3"}
    story = Story(cut)
    assert story.notes() == []
    assert {member for each in story.owners(59).values() for member in each} == {"c1", "c2", "c3"}


def test_a_topic_created_again_is_read_from_its_first_record() -> None:
    story = Story(
        DeleteTopic(at=20_000.0, delete_topic="t"),
        AddTopic(at=30_000.0, add_topic={"t": TopicPart(queues={"broker-a": 6})}),
        seconds=120,
    )
    delivered = [each for each in story.of(Delivered) if each.at > 20_000]
    assert all(each.fact.since >= 30_000 for each in delivered)
    for queue in {each.fact.queue for each in delivered}:
        spans = sorted((each.fact.first, each.fact.end) for each in delivered if each.fact.queue == queue)
        assert (spans[0][0], spans[-1][1]) == (0, 900)


# The group's order becomes a, c1, c2, c3: what c1 still holds, dead as it is, falls to a.
CRASH_AND_JOIN = (Crash(at=30_000.0, crash="c1"), Join(at=31_000.0, join="a", subscribe=("t",)))


def test_who_finds_its_share_owned_by_a_dead_session_can_use_up_its_tries() -> None:
    story = Story(*CRASH_AND_JOIN, seconds=45, zookeeper_session_timeout_ms=30_000)
    assert sum("a: try" in note and "still owned by another consumer" in note for note in story.notes()) == 4
    assert "a: gives up and owns nothing, but stays registered" in story.notes()
    # It computed a share, but owns none; the others keep reserving it.
    assert [len(told.fact.queues) for told in story.of(Granted, 31) if told.fact.member == "a"] == [2, 2, 2, 2]
    assert "a" not in story.beliefs(45)
    assert set(story.owners(45)) < PARTITIONS
    # The next event, the end of the dead session, mends it.
    assert set(Story(*CRASH_AND_JOIN, seconds=90, zookeeper_session_timeout_ms=30_000).owners(90)) == PARTITIONS


def test_the_pause_between_tries_is_the_sync_time_unless_set() -> None:
    def spent(**settings: int) -> float:
        story = Story(*CRASH_AND_JOIN, seconds=50, zookeeper_session_timeout_ms=40_000, **settings)
        noted = [told.at for told in story.of(Noted) if told.fact.text.startswith("a: try")]
        return noted[3] - noted[0]

    assert 6_000 <= spent() < 7_000, "a ZooKeeper session of 6 s can use up all tries"
    assert 300 <= spent(rebalance_backoff_ms=100) < 1_300
    assert 3_000 <= spent(zookeeper_sync_time_ms=1_000) < 4_000


def test_different_pictures_of_the_group_meet_in_a_claim_and_the_loser_tries_again() -> None:
    join = Join(at=30_000.0, join="a", subscribe=("t",))
    # c1 hears of a, and releases what it has, only later.
    slow = {"at": 25_000.0, "network": "delay", "between": ("c1", SERVER), "for": 20_000.0, "delay": 100.0}
    story = Story(join, Network.model_validate(slow), seconds=90)
    assert any("still owned by another consumer" in note for note in story.notes())
    assert {queue: len(owners) for queue, owners in story.owners(90).items()} == dict.fromkeys(PARTITIONS, 1)


def test_what_was_not_committed_for_a_minute_is_delivered_again_after_a_crash() -> None:
    story = Story(Crash(at=100_000.0, crash="c2"), seconds=120)
    # c2 committed at about 60 s, so 40 s of 10 records per second in two partitions come again.
    assert 2 * 395 <= story.redelivered() <= 2 * 405
    assert Story(Leave(at=100_000.0, leave="c2"), seconds=120).redelivered() == 0
    often = Story(Crash(at=100_000.0, crash="c2"), seconds=120, auto_commit_interval_ms=1000)
    assert often.redelivered() <= 2 * 11


def test_nothing_is_committed_without_auto_commit_unless_the_user_does() -> None:
    assert Story(Leave(at=30_000.0, leave="c2"), auto_commit_enable=False).commits() == []
    story = Story(Commit(at=30_000.0, commit="c1"), auto_commit_enable=False)
    assert [told.fact.queue.number for told in story.commits()] == [0, 1]


def test_more_partitions_and_another_subscription_are_shared_out_again() -> None:
    grown = Story(Queues(at=30_000.0, queues={"t": {"broker-a": 9}}))
    assert len(grown.owners(59)) == 9
    left = Story(Subscribe(at=30_000.0, subscribe={"c2": ()}))
    assert left.beliefs(59)["c2"] == ()
    assert set(left.owners(59)) == PARTITIONS


def test_a_pattern_subscriber_takes_topics_up_that_come_into_being() -> None:
    join = Join(at=10_000.0, join="p", pattern="u.*")
    fits, other = (AddTopic(at=at, add_topic={name: TopicPart(queues={"broker-a": 2})}) for at, name in LATE)
    story = Story(join, fits, other)
    assert story.beliefs(19).get("p", ()) == ()
    assert [queue.topic for queue in story.beliefs(59)["p"]] == ["u1", "u1"]
    # The topic that does not match makes nobody rebalance.
    assert story.rebalances(39.5, 60) == []


def test_without_any_broker_nobody_goes_on_until_one_returns() -> None:
    stop = BrokerEvent(at=0.0, broker="broker-a", does="stop")
    back = BrokerEvent.model_validate({"at": 20_000.0, "broker": "broker-a", "does": "return"})
    story = Story(stop, back)
    assert story.owners(19) == {}
    assert set(story.owners(59)) == PARTITIONS


EVENTS = st.one_of(
    st.builds(Crash, at=st.integers(5, 60).map(lambda s: s * 1000.0), crash=st.sampled_from(["c1", "c2"])),
    st.builds(Leave, at=st.integers(5, 60).map(lambda s: s * 1000.0), leave=st.sampled_from(["c1", "c2"])),
    st.builds(Restart, at=st.integers(5, 60).map(lambda s: s * 1000.0), restart=st.sampled_from(["c1", "c2"])),
    st.builds(hang, st.integers(5, 60).map(lambda s: s * 1000.0), st.sampled_from(["c1", "c2"]), st.integers(1, 15)),
)


def test_who_gives_a_connection_up_unread_is_told_again_what_its_watches_saw() -> None:
    # While c2 stands still its ping falls due and the news of c1 arrives: it gives the connection up before it reads.
    story = Story(hang(5000.0, "c2", 4), Leave(at=6000.0, leave="c1"), partitions=5, seed=0)
    assert story.rebalances(9, 12) == ["c2"]
    assert {queue.number for queue in story.owners(59)} == set(range(5))


@given(st.lists(EVENTS, max_size=4), st.sampled_from(["range", "roundrobin"]), st.integers(0, 1000))
def test_no_partition_has_two_owner_nodes_and_beliefs_end_where_the_nodes_are(
    events: list[Crash | Leave | Restart | Hang], strategy: str, seed: int
) -> None:
    story = Story(*events, seconds=120, seed=seed, strategy=strategy, partitions=5)
    server = story.variant.simulation.processes[SERVER].node
    nodes = [path for path in server.nodes if "/owners/" in path]
    # ZooKeeper holds a path once; after the last event everybody believes exactly what it holds.
    owners = story.owners(120)
    assert all(len(each) == 1 for each in owners.values())
    assert sorted(f"/consumers/g/owners/t/{queue.number}" for queue in owners) == sorted(nodes)
    assert len(nodes) == 5, "c3 is always there"
