"""What is fetched, consumed and kept (spec 6)."""

import itertools

import pytest

from protocols.engine.nodes import Time
from protocols.facts import Delivered, Position
from protocols.java import Queue
from rocketmq_selfbalance.client.commands import (
    ConsumerSpec,
    GoOn,
    RecordFails,
    RecordTakes,
    RecordWorks,
    StopPolling,
)
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.client.offset_store import OffsetsFile
from rocketmq_selfbalance.client.settings import ClientSettings
from rocketmq_selfbalance.codes import BROADCASTING
from rocketmq_selfbalance.messages.membership import ResetOffset, UpdateBrokerConfig
from rocketmq_selfbalance.messages.offsets import ConsumerSendMsgBack, PullMessage
from rocketmq_selfbalance.strategies import Averagely
from tests.rocketmq_selfbalance.client.client_cluster import GROUP, Cluster

QUEUE = Queue("T", "broker-a", 0)


def one_queue(**options: object) -> Cluster:
    return Cluster({"T": 1}, brokers=("broker-a",), **options)  # type: ignore[arg-type]


def test_one_slow_record_holds_the_position_and_a_new_owner_gets_all_behind_it_again() -> None:
    # The worked example of spec 6.9: 100 is slow, 101 to 131 finish, another member takes over.
    cluster = one_queue(produce=32.0)
    cluster.start("c2")
    cluster.run(2_000)
    cluster.command("c2", RecordTakes(GROUP, QUEUE, 100, 60_000.0))
    cluster.run(2_200)
    delivered = cluster.deliveries("c2")
    assert delivered[QUEUE, 99]
    assert delivered[QUEUE, 131]
    assert not delivered[QUEUE, 100]
    cluster.run(5_000)
    assert cluster.committed(QUEUE) == 100
    began = cluster.simulation.now
    cluster.start("c1")
    cluster.run(2_500)
    assert cluster.owns("c1") == (QUEUE,)
    position = next(fact for now, fact in cluster.facts(Position, "c1") if fact.queue == QUEUE and now > began)
    assert (position.offset, position.why) == (100, "committed")
    assert cluster.deliveries("c1")[QUEUE, 131] == 1
    assert cluster.deliveries()[QUEUE, 131] == 2
    cluster.run(60_000)
    assert cluster.deliveries()[QUEUE, 100] == 2  # in parallel at both
    assert cluster.committed(QUEUE) > 132  # the late result of a dropped queue is ignored


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


def test_twenty_threads_share_what_is_fetched() -> None:
    cluster = one_queue(produce=1_000.0)
    cluster.start("c1", handle=100.0)
    cluster.run(11_000)
    # 20 threads, 100 ms each: 200 records a second from the first pull on.
    began = min(now for now, fact in cluster.facts(Delivered)) - 100.0
    assert len(cluster.deliveries()) == pytest.approx((cluster.simulation.now - began) / 1000 * 200, abs=25)


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


def test_a_reset_at_the_broker_is_taken_by_the_next_pull() -> None:
    cluster = one_queue(produce=10.0)
    cluster.start("c1")
    cluster.run(20_000)
    before = len(cluster.deliveries())
    cluster.command("broker-a", ResetOffset(0, GROUP, "T", 5_000.0))
    cluster.run(5_000)
    again = sum(count - 1 for count in cluster.deliveries().values())
    assert before > 190
    assert 140 <= again <= 160
    assert cluster.committed(QUEUE) > 200


def test_a_reset_through_the_clients_pauses_them_for_ten_seconds() -> None:
    cluster = one_queue(produce=10.0)
    cluster.start("c1")
    cluster.run(20_000)
    began = cluster.simulation.now
    cluster.command("broker-a", UpdateBrokerConfig(0, use_server_side_reset_offset=False))
    cluster.command("broker-a", ResetOffset(0, GROUP, "T", 5_000.0))
    cluster.run(9_900)
    assert not [now for now, fact in cluster.facts(Delivered) if now > began + 10]
    cluster.run(3_000)
    position = [fact.offset for now, fact in cluster.facts(Position) if now > began and fact.queue == QUEUE]
    assert position == [49]  # the record stored at exactly 5 s


def test_a_broadcasting_consumer_goes_on_from_its_file() -> None:

    cluster = one_queue(produce=10.0)
    file = OffsetsFile()
    spec = ConsumerSpec(GROUP, "c1", ("T",), Averagely(), ClientSettings(message_model=BROADCASTING), file=file)

    def start(at: Time) -> None:
        cluster.run(at)
        cluster.simulation.start("c1", Client("10.0.0.1@DEFAULT", ("namesrv",), (spec,)))

    start(0.0)
    cluster.run(20_000)
    cluster.simulation.end("c1")
    assert file.text is not None
    assert '"topic":"T"' in file.text
    kept = (file.read() or {})[QUEUE]
    began = cluster.simulation.now
    start(1_000.0)
    cluster.run(3_000)
    position = next(fact for now, fact in cluster.facts(Position) if now > began)
    assert (position.offset, position.why) == (kept, "committed")


def test_poll_marks_records_as_consumed_when_it_hands_them_out() -> None:
    cluster = one_queue(produce=1.0)
    cluster.start("c1", kind="lite_pull", handle=100.0)
    cluster.run(32_000)
    assert cluster.committed(QUEUE) >= 20
    pulls = [message for _, by, _, message in cluster.watched.sent_messages if isinstance(message, PullMessage)]
    assert all(message.commit_offset is None for message in pulls)


def test_a_pull_rides_with_the_offset_kept_in_memory() -> None:
    cluster = one_queue(produce=10.0)
    cluster.start("c1")
    cluster.run(6_000)
    pulls = [message for _, by, _, message in cluster.watched.sent_messages if isinstance(message, PullMessage)]
    told = [message.commit_offset for message in pulls if message.queue == QUEUE and message.commit_offset]
    assert told == sorted(told)
    assert told[-1] > 40
    assert cluster.committed(QUEUE) == told[-1]


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
