"""What is fetched, consumed and kept (spec 6)."""

import itertools

from protocols.facts import Delivered
from protocols.java import Queue
from rocketmq_selfbalance.client.commands import (
    GoOn,
    RecordFails,
    RecordTakes,
    RecordWorks,
    StopPolling,
)
from rocketmq_selfbalance.messages.offsets import ConsumerSendMsgBack, PullMessage
from tests.rocketmq_selfbalance.client.client_cluster import GROUP, Cluster

QUEUE = Queue("T", "broker-a", 0)


def one_queue(**options: object) -> Cluster:
    return Cluster({"T": 1}, brokers=("broker-a",), **options)  # type: ignore[arg-type]


def test_a_record_that_fails_goes_through_the_retry_topic() -> None:
    cluster = one_queue(produce=1.0)
    cluster.start("c1")
    cluster.command("c1", RecordFails(GROUP, QUEUE, 40))
    cluster.run(60_000)
    backs = [message for _, _, message in cluster.requests("c1") if isinstance(message, ConsumerSendMsgBack)]
    assert [(message.offset, message.delay_level) for message in backs] == [(40, 0)]
    assert cluster.committed(QUEUE) > 50
    retried = [(now, fact) for now, fact in cluster.facts(Delivered, "c1") if fact.queue.topic == "%RETRY%g"]
    failed = next(now for now, fact in cluster.facts(Delivered, "c1") if fact.queue == QUEUE and fact.first == 40)
    assert [10_000 <= now - failed < 10_100 for now, _ in retried] == [True]


def test_an_ordered_queue_stands_still_at_a_record_that_fails() -> None:
    cluster = one_queue(produce=1.0)
    cluster.start("c1", orderly=True)
    cluster.command("c1", RecordFails(GROUP, QUEUE, 10))
    cluster.run(30_000)
    assert cluster.committed(QUEUE) == 10
    assert cluster.deliveries()[QUEUE, 10] > 10  # once a second
    assert not cluster.deliveries()[QUEUE, 11]
    cluster.command("c1", RecordWorks(GROUP, QUEUE, 10))
    cluster.run(15_000)
    assert cluster.committed(QUEUE) > 30


def test_while_the_users_code_stands_still_pulling_ends_at_the_threshold() -> None:
    cluster = one_queue(produce=100.0)
    cluster.start("c1", handle=1.0)
    cluster.run(5_000)
    cluster.command("c1", StopPolling(GROUP))
    stopped = sum(cluster.deliveries().values())
    cluster.run(20_000)
    assert sum(cluster.deliveries().values()) == stopped
    process_queue = cluster.instance("c1").consumers[GROUP].table[QUEUE]
    assert 1_000 < process_queue.count <= 1_032
    cluster.command("c1", GoOn(GROUP))
    cluster.run(5_000)
    assert sum(cluster.deliveries().values()) == sum(1 for _ in cluster.deliveries())
    assert sum(cluster.deliveries().values()) > stopped + 1_500


def test_a_record_in_consumption_for_too_long_is_sent_back_and_holds_the_others_no_longer() -> None:
    cluster = one_queue(produce=1.0)
    cluster.start("c1", consume_timeout_ms=30_000.0)
    cluster.command("c1", RecordTakes(GROUP, QUEUE, 20, 600_000.0))
    cluster.run(50_000)
    assert cluster.committed(QUEUE) == 20
    cluster.run(50_000)
    assert cluster.committed(QUEUE) > 80
    backs = [message for _, _, message in cluster.requests("c1") if isinstance(message, ConsumerSendMsgBack)]
    assert [(message.offset, message.delay_level) for message in backs] == [(20, 3)]


def test_errors_hold_the_next_pull_back_for_a_second() -> None:
    cluster = one_queue(produce=10.0)
    cluster.start("c1")
    cluster.run(5_000)
    cluster.simulation.end("broker-a")
    began = cluster.simulation.now
    cluster.run(4_000)
    pulls = [
        now
        for now, by, _, message in cluster.watched.sent_messages
        if isinstance(message, PullMessage) and message.queue == QUEUE and now > began
    ]
    assert len(pulls) in (3, 4)
    assert all(later - earlier == 1_000 for earlier, later in itertools.pairwise(pulls))
