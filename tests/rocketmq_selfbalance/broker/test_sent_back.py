"""What comes of records that are sent back to a broker (spec 6.7)."""

from protocols.engine.nodes import OPERATOR
from rocketmq_selfbalance.broker.state import DELAY_LEVELS_S
from rocketmq_selfbalance.codes import (
    PULL_NOT_FOUND,
)
from rocketmq_selfbalance.messages.membership import SubscriptionGroup, UpdateSubscriptionGroup
from rocketmq_selfbalance.messages.offsets import PullMessage
from tests.rocketmq_selfbalance.broker.one_broker import HOLD_MS, RETRY, OneBroker, answers, joined, queue, send_back


def test_a_record_sent_back_comes_again_after_10_s_then_30_s_and_so_on() -> None:
    broker = joined(0.0)
    now = 1.0
    send_back(broker, now, 5)
    for times, delay in enumerate(DELAY_LEVELS_S[2:], 1):
        pulled = PullMessage(2, "g", queue(topic=RETRY), times - 1)
        broker.heartbeat(now + delay - 0.001, "c1", "T", RETRY)
        assert broker.ask(now + delay - 0.001, "c1", pulled).code == PULL_NOT_FOUND
        answer = broker.ask(now + delay, "c1", pulled)
        assert [(each.origin, each.origin_offset, each.times) for each in answer.retried] == [(queue(), 5, times)]
        now += delay
        send_back(broker, now, times - 1, RETRY)
    broker.world.advance(now * 1000 + 8_000_000)
    assert broker.disk.store.max_offset("%DLQ%g", 0, broker.world.now) == 1
    assert broker.disk.store.max_offset(RETRY, 0, broker.world.now) == 16


def test_a_record_may_be_given_a_delay_of_its_own_or_given_up() -> None:
    broker = joined(0.0)
    send_back(broker, 1, 5, delay_level=1)
    broker.world.advance(2000)
    assert broker.disk.store.max_offset(RETRY, 0, 2000) == 1
    send_back(broker, 3, 6, delay_level=-1)
    send_back(broker, 3, 7, max_reconsume_times=0)
    broker.world.advance(4000)
    assert broker.disk.store.max_offset("%DLQ%g", 0, 4000) == 2


def test_a_group_without_retry_queues_throws_away_what_is_sent_back() -> None:
    broker = joined(0.0)
    broker.ask(1, OPERATOR, UpdateSubscriptionGroup(0, SubscriptionGroup("g", retry_queue_nums=0)))
    send_back(broker, 1, 5)
    assert broker.disk.store.delayed == []


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
