"""Committed offsets and locks of a broker (spec 2.7 to 2.9)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.engine.nodes import OPERATOR
from protocols.facts import Committed
from rocketmq_selfbalance.broker import BrokerSettings
from rocketmq_selfbalance.broker.offsets import ConsumerOffsetManager, stored_of
from rocketmq_selfbalance.broker.store import StopBroker
from rocketmq_selfbalance.codes import SUCCESS, TOPIC_NOT_EXIST
from rocketmq_selfbalance.messages.membership import ResetOffset, UpdateBrokerConfig
from rocketmq_selfbalance.messages.offsets import (
    QueryConsumerOffset,
    ResetConsumerClientOffset,
    UpdateConsumerOffset,
)
from rocketmq_selfbalance.messages.requests import LockBatchMq
from tests.rocketmq_selfbalance.broker.one_broker import OneBroker, queue


def commit(broker: OneBroker, at_s: float, client: str, offset: int, **more: object) -> object:
    return broker.ask(at_s, client, UpdateConsumerOffset(5, "g", queue(), offset, **more))  # type: ignore[arg-type]


def committed(broker: OneBroker, at_s: float) -> int | None:
    answer = broker.ask(at_s, "asks", QueryConsumerOffset(6, "g", queue(), set_zero_if_not_found=False))
    return answer.offset if answer.code == SUCCESS else None


def test_each_commit_is_told_with_who_made_it() -> None:
    broker = OneBroker()
    commit(broker, 0, "c1", 10)
    assert [each.fact for each in broker.world.facts] == [Committed("g", queue(), 10, "c1", None, "")]


def test_a_commit_that_repeats_what_is_stored_is_no_fact_whoever_sends_it() -> None:
    broker = OneBroker()
    for at, (client, offset) in enumerate((("c1", 10), ("c1", 10), ("c2", 10), ("c2", 11), ("c1", 10))):
        commit(broker, at, client, offset)
    assert [each.fact.member for each in broker.world.facts if isinstance(each.fact, Committed)] == ["c1", "c2", "c1"]


def test_a_commit_of_an_unknown_topic_is_refused() -> None:
    broker = OneBroker()
    answer = broker.ask(0, "c1", UpdateConsumerOffset(5, "g", queue(topic="U"), 1, oneway=False))
    assert answer.code == TOPIC_NOT_EXIST
    assert [each.fact.error for each in broker.world.facts if isinstance(each.fact, Committed)] == ["TOPIC_NOT_EXIST"]


def test_4_x_takes_every_commit() -> None:
    broker = OneBroker(settings=BrokerSettings(check_commits=False))
    assert broker.ask(0, "c1", UpdateConsumerOffset(5, "g", queue(topic="U"), 1, oneway=False)).code == SUCCESS


def test_a_stopped_broker_loses_nothing() -> None:
    broker = OneBroker()
    commit(broker, 16, "c1", 25)
    broker.ask(17, OPERATOR, StopBroker(0))
    assert committed(OneBroker(on=broker.disk), 0) == 25


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 50)), max_size=15), st.integers(0, 45_000))
def test_what_a_killed_broker_knows_is_what_it_knew_at_its_last_flush(steps: list[tuple[int, int]], at: int) -> None:
    broker, now, commits = OneBroker(), 0, []
    for pause, offset in steps:
        now += pause
        commit(broker, now / 1000, "c1", offset)
        commits.append((now, offset))
    end = max(now, at)
    broker.world.advance(end)
    last_flush = end // 5000 * 5000 if end >= 10_000 else 0
    # A flush comes before a commit of the same moment: its clock was set earlier.
    flushed = [offset for when, offset in commits if when < last_flush]
    assert committed(OneBroker(on=broker.disk), 0) == (flushed[-1] if flushed else None)


def test_a_reset_to_the_end_and_one_of_a_single_queue() -> None:
    broker = OneBroker(per_second=10)
    broker.ask(2, OPERATOR, ResetOffset(0, "g", "T", timestamp=-1.0))
    assert committed(broker, 2) == 20
    broker.ask(2, OPERATOR, ResetOffset(0, "g", "T", 0.0, queue_number=0, offset=7))
    assert committed(broker, 2) == 7


def test_what_is_known_of_a_topic_changes_with_commits_and_resets_and_is_what_a_query_gives() -> None:
    offsets = ConsumerOffsetManager(0.0)
    offsets.commit(0.0, "g", "T", 0, 5)
    offsets.assign_resets("g", "T", {1: 7, 2: 8})
    known = offsets.known("g", "T")
    offsets.commit(1.0, "g", "T", 3, 9)
    offsets.commit(1.0, "g", "T", 1, 1)
    assert offsets.take_reset("g", "T", 2) == 8
    assert dict(known) == {0: 5, 1: 7, 2: 8, 3: 9}
    offsets.commit(2.0, "g", "T", 2, 6)
    assert known[2] == 6
    assert [known.get(number, -1) for number in range(5)] == [offsets.query("g", "T", number) for number in range(5)]


def test_a_reset_through_the_clients_is_told_to_every_connection_of_the_group() -> None:
    broker = OneBroker(per_second=10)
    for client in ("c1", "c2"):
        broker.heartbeat(0, client)
    for number in range(4):
        broker.ask(1, "c1", UpdateConsumerOffset(5, "g", queue(number), 9))
    broker.world.take_sent()
    broker.ask(2, OPERATOR, UpdateBrokerConfig(0, use_server_side_reset_offset=False))
    broker.ask(2, OPERATOR, ResetOffset(0, "g", "T", 500.0))
    told = [sent for sent in broker.world.take_sent() if isinstance(sent.message, ResetConsumerClientOffset)]
    assert [sent.to for sent in told] == ["c1", "c2"]
    assert {offset for sent in told for _, offset in sent.message[3]} == {4}
    assert committed(broker, 2) == 9


def test_without_force_a_reset_through_the_clients_never_moves_forward() -> None:
    broker = OneBroker(per_second=10)
    broker.heartbeat(0, "c1")
    for number in range(4):
        broker.ask(1, "c1", UpdateConsumerOffset(5, "g", queue(number), number))
    broker.world.take_sent()
    broker.ask(2, OPERATOR, UpdateBrokerConfig(0, use_server_side_reset_offset=False))
    broker.ask(2, OPERATOR, ResetOffset(0, "g", "T", 300.0, force=False))
    [told] = [sent.message for sent in broker.world.take_sent() if isinstance(sent.message, ResetConsumerClientOffset)]
    assert [offset for _, offset in told.offsets] == [0, 1, 2, 2]


def test_locks_do_not_outlive_the_broker_s_process() -> None:
    broker = OneBroker()
    broker.ask(0, "c1", LockBatchMq(8, "g", "one", (queue(),)))
    assert OneBroker(on=broker.disk).ask(1, "c2", LockBatchMq(8, "g", "other", (queue(),))).locked == (queue(),)


NAMES = st.text("abT%_-", min_size=1, max_size=5)


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 9), st.integers(-1, 10**12)), max_size=12))
def test_the_offset_file_says_what_the_table_held(commits: list[tuple[str, str, int, int]]) -> None:
    manager = ConsumerOffsetManager(5, version_step=3)
    for group, topic, number, offset in commits:
        manager.commit(7, group, topic, number, offset)
    assert stored_of(manager.text(1000), 9, 1000) == manager.stored()


def test_the_offset_file_may_have_quoted_keys_and_names_that_look_like_them() -> None:
    text = '{"offsetTable":{"{1:@g":{ 0 :12,"1":7}}}'
    assert stored_of(text, 3).offsets == {"{1:@g": {0: 12, 1: 7}}


def test_what_is_no_offset_file_is_refused() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        stored_of("{1:", 0)
