"""When a client begins to exist for brokers, what its id is, and a second consumer in it (spec 3.2, 3.3, 3.6)."""

from protocols.facts import Noted, Transition
from rocketmq_selfbalance.client.commands import ConsumerSpec, Shutdown, StartConsumer
from rocketmq_selfbalance.client.instance import client_id
from rocketmq_selfbalance.messages.membership import HeartBeat
from rocketmq_selfbalance.strategies import Averagely
from tests.rocketmq_selfbalance.client.client_cluster import GROUP, Cluster
from tests.rows import rows


def test_a_client_whose_topics_are_unknown_does_not_exist_for_any_broker() -> None:
    cluster = Cluster({"T": 1})
    cluster.start("c1", ["elsewhere"])
    cluster.run(25_000)
    assert "HeartBeat" not in cluster.kinds("c1")


def test_the_heartbeat_of_the_first_pass_is_not_in_the_way_of_the_periodic_one() -> None:
    """As in the recorded sessions: the pass comes first, its heartbeat follows, then the periodic one. Were they due at
    one moment, the pass would find the lock taken, and brokers would refuse pulls for want of the new subscription
    until the next heartbeat, 30 s later."""
    cluster = Cluster({"T": 1}, brokers=("broker-a",), produce=1.0)
    began = cluster.simulation.now
    cluster.start("c1")
    cluster.run(5_000)
    beats = [now - began for now, _, message in cluster.requests("c1") if isinstance(message, HeartBeat)]
    assert [each for each in beats if 1_000 <= each < 1_100]
    assert 1_100 in beats


def test_a_second_consumer_of_a_group_is_refused_and_other_groups_share_the_instance() -> None:
    cluster = Cluster({"T": 2, "U": 2})
    cluster.start("c1")
    cluster.run(3_000)
    cluster.command("c1", StartConsumer(ConsumerSpec(GROUP, "again", ("T",), Averagely())))
    cluster.command("c1", StartConsumer(ConsumerSpec("h", "other", ("U",), Averagely())))
    cluster.run(3_000)
    assert [fact.text for _, fact in cluster.facts(Noted)] == ["again: this client has a consumer of group g already"]
    moves = [(fact.of, fact.after) for _, fact in cluster.facts(Transition) if fact.machine == "client"]
    assert ("again", "CREATE_JUST") in moves
    assert ("other", "RUNNING") in moves
    assert len(cluster.owns("other")) == 4
    cluster.command("c1", Shutdown(GROUP))
    cluster.run(1_000)
    assert cluster.owns("c1") == ()
    assert len(cluster.owns("other")) == 4
    assert not cluster.instance("c1").ended


@rows(
    ("arguments", "expected"),
    [
        ({"pid": 4711, "nano_time": 123}, "10.0.0.5@4711#123"),
        ({"pid": 4711, "version": "4.5"}, "10.0.0.5@4711"),
        ({"instance_name": "blue"}, "10.0.0.5@blue"),
        ({"message_model": "BROADCASTING", "pid": 4711}, "10.0.0.5@DEFAULT"),
        ({"instance_name": "blue", "unit_name": "u1"}, "10.0.0.5@blue@u1"),
        ({"instance_name": "blue", "stream": True}, "10.0.0.5@blue@STREAM"),
    ],
)
def test_client_ids_have_their_forms(arguments: dict[str, object], expected: str) -> None:
    assert client_id("10.0.0.5", **arguments) == expected  # type: ignore[arg-type]
