"""Whole clusters without load: passing over quiet times tells the same facts at the same times, and sends the same."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocols.facts import RebalanceBegan
from rocketmq_selfbalance.messages.membership import NotifyConsumerIdsChanged
from tests.rocketmq_selfbalance.lived import Lived, left_behind
from tests.rocketmq_selfbalance.test_random_scenarios import HAPPENINGS, events_of
from tests.rows import rows

TOPICS = {"T": {"broker-a": 2, "broker-b": 3}, "U": {"broker-b": 1}}
KINDS: list[dict[str, Any]] = [
    {},
    {"orderly": True},
    {"consumer": "lite_pull"},
    {"messageModel": "BROADCASTING"},
    {"version": "4.5"},
    {"heartbeatBrokerInterval": 150_000},
    {"rocketmq.client.rebalance.waitInterval": 3_000, "rocketmq.client.rebalance.minInterval": 5_000},
    {"mqClientApiTimeout": 8},
]
"""Of the last three one lets clients be forgotten between two heartbeats, one lets its thread wake before it may begin
a pass, and one does not wait for the slowest answers."""


LATENCIES = ((1.0, 5.0), (2.0, 2.0), (0.0, 0.0))
"""Of the last two, much happens at one time."""


def at(seconds: float, **what: Any) -> dict[str, Any]:
    return {"at": seconds * 1000.0, **what}


def both(*events: Any, seconds: float, members: Any = ("c1", "c2"), **more: Any) -> tuple[Lived, Lived]:
    """A quick run and a full one."""
    parts = members if isinstance(members, dict) else {name: {"subscribe": ("T", "U")} for name in members}
    quick, full = (Lived(TOPICS, parts, *events, seconds=seconds, full=full, **more) for full in (False, True))
    return quick, full


def assert_equal(quick: Lived, full: Lived) -> None:
    assert quick.facts == full.facts
    assert quick.variant.simulation.messages == full.variant.simulation.messages
    for name in ("broker-a", "broker-b"):
        assert quick.cluster.broker(name) is None or left_behind(quick.broker(name)) == left_behind(full.broker(name))


@settings(max_examples=15, deadline=None)
@given(HAPPENINGS, st.sampled_from(KINDS), st.integers(0, 99), st.booleans(), st.sampled_from(LATENCIES))
@example([("join", 0.1, 1), ("hang", 0.1, 1)], {}, 0, False, LATENCIES[0])
@example([("hang", 0.1, 3), ("stop", 0.1, 1)], {"orderly": True}, 0, False, LATENCIES[0])
@example(
    [("stop", 0.1, 1), ("cut", 0.1, 1), ("join", 47.0, 1), ("leave", 0.1, 1), ("cut", 21.0, 1)],
    *({}, 0, False, LATENCIES[0]),
)
def test_whatever_happens(
    happenings: list[tuple[str, float, int]],
    chosen: dict[str, Any],
    seed: int,
    burst: bool,
    latency: tuple[float, float],
) -> None:
    events, over = events_of(happenings)
    events += [at(over + 70, produce={"T": 40})] if burst else []
    assert_equal(*both(*events, seconds=over + 150, settings=chosen, seed=seed, latency=latency))


@rows("chosen", KINDS[-3:])
def test_unusual_periods_and_patience(chosen: dict[str, Any]) -> None:
    assert_equal(*both(seconds=400, settings=chosen))


def test_records_wake_those_who_pull_the_queue() -> None:
    """The former owner's last pull is long over when they come, though he goes on pulling other queues."""
    quick, full = both(at(60, join="c3", subscribe=("T", "U")), at(200, produce={"T": 5, "U": 1}), seconds=230)
    assert_equal(quick, full)


def test_pulls_that_are_held_are_passed_over() -> None:
    quick, full = both(seconds=600)
    assert_equal(quick, full)
    assert quick.variant.simulation.number < full.variant.simulation.number / 4


def test_lock_rounds_that_begin_at_the_same_time_are_passed_over() -> None:
    quick, full = both(seconds=600, settings={"orderly": True})
    assert_equal(quick, full)
    assert quick.variant.simulation.number < full.variant.simulation.number / 4


def test_pulls_are_answered_while_the_members_are_asked_for() -> None:
    """Requests and answers of a pass that takes long, over links that also carry the ends of held pulls."""
    topics = {f"T{number}": {"broker-a": 2, "broker-b": 2} for number in range(12)}
    members = {name: {"subscribe": tuple(topics)} for name in ("c1", "c2", "c3")}
    quick, full = (
        Lived(topics, members, at(301, leave="c2"), seconds=400, full=full, latency=(1.0, 90.0))
        for full in (False, True)
    )
    assert_equal(quick, full)
    assert quick.variant.simulation.number < full.variant.simulation.number


def test_a_broker_that_returns_holds_pulls_anew() -> None:
    down = [at(60, broker="broker-b", does="kill"), at(61, broker="broker-b", does="return")]
    for burst in (66, 200):
        assert_equal(*both(*down, at(burst, produce={"T": 10}), seconds=250))


def test_pulls_that_were_lost_are_overdue_though_others_are_answered() -> None:
    cut = {"network": "cut", "between": ("c1", "broker-b"), "for": 11_500.0}
    for seconds in (100, 104, 108):
        assert_equal(*both(at(seconds, **cut), seconds=300, members=("c1",)))


@rows("fault", [{"network": "delay", "delay": 400.0}, {"network": "loss", "loss": 0.2}])
def test_what_goes_over_a_bad_network_is_simulated(fault: dict[str, Any]) -> None:
    bad = at(60, between=("c1", "broker-b"), **{"for": 300_000.0}, **fault)
    assert_equal(*both(bad, seconds=500))


def test_positions_that_lite_pull_is_yet_to_keep_are_kept_in_time() -> None:
    stop = at(30, stop_polling="c1", **{"for": 93_000.0})
    chosen = {"consumer": "lite_pull", "persistConsumerOffsetInterval": 700}
    assert_equal(*both(stop, at(56, produce={"U": 3}), seconds=250, members=("c1",), settings=chosen))


def test_a_commit_comes_too_late_for_a_member_that_shuts_down() -> None:
    late = [at(60, leave="c1"), at(60.005, commit="c1")]
    assert_equal(*both(*late, seconds=120))


def test_a_pass_that_is_put_off_is_told_even_if_it_finds_nothing() -> None:
    chosen = {"rocketmq.client.rebalance.minInterval": 8_000}
    quick, full = both(at(62, disconnect="c1", broker="broker-a"), seconds=120, settings=chosen)
    assert_equal(quick, full)
    assert [time for time, _, _ in quick.told(RebalanceBegan) if time > 62]


def test_a_crowd_that_starts_at_once_observes_what_it_does_in_full() -> None:
    members = {f"c{number}": {"subscribe": ("T", "U")} for number in range(40)}
    quick, full = both(at(90, leave="c1"), seconds=150, members=members)
    assert_equal(quick, full)
    assert full.variant.simulation.messages[NotifyConsumerIdsChanged] > 40 * 39
