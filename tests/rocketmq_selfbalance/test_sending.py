"""Where producers' records go while a broker that they know is dead or frozen."""

from typing import Any

import pytest

from protocols.errors import UserError
from protocols.java import Queue
from rocketmq_selfbalance.sending import ProducerSettings, beside_frozen, by_key, in_turn, producer_settings, put_aside
from tests.rows import rows

TWO = [Queue("T", broker, number) for broker in ("a", "b") for number in range(6)]
THREE = [*TWO, *(Queue("T", "c", number) for number in range(6))]
DEAD = frozenset("a")


def test_a_dead_broker_is_met_once_a_round_and_nothing_is_refused() -> None:
    """Recorded: 114 of about 620 sends had a retry, not half of them, and the living queues got twice the rate."""
    sends = in_turn(TWO, DEAD, 72.0, 3)
    assert sends.retried == pytest.approx(12.0)
    assert sends.written == pytest.approx(dict.fromkeys(TWO[6:], 12.0))
    assert not sends.refused


@rows(
    ("listed", "dead", "attempts", "refused"),
    [(THREE, "a", 3, 0.0), (THREE, "ab", 3, 0.0), (THREE, "ab", 1, 48.0), (TWO, "a", 1, 36.0), (TWO, "ab", 3, 72.0)],
)
def test_what_is_refused_depends_on_the_attempts(listed: list[Queue], dead: str, attempts: int, refused: float) -> None:
    sends = in_turn(listed, frozenset(dead), 72.0, attempts)
    assert sum(sends.refused.values()) == pytest.approx(refused)
    assert sum(sends.refused.values()) + sum(sends.written.values()) == pytest.approx(72.0)


def test_records_with_keys_are_refused_until_the_list_is_shorter_and_then_go_to_the_queue_of_the_rest() -> None:
    every = {queue: 1.0 + queue.number for queue in TWO}
    known = by_key(every, TWO, DEAD)
    assert known.refused == {queue: every[queue] for queue in TWO[:6]}
    shorter = by_key(every, TWO[6:], DEAD)
    assert not shorter.refused
    assert shorter.written == {queue: 2 * every[queue] for queue in TWO[6:]}
    # 12 and 5 queues have no rest in common: keys are spread evenly.
    assert list(by_key(every, TWO[7:], DEAD).written.values()) == pytest.approx([sum(every.values()) / 5] * 5)


def test_threads_that_meet_a_frozen_broker_wait_and_the_first_of_them_gives_up() -> None:
    """Recorded in 20 s: 12 refused and 12 retried; about half of the rate is lost for the living broker as well."""
    frozen = frozenset("b")
    found = [beside_frozen(TWO, None, 72.0, frozen, ProducerSettings(), 20_000.0, seed) for seed in range(20)]
    for sends in found:
        refused = sum(sends.refused.values()) * 20
        assert 5 <= refused <= 29
        assert sends.retried * 20 + refused == pytest.approx(sum(sends.waiting.values()) * 20, abs=4.1)
        assert sum(sends.written.values()) < 40
    alone = beside_frozen(TWO, None, 72.0, frozen, ProducerSettings(threads=1), 20_000.0, 1)
    assert alone.twice == 0
    keyed = beside_frozen(TWO, dict.fromkeys(TWO, 6.0), 72.0, frozen, ProducerSettings(), 20_000.0, 1)
    assert keyed.retried == 0
    assert 15 <= sum(keyed.refused.values()) * 20 <= 29


def test_a_broker_that_is_put_aside_is_met_once_by_each_thread() -> None:
    living = dict.fromkeys(TWO[6:], 12.0)
    assert put_aside(living, 72.0, None, ProducerSettings()).retried == pytest.approx(0.4)
    sends = put_aside(living, 72.0, TWO[0], ProducerSettings())
    assert sum(sends.refused.values()) * 13 == pytest.approx(1)
    assert sends.retried * 13 == pytest.approx(3)


@rows(
    ("given", "problem"),
    [
        ({"sendMsgTimeout": 0}, "load.producer.sendMsgTimeout is 0, expected a whole number, 1 or more"),
        ({"retryTimesWhenSendFailed": True}, "load.producer.retryTimesWhenSendFailed is True, expected a whole number"),
        ({"sendLatencyFaultEnable": 1}, "load.producer.sendLatencyFaultEnable is 1, expected true or false"),
    ],
)
def test_wrong_settings_are_told_in_one_line(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError) as told:
        producer_settings(given)
    assert str(told.value).startswith(problem)
    assert producer_settings({"retryTimesWhenSendFailed": 0, "acks": "all"}).retry_times_when_send_failed == 0
