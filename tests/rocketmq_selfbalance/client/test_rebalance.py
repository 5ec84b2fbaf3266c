"""Clients balance themselves, each on its own clock (spec 3.4, 3.5, 4.2, 5, 7)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.facts import Position
from protocols.java import Queue
from rocketmq_selfbalance.client.commands import (
    Shutdown,
    Subscribe,
    Unsubscribe,
)
from rocketmq_selfbalance.client.settings import OF_VERSION
from rocketmq_selfbalance.messages.membership import GetConsumerListByGroup, HeartBeat
from rocketmq_selfbalance.messages.offsets import UpdateConsumerOffset
from rocketmq_selfbalance.messages.requests import UnlockBatchMq
from rocketmq_selfbalance.strategies import Averagely, AveragelyByCircle, ByConfig, ConsistentHash, Strategy
from tests.rocketmq_selfbalance.client.client_cluster import BROKERS, GROUP, Cluster
from tests.rows import rows


def passes(cluster: Cluster, name: str, topic_count: int = 2) -> list[float]:
    """Times at which the client asked for members, one per pass."""
    asked = [now for now, _, message in cluster.requests(name) if isinstance(message, GetConsumerListByGroup)]
    return [now for index, now in enumerate(asked) if index == 0 or now - asked[index - 1] > 500]


def test_an_unbalanced_pass_is_repeated_after_a_second_in_5_and_after_20_in_4() -> None:
    elsewhere = ByConfig((Queue("T", "broker-a", 0), Queue("U", "broker-a", 0)))
    for version, at_least, at_most in (({}, 15, 21), (OF_VERSION["4.5"], 1, 3)):
        cluster = Cluster({"T": 1}, brokers=("broker-a",))
        cluster.start("c1", strategy=elsewhere, **version)
        cluster.run(20_000)
        assert at_least <= len(passes(cluster, "c1")) <= at_most, version


def test_a_topic_that_vanishes_from_the_name_server_keeps_its_owners() -> None:
    cluster = Cluster({"T": 2}, brokers=("broker-a",))
    cluster.start("c1")
    cluster.run(30_000)
    cluster.simulation.end("broker-a")
    cluster.run(120_000)
    assert len(cluster.owns("c1")) == 2


def test_unsubscribing_loses_what_was_not_kept_and_tells_nobody_at_once() -> None:
    cluster = Cluster({"T": 1, "U": 1}, brokers=("broker-a",), produce=10.0)
    cluster.start("c1", ["T", "U"])
    cluster.run(21_500)
    began = cluster.simulation.now
    cluster.command("c1", Unsubscribe(GROUP, "U"))
    assert "HeartBeat" not in cluster.kinds("c1", began)
    cluster.run(21_000)
    assert {queue.topic for queue in cluster.owns("c1")} == {"T"}
    cluster.command("c1", Subscribe(GROUP, "U"))
    cluster.run(3_000)
    assert {queue.topic for queue in cluster.owns("c1")} == {"T", "U"}


def test_a_frozen_client_wakes_with_its_old_queues_and_may_write_an_old_offset() -> None:
    cluster = Cluster({"T": 1}, brokers=("broker-a",), produce=10.0)
    cluster.start("c1")
    cluster.run(5_000)
    cluster.start("c2")
    cluster.run(20_000)
    cluster.simulation.hang("c1")
    queue = Queue("T", "broker-a", 0)
    assert queue in cluster.owns("c1")
    cluster.run(150_000)
    assert queue in cluster.owns("c2")
    newer = cluster.committed(queue)
    cluster.simulation.wake("c1")
    assert queue in cluster.owns("c1")
    old = [
        message.offset
        for _, _, message in cluster.requests("c1", cluster.simulation.now)
        if isinstance(message, UpdateConsumerOffset) and message.queue == queue
    ]
    # What a broker had sent it before it hung up is not handled any more: the request is long given up.
    assert old == [250]
    assert old[0] < newer - 1_000
    cluster.run(30_000)
    # Whoever sorts first: c1 is a member again and gets its queue back.
    assert queue in cluster.owns("c1")
    assert queue not in cluster.owns("c2")


@rows("topic", ["T", "events"])
@rows("orderly", [True, False])
def test_a_woken_client_asks_over_new_connections_gives_up_its_queues_and_reads_the_committed_offsets(
    topic: str, orderly: bool
) -> None:
    """The brokers have hung up while it was frozen: that it notices before it asks, so that it hears that it is no
    member, and neither keeps its queues nor goes on from where it stood."""
    cluster = Cluster({topic: 2}, brokers=("broker-a",), produce=10.0)
    cluster.start("c1", [topic], orderly=orderly)
    cluster.run(5_000)
    cluster.start("c2", [topic], orderly=orderly)
    cluster.run(65_000)  # by then both know the way to their retry topic
    queue = Queue(topic, "broker-a", 1)
    assert cluster.owns("c2") == (queue,)
    cluster.simulation.hang("c2")
    cluster.run(200_000)
    assert cluster.owns("c2") == (queue,)
    assert queue in cluster.owns("c1")
    newer, began = cluster.committed(queue), cluster.simulation.now
    cluster.simulation.wake("c2")
    cluster.run(500)
    assert cluster.owns("c2") == ()
    asked = [message for _, _, message in cluster.requests("c2", began)]
    unlocked = any(isinstance(message, UnlockBatchMq) and queue in message.queues for message in asked)
    assert unlocked == orderly
    # The broker hears of it again when it has given up its queue: "T" comes before the retry topic in its passes,
    # "events" after it.
    told = [type(each) for each in asked if isinstance(each, GetConsumerListByGroup | HeartBeat)]
    assert told.index(HeartBeat) == (1 if topic == "T" else 2)
    cluster.run(5_000)
    assert cluster.owns("c2") == (queue,)
    assert queue not in cluster.owns("c1")
    [again] = [fact for now, fact in cluster.facts(Position, "c2") if now > began and fact.queue == queue]
    assert again.offset >= newer


@rows("strategy", [Averagely(), AveragelyByCircle(), ConsistentHash()])
@settings(max_examples=8, deadline=None)
@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from(["start", "stop", "kill", "hang"]), st.integers(500, 15_000)), max_size=5),
    st.integers(0, 3),
)
def test_after_all_settled_each_queue_has_exactly_one_owner(
    strategy: Strategy, members: int, events: list[tuple[str, int]], seed: int
) -> None:
    cluster = Cluster({"T": 3, "U": 2}, produce=1.0, seed=seed)
    for number in range(members):
        cluster.start(f"c{number}", ["T", "U"], strategy=strategy)
    alive = [f"c{number}" for number in range(members)]
    started = members
    for what, pause in events:
        cluster.run(pause)
        if what == "start":
            cluster.start(f"c{started}", ["T", "U"], strategy=strategy)
            alive.append(f"c{started}")
            started += 1
        elif len(alive) > 1:
            name = alive.pop(0)
            if what == "stop":
                cluster.command(name, Shutdown())
            elif what == "kill":
                cluster.simulation.end(name)
            else:
                cluster.simulation.hang(name)
                cluster.run(3_000)
                cluster.simulation.wake(name)
                alive.append(name)
    cluster.run(75_000)
    owned = [queue for name in alive for queue in cluster.owns(name)]
    assert sorted(owned) == [
        Queue(topic, broker, number)
        for topic, count in (("T", 3), ("U", 2))
        for broker in BROKERS
        for number in range(count)
    ]
    delivered = cluster.deliveries()
    for queue in owned:
        done = max((offset for each, offset in delivered if each == queue), default=-1)
        assert cluster.committed(queue) <= done + 1
