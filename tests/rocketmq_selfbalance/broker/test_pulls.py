"""What a pull finds at a broker (spec 2.10, 6.2, 6.3)."""

import pytest

from protocols.engine.nodes import OPERATOR, Message
from rocketmq_selfbalance.broker.store import Produce
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
from rocketmq_selfbalance.messages.membership import (
    DeleteTopicInBroker,
    ResetOffset,
    SubscriptionGroup,
    UpdateSubscriptionGroup,
    UpdateTopic,
)
from rocketmq_selfbalance.messages.nameserver import TopicConfig
from rocketmq_selfbalance.messages.offsets import PullMessage, QueryConsumerOffset
from tests.rocketmq_selfbalance.broker.one_broker import HOLD_MS, OneBroker, answers, joined, queue
from tests.rows import rows


@rows(
    ("offset", "code", "following"),
    [(0, PULL_OFFSET_MOVED, 3), (3, SUCCESS, 35), (50, PULL_NOT_FOUND, 50), (51, PULL_OFFSET_MOVED, 50)],
)
def test_an_offset_outside_of_the_queue_is_put_right(offset: int, code: int, following: int) -> None:
    broker = joined()
    broker.disk.store.queues["T"][0].min_offset = 3
    answer = broker.ask(5, "c1", PullMessage(1, "g", queue(), offset))
    assert (answer.code, answer.next_offset) == (code, following)


@rows(("offset", "code"), [(0, PULL_NOT_FOUND), (5, PULL_OFFSET_MOVED)])
def test_an_empty_queue_knows_only_offset_0(offset: int, code: int) -> None:
    answer = joined(0.0).ask(5, "c1", PullMessage(1, "g", queue(), offset))
    assert (answer.code, answer.next_offset) == (code, 0)


def held(at_s: float, broker: OneBroker, offset: int, topic: str = "T", client: str = "c1") -> None:
    """The client pulls, and is not answered."""
    broker.world.take_sent()
    assert broker.ask(at_s, client, PullMessage(2, "g", queue(topic=topic), offset, suspend_ms=HOLD_MS)) is None


def test_a_held_pull_whose_queue_is_reset_is_answered_with_the_next_record() -> None:
    broker = joined()
    held(5, broker, 50)
    broker.ask(5.05, OPERATOR, ResetOffset(0, "g", "T", 1000.0))
    broker.world.advance(30_000)
    [(at, answer)] = answers(broker)
    assert (at, answer.code, answer.next_offset) == (5.1, PULL_OFFSET_MOVED, 9)


@rows(
    ("change", "code"),
    [(UpdateTopic(0, TopicConfig("T", 8, 8)), PULL_NOT_FOUND), (DeleteTopicInBroker(0, "T"), TOPIC_NOT_EXIST)],
)
def test_a_change_of_the_topic_is_told_when_the_hold_time_is_over(change: Message, code: int) -> None:
    broker = joined(0.0)
    held(5, broker, 0)
    broker.ask(6, OPERATOR, change)
    broker.world.advance(30_000)
    [(at, answer)] = answers(broker)
    assert (at, answer.code) == (20.0, code)


def test_a_held_pull_waits_for_records_that_come_sooner_than_it_was_to_be_expected() -> None:
    broker = joined(0.01)
    held(5, broker, 0)
    broker.ask(6, OPERATOR, Produce(0, "T", 10.0))
    broker.world.advance(30_000)
    [(at, answer)] = answers(broker)
    assert (at, answer.code) == (pytest.approx(6.1, abs=0.001), SUCCESS)


def test_nobody_answers_a_pull_whose_connection_has_ended() -> None:
    broker = joined()
    broker.ask(5, "c1", PullMessage(1, "g", queue(), 50, suspend_ms=HOLD_MS))
    broker.close(5, "c1")
    broker.world.advance(30_000)
    assert answers(broker) == []
    assert broker.world.node.state.held == {}


def test_an_offset_that_rides_along_is_committed_even_if_the_pull_finds_nothing() -> None:
    broker = joined()
    broker.ask(5, "c1", PullMessage(1, "g", queue(), 50, suspend_ms=HOLD_MS, commit_offset=50))
    assert broker.ask(5, "c1", QueryConsumerOffset(2, "g", queue())).offset == 50


@rows(
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
    assert broker.world.node.state.offsets.query("g", "T", 0) == -1
