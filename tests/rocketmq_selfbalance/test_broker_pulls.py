"""What a pull finds at a broker, and what comes of records that are sent back (spec 2.10, 6.2, 6.3, 6.7)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.nodes import OPERATOR
from rocketmq_selfbalance.broker.settings import DELAY_LEVELS_S
from rocketmq_selfbalance.broker.store import StoredQueue
from rocketmq_selfbalance.codes import (
    INVALID_PARAMETER,
    NO_PERMISSION,
    PULL_NOT_FOUND,
    PULL_OFFSET_MOVED,
    SUBSCRIPTION_NOT_EXIST,
    SUBSCRIPTION_NOT_LATEST,
    SUCCESS,
    TOPIC_NOT_EXIST,
)
from rocketmq_selfbalance.messages import (
    ConsumerSendMsgBack,
    DeleteTopicInBroker,
    GetMaxOffset,
    PullAnswer,
    PullMessage,
    QueryConsumerOffset,
    ResetOffset,
    SearchOffsetByTimestamp,
    SubscriptionGroup,
    TopicConfig,
    UpdateSubscriptionGroup,
    UpdateTopic,
    WatchedPullAnswer,
)
from tests.rocketmq_selfbalance.one_broker import OneBroker, queue

HOLD_MS = 15_000.0
RETRY = "%RETRY%g"


def joined(per_second: float = 10.0, *topics: str) -> OneBroker:
    broker = OneBroker(per_second)
    broker.heartbeat(0, "c1", *(topics or ("T", RETRY)))
    return broker


def answers(broker: OneBroker) -> list[tuple[float, PullAnswer]]:
    """(seconds, answer) of the pulls answered since the last look."""
    return [(sent.time / 1000, sent.message) for sent in broker.world.take_sent() if type(sent.message) is PullAnswer]


def test_a_pull_gets_at_most_32_records_whoever_owns_the_queue() -> None:
    broker = joined()
    broker.heartbeat(0, "c2", "T", RETRY)
    for client in ("c1", "c2"):
        answer = broker.ask(5, client, PullMessage(1, "g", queue(), 0))
        assert (answer.code, answer.next_offset, answer.max_offset) == (SUCCESS, 32, 50)
    assert broker.ask(5, "c1", PullMessage(1, "g", queue(), 40)).next_offset == 50


@pytest.mark.parametrize(
    ("offset", "code", "following"),
    [(0, PULL_OFFSET_MOVED, 3), (3, SUCCESS, 35), (50, PULL_NOT_FOUND, 50), (51, PULL_OFFSET_MOVED, 50)],
)
def test_an_offset_outside_of_the_queue_is_put_right(offset: int, code: int, following: int) -> None:
    broker = joined()
    broker.disk.store.queues["T"][0].min_offset = 3
    answer = broker.ask(5, "c1", PullMessage(1, "g", queue(), offset))
    assert (answer.code, answer.next_offset) == (code, following)


@pytest.mark.parametrize(("offset", "code"), [(0, PULL_NOT_FOUND), (5, PULL_OFFSET_MOVED)])
def test_an_empty_queue_knows_only_offset_0(offset: int, code: int) -> None:
    answer = joined(0.0).ask(5, "c1", PullMessage(1, "g", queue(), offset))
    assert (answer.code, answer.next_offset) == (code, 0)


def test_a_pull_that_finds_nothing_is_answered_with_the_next_record() -> None:
    broker = joined()
    broker.ask(5, "c1", PullMessage(1, "g", queue(), 50, suspend_ms=HOLD_MS))
    broker.world.take_sent()
    broker.world.advance(30_000)
    [(at, answer)] = answers(broker)
    assert (at, answer.code, answer.next_offset) == (5.1, SUCCESS, 51)


def test_a_pull_of_a_still_queue_is_held_for_its_time() -> None:
    broker = joined(0.0)
    broker.ask(5, "c1", PullMessage(1, "g", queue(), 0, suspend_ms=HOLD_MS))
    broker.world.take_sent()
    broker.world.advance(30_000)
    [(at, answer)] = answers(broker)
    assert (at, answer.code) == (20.0, PULL_NOT_FOUND)


def watched(broker: OneBroker) -> list[tuple[float, PullAnswer]]:
    """(seconds, what a held pull would have got) of what watchers were told since the last look."""
    told = [sent for sent in broker.world.take_sent() if isinstance(sent.message, WatchedPullAnswer)]
    return [(sent.time / 1000, sent.message[3]) for sent in told]


def watch(offset: int, topic: str = "T") -> PullMessage:
    return PullMessage(2, "g", queue(topic=topic), offset, suspend_ms=HOLD_MS, watch=True)


def test_a_pull_that_watches_is_answered_at_once_and_its_client_computes_which_records_come() -> None:
    broker = joined()
    answer = broker.ask(5, "c1", watch(50))
    assert (answer.code, answer.next_offset) == (PULL_NOT_FOUND, 50)
    assert broker.world.node.held == {}
    assert answer.production is not None
    assert answer.production.end_offset(20_000) == broker.ask(20, "c1", GetMaxOffset(1, queue())).offset
    assert watched(broker) == []


def test_a_watcher_is_told_of_a_reset_where_a_held_pull_would_have_ended() -> None:
    broker = joined()
    broker.ask(5, "c1", watch(50))
    broker.ask(6.05, OPERATOR, ResetOffset(0, "g", "T", 1000.0))
    broker.world.take_sent()
    broker.world.advance(30_000)
    [(at, answer)] = watched(broker)
    assert (at, answer.code, answer.next_offset) == (6.1, PULL_OFFSET_MOVED, 9)


def test_a_watcher_is_told_of_a_record_of_the_retry_topic_and_of_a_change_of_the_topic() -> None:
    broker = joined(0.0)
    send_back(broker, 1, 5)
    broker.ask(2, "c1", watch(0, RETRY))
    broker.ask(2, "c1", watch(0))
    broker.world.take_sent()
    broker.ask(3, OPERATOR, UpdateTopic(0, TopicConfig("T", 8, 8)))
    assert [(at, answer.code) for at, answer in watched(broker)] == [(3.0, PULL_NOT_FOUND)]
    broker.world.advance(12_000)
    assert [(at, len(answer.retried)) for at, answer in watched(broker)] == [(11.0, 1)]


def test_nobody_is_told_who_has_stopped_to_watch() -> None:
    broker = joined(0.0)
    broker.ask(5, "c1", watch(0))
    broker.ask(5.5, "c1", PullMessage(1, "g", queue(), 0))
    broker.ask(6, "c1", watch(0, RETRY))
    broker.world.advance(36_100)  # it has not come again for twice the hold time
    send_back(broker, 37, 5, delay_level=1)
    broker.ask(37, OPERATOR, UpdateTopic(0, TopicConfig("T", 8, 8)))
    broker.world.advance(39_000)
    assert watched(broker) == []


def test_a_change_of_the_topic_ends_held_pulls() -> None:
    broker = joined(0.0)
    broker.ask(5, "c1", PullMessage(2, "g", queue(), 0, suspend_ms=HOLD_MS))
    broker.ask(6, OPERATOR, DeleteTopicInBroker(0, "T"))
    [(at, answer)] = answers(broker)
    assert (at, answer.code) == (6.0, TOPIC_NOT_EXIST)


def test_nobody_answers_a_pull_whose_connection_has_ended() -> None:
    broker = joined()
    broker.ask(5, "c1", PullMessage(1, "g", queue(), 50, suspend_ms=HOLD_MS))
    broker.close(5, "c1")
    broker.world.advance(30_000)
    assert answers(broker) == []
    assert broker.world.node.held == {}


def test_an_offset_that_rides_along_is_committed_even_if_the_pull_finds_nothing() -> None:
    broker = joined()
    broker.ask(5, "c1", PullMessage(1, "g", queue(), 50, suspend_ms=HOLD_MS, commit_offset=50))
    assert broker.ask(5, "c1", QueryConsumerOffset(2, "g", queue())).offset == 50


@pytest.mark.parametrize(
    ("change", "message", "code"),
    [
        (SubscriptionGroup("g", consume_enable=False), PullMessage(1, "g", queue(), 0), NO_PERMISSION),
        (TopicConfig("T", 4, 4, perm=2), PullMessage(1, "g", queue(), 0), NO_PERMISSION),
        (None, PullMessage(1, "g", queue(topic="U"), 0), TOPIC_NOT_EXIST),
        (None, PullMessage(1, "g", queue(4), 0), INVALID_PARAMETER),
        (None, PullMessage(1, "stranger", queue(), 0), SUBSCRIPTION_NOT_EXIST),
        (TopicConfig("V", 1, 1), PullMessage(1, "g", queue(topic="V"), 0), SUBSCRIPTION_NOT_EXIST),
        (None, PullMessage(1, "g", queue(), 0, subscription_version=2), SUBSCRIPTION_NOT_LATEST),
    ],
)
def test_what_a_pull_is_refused_for(
    change: SubscriptionGroup | TopicConfig | None, message: PullMessage, code: int
) -> None:
    broker = joined()
    if isinstance(change, SubscriptionGroup):
        broker.ask(1, OPERATOR, UpdateSubscriptionGroup(0, change))
    elif change is not None:
        broker.ask(1, OPERATOR, UpdateTopic(0, change))
    assert broker.ask(2, "c1", message._replace(commit_offset=7)).code == code
    assert broker.world.node.offsets.query("g", "T", 0) == -1


def send_back(broker: OneBroker, at_s: float, offset: int, topic: str = "T", **more: int) -> None:
    assert broker.ask(at_s, "c1", ConsumerSendMsgBack(1, "g", queue(topic=topic), offset, **more)).code == SUCCESS


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


def test_fewer_write_queues_take_in_nothing_more_but_keep_what_they_have() -> None:
    broker = joined()
    broker.ask(5, OPERATOR, UpdateTopic(0, TopicConfig("T", 4, 2)))
    ends = [broker.ask(10, "c1", GetMaxOffset(1, queue(number))).offset for number in range(4)]
    assert ends == [100, 100, 50, 50]


def test_nothing_comes_in_while_the_broker_is_down() -> None:
    broker = joined()
    broker.world.advance(5000)
    broker.disk.store.stop(5000)
    broker.world.advance(8000)
    broker.world.node.start(8000, broker.world)
    assert broker.disk.store.max_offset("T", 0, 10_000) == 70


RATES = st.sampled_from([0.0, 0.3, 1.0, 3.0, 10.0, 333.0])


@settings(max_examples=100, deadline=None)
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


@settings(max_examples=100, deadline=None)
@given(RATES.filter(bool), st.integers(0, 10_000), st.integers(0, 300))
def test_a_record_is_there_from_the_moment_of_its_arrival(rate: float, since: int, offset: int) -> None:
    stored = StoredQueue(0)
    stored.produce(since, rate)
    arrival = stored.next_arrival(offset)
    assert arrival is not None
    assert stored.max_offset(arrival) == offset + 1
    assert stored.max_offset(arrival - 0.01) == offset


def test_a_time_is_found_over_the_wire() -> None:
    assert joined().ask(5, "c1", SearchOffsetByTimestamp(1, queue(), 1234.0)).offset == 12
