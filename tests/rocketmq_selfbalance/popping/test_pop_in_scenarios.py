"""Clients of the 5.x line behind a proxy, in scenarios: who gets which record, when it comes back, how it ends. Times
are those of recordings of released clients before a released proxy (spec pop, spec grpc 6); that simulated clients live
these stories again is shown in ``compare/conformance``."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from compare.running.run_variant import RunResult
from protocols.errors import UserError
from protocols.timeline.records import Given
from tests.rocketmq_selfbalance.popping import runs


def run(
    members: Mapping[str, Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]] = (),
    *,
    settings: Mapping[str, object] | None = None,
    queues: object = 4,
    produce: str = "1/s",
    lasts: str = "5min",
    brokers: Sequence[str] = ("broker-a",),
) -> RunResult:
    groups = {"g": {name: {"subscribe": ["orders"], **part} for name, part in members.items()}}
    return runs.run(groups, events, settings, queues=queues, brokers=brokers, produce=produce, lasts=lasts)


def given_of(result: RunResult) -> list[Given]:
    return sorted(result.timeline.given, key=lambda given: (given.since, given.queue, given.first))


FAST: Mapping[str, object] = {"handle": "5ms"}
JOIN = {"subscribe": ["orders"], "handle": "5ms"}


def test_who_has_waited_longest_gets_the_next_record_so_fast_members_take_turns() -> None:
    result = run({"c1": FAST, "c2": FAST}, [{"at": "60s", "join": "c3", **JOIN}], queues=1, produce="2/s")
    given = [each for each in given_of(result) if each.since > 90_000]
    assert given
    assert not [each for each in given if each.end - each.first > 1]
    assert max(Counter(each.member for each in given).values()) <= len(given) / 3 + 1
    # Nobody pauses at the join, and the newcomer asks for the first time a second after it started.
    handled = sorted(each.until for each in result.timeline.deliveries)
    assert max(later - earlier for earlier, later in pairwise(handled)) < 1_000
    first = min(each.since for each in given_of(result) if each.member == "c3")
    assert 61_000 <= first < 63_000


def test_records_of_a_killed_client_come_back_after_two_minutes_for_the_proxy_goes_on_renewing_them() -> None:
    members = {"c1": {"handle": "40s", "threads": 20}, "c2": FAST}
    result = run(members, [{"at": "62s", "crash": "c1"}], queues=1, produce="2/s")
    lost = [each for each in given_of(result) if each.member == "c1" and each.fate == "client gone"]
    hidden = [each for each in lost if each.since < 62_000]
    assert hidden
    # 120 s after the last heartbeat, at the next look of the proxy, then 1 s and the revival.
    assert all(62_000 + 110_000 < (each.until or 0) < 62_000 + 138_000 for each in hidden)
    assert all(each.renewed >= 2 for each in hidden)
    # The request that was open takes one more batch, which comes back at once.
    dead = [each for each in lost if each.since >= 62_000]
    assert dead
    assert all(2_000 < (each.until or 0) - each.since < 7_000 for each in dead)
    # That it took them does not count as an attempt, for nobody was given them.
    again = {(each.queue, each.first): each.attempt for each in given_of(result) if each.since > 62_000}
    assert {again[each.queue, offset] for each in hidden for offset in range(each.first, each.end)} == {2}
    assert {again[each.queue, offset] for each in dead for offset in range(each.first, each.end)} == {1}


@pytest.mark.parametrize("renews", [True, False])
def test_a_slow_listener_keeps_its_record_as_long_as_the_proxy_renews_it(renews: bool) -> None:
    result = run(
        {"c1": {"handle": "85s", "threads": 400}}, settings={"enableProxyAutoRenew": renews}, queues=1, lasts="4min"
    )
    again = [each for each in given_of(result) if each.attempt == 2]
    if renews:
        assert not again
        assert any(each.fate == "acknowledged" for each in given_of(result))
    else:
        firsts = {
            each.first: each.since for each in given_of(result) if each.attempt == 1 and each.end - each.first == 1
        }
        waits = [each.since - firsts[each.first] for each in again if each.first in firsts]
        assert waits
        assert all(62_000 <= wait <= 65_600 for wait in waits)


def test_a_killed_client_in_order_blocks_its_queues_for_two_minutes() -> None:
    members = {"c1": {"handle": "20s"}, "c2": FAST}
    settings = {"consumeMessageOrderly": True}
    result = run(members, [{"at": "62s", "crash": "c1"}], settings=settings, queues=1, produce="1/s")
    (blocked,) = [each for each in given_of(result) if each.fate == "client gone" and each.since < 62_000][:1]
    assert 62_000 + 110_000 < (blocked.until or 0) < 62_000 + 140_000
    between = [each for each in given_of(result) if 70_000 < each.since < 62_000 + 105_000]
    assert not between


def test_what_a_broker_gave_out_outlives_it() -> None:
    result = run(
        {"c1": FAST, "c2": {"handle": "10s", "threads": 400}},
        [{"at": "60s", "broker": "broker-a", "does": "kill", "for": "30s"}],
        queues={"broker-a": 2, "broker-b": 2},
        brokers=("broker-a", "broker-b"),
        produce="2/s",
    )
    ends = Counter(each.fate for each in given_of(result))
    assert set(ends) <= {"acknowledged", "invisible time over", "client gone", ""}
    missing = [each for each in given_of(result) if each.fate == "" and each.since < 200_000]
    assert not missing


@pytest.mark.parametrize(
    ("member", "settings", "told"),
    [
        ({"strategy": "AVG"}, {}, "member c1: strategy AVG: nobody shares queues, and no member names a strategy"),
        ({}, {"consumeThreadMin": 5}, "'consumeThreadMin' is no setting of rocketmq:POP"),
        ({}, {"consumeThreadMax": 5}, "consumeThreadMax concerns DefaultMQPushConsumer, and no member is one"),
        ({}, {"client": "simple"}, "client is 'simple', expected one of PushConsumer, SimpleConsumer, DefaultMQPush"),
        (
            {"settings": {"client": "SimpleConsumer", "invisibleDuration": 5_000}},
            {},
            "member c1: invisibleDuration is 5000, expected a whole number from 10000 to 43200000",
        ),
        (
            {"settings": {"client": "DefaultMQPushConsumer", "popBatchNums": 33}},
            {},
            "member c1: popBatchNums is 33, expected a whole number from 1 to 32",
        ),
        ({}, {"retryMaxTimes": -1}, "retryMaxTimes is -1, expected a whole number, 0 or more"),
        ({}, {"consumeMessageOrderly": 1}, "consumeMessageOrderly is 1, expected true or false"),
    ],
)
def test_what_pop_does_not_have_is_refused_in_one_line(
    member: Mapping[str, object], settings: Mapping[str, object], told: str
) -> None:
    with pytest.raises(UserError, match=told):
        run({"c1": member}, settings=settings)
