"""What a pull finds at a broker (spec 2.10, 6.2, 6.3)."""

import pytest

from protocols.engine.nodes import OPERATOR
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
from rocketmq_selfbalance.messages.administration import (
    DeleteTopicInBroker,
    ResetOffset,
    SubscriptionGroup,
    UpdateSubscriptionGroup,
    UpdateTopic,
)
from rocketmq_selfbalance.messages.offsets import GetMaxOffset, QueryConsumerOffset
from rocketmq_selfbalance.messages.pulling import PullAnswer, PullMessage, WatchedPullAnswer
from rocketmq_selfbalance.messages.topics import TopicConfig
from tests.rocketmq_selfbalance.broker.one_broker import HOLD_MS, RETRY, OneBroker, answers, joined, queue, send_back


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
