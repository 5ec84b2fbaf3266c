"""What a broker's queues take in, when each record came, and what comes of records that are sent back (spec 6.7)."""

from hypothesis import given
from hypothesis import strategies as st

from protocols.engine.nodes import OPERATOR
from rocketmq_selfbalance.broker.store import StoredQueue
from rocketmq_selfbalance.messages.membership import UpdateTopic
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.messages.offsets import GetMaxOffset, PullMessage
from tests.rocketmq_selfbalance.broker.one_broker import HOLD_MS, RETRY, OneBroker, answers, joined, queue, send_back


def test_fewer_write_queues_take_in_nothing_more_but_keep_what_they_have() -> None:
    broker = joined()
    broker.ask(5, OPERATOR, UpdateTopic(0, TopicConfig("T", 4, 2)))
    ends = [broker.ask(10, "c1", GetMaxOffset(1, queue(number))).offset for number in range(4)]
    assert ends == [100, 100, 50, 50]


RATES = st.sampled_from([0.0, 0.3, 1.0, 3.0, 10.0, 333.0])


@given(st.lists(st.tuples(st.integers(0, 5000), RATES), min_size=1, max_size=6), st.integers(0, 40_000))
def test_the_offset_found_by_a_time_is_that_of_the_first_record_written_then_or_later(
    changes: list[tuple[int, float]], time: int
) -> None:
    stored, now = StoredQueue(0), 0
    for pause, rate in changes:
        now += pause
        stored.produce(now, rate)
    end = max(now, time) + 5000
    found = stored.offset_at(time, end)
    written = [stored_at(stored, offset) for offset in range(stored.max_offset(end))]
    assert found == sum(each < time for each in written)
    assert written == sorted(written)


def stored_at(stored: StoredQueue, offset: int) -> float:
    [*_, segment] = [segment for segment in stored.segments if segment.before <= offset and segment.per_second]
    return segment.since + (offset + 1 - segment.before) * 1000 / segment.per_second


@given(RATES.filter(bool), st.integers(0, 10_000), st.integers(0, 300))
def test_a_record_is_there_from_the_moment_of_its_arrival(rate: float, since: int, offset: int) -> None:
    stored = StoredQueue(0)
    stored.produce(since, rate)
    arrival = stored.next_arrival(offset)
    assert arrival is not None
    assert stored.max_offset(arrival) == offset + 1
    assert stored.max_offset(arrival - 0.01) == offset


def test_a_record_may_be_given_a_delay_of_its_own_or_given_up() -> None:
    broker = joined(0.0)
    send_back(broker, 1, 5, delay_level=1)
    broker.world.advance(2000)
    assert broker.disk.store.max_offset(RETRY, 0, 2000) == 1
    send_back(broker, 3, 6, delay_level=-1)
    send_back(broker, 3, 7, max_reconsume_times=0)
    broker.world.advance(4000)
    assert broker.disk.store.max_offset("%DLQ%g", 0, 4000) == 2


def test_records_that_wait_for_their_delivery_outlive_the_broker_s_process() -> None:
    broker = joined(0.0)
    send_back(broker, 1, 5)
    again = OneBroker(on=broker.disk)
    again.world.advance(11_000)
    assert again.disk.store.max_offset(RETRY, 0, 11_000) == 1


def test_a_pull_of_the_retry_topic_is_answered_when_a_record_is_delivered() -> None:
    broker = joined(0.0)
    send_back(broker, 1, 5)
    broker.ask(2, "c1", PullMessage(2, "g", queue(topic=RETRY), 0, suspend_ms=HOLD_MS))
    broker.world.take_sent()
    broker.world.advance(30_000)
    [(at, answer)] = answers(broker)
    assert (at, answer.next_offset, len(answer.retried)) == (11.0, 1, 1)
