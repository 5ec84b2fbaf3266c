"""The three classes of clients that own no queues, one beside the other: what each does otherwise (spec pop 3, 4; spec
grpc 2.6, 4)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from compare.running.run_variant import RunResult
from protocols.timeline.records import Given
from rocketmq_selfbalance.popping.settings import CLASSIC, CLIENTS, PUSH, SIMPLE
from tests.rocketmq_selfbalance.popping import runs

FAST: Mapping[str, Any] = {"subscribe": ["orders"], "handle": "5ms"}


def run(
    members: Mapping[str, Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]] = (),
    *,
    queues: Mapping[str, int] | None = None,
    produce: str = "1/s",
    lasts: str = "4min",
    **settings: object,
) -> RunResult:
    there = queues or {"b1": 2}
    groups = {"g": {name: {**FAST, **part} for name, part in members.items()}}
    return runs.run(groups, events, settings, queues=there, brokers=tuple(there), produce=produce, lasts=lasts)


def tries(result: RunResult, of: Given) -> list[Given]:
    return sorted(
        (each for each in result.timeline.given if each.queue == of.queue and each.first <= of.first < each.end),
        key=lambda each: each.since,
    )


@pytest.mark.parametrize("client", CLIENTS)
def test_every_record_is_handled_once_while_members_come_and_leave(client: str) -> None:
    events = [{"at": "60s", "join": "c3", **FAST}, {"at": "90s", "leave": "c1"}, {"at": "120s", "restart": "c2"}]
    result = run({"c1": {}, "c2": {}}, events, queues={"b1": 2, "b2": 2}, client=client)
    handled = [(each.queue, each.first) for each in result.timeline.deliveries]
    assert len(set(handled)) >= 4 * 238
    assert len(handled) == len(set(handled))


@pytest.mark.parametrize(
    ("client", "after_s"),
    # Of one behind the proxy that renews: 120 s without a heartbeat; else its own time; then 2.1 to 5.1 s of revival.
    [(PUSH, (110.0, 138.0)), (SIMPLE, (15.0, 20.2)), (CLASSIC, (60.0, 65.2))],
)
def test_what_a_killed_member_had_comes_back_when_nobody_keeps_it_any_longer(
    client: str, after_s: tuple[float, float]
) -> None:
    # What it begins shortly before it is killed is not done.
    events = [{"at": "61s", "slow": {"c1": "40s"}, "for": "10s"}, {"at": "64s", "crash": "c1"}]
    result = run({"c1": {}, "c2": {}}, events, client=client)
    lost = [each for each in result.timeline.given if each.member == "c1" and 61_000 < each.since < 64_000]
    lost = [each for each in lost if each.fate != "acknowledged"]
    assert lost
    for each in lost:
        assert after_s[0] * 1000 <= (each.until or 0) - 64_000 + (64_000 - each.since) * (client != PUSH)
        assert (each.until or 0) - 64_000 <= after_s[1] * 1000
        again = tries(result, each)
        assert [one.attempt for one in again] == [1, 2]
        assert again[1].fate == "acknowledged"


def test_a_classic_client_never_gives_up_a_record_and_hides_it_longer_each_time() -> None:
    result = run({"c1": {}}, [{"at": "10s", "poison": "orders-0"}], lasts="10min", client=CLASSIC)
    first = next(each for each in result.timeline.given if each.attempt == 2)
    gaps = [later.since - earlier.since for earlier, later in pairwise(tries(result, first))]
    assert len(gaps) >= 5
    for gap, delay in zip(gaps, (10, 30, 60, 120, 180), strict=False):
        assert delay * 1000 + 2_000 <= gap <= delay * 1000 + 5_300
    assert {each.fate for each in result.timeline.given} <= {"acknowledged", "invisible time over", ""}


def test_a_simple_consumer_says_of_a_bad_record_only_what_its_code_asks_for() -> None:
    silent, asking = (
        run({"c1": {}}, [{"at": "60s", "poison": "orders-0", "attempts": 1}], client=SIMPLE, **settings)
        for settings in ({}, {"changeInvisibleDuration": 1_000})
    )
    for result, (least, most) in ((silent, (15.0, 20.3)), (asking, (1.0, 6.3))):
        (again,) = [each for each in result.timeline.given if each.attempt == 2]
        first, second = tries(result, again)
        assert least <= (second.since - first.since) / 1000 <= most


def test_a_simple_consumer_asks_one_broker_at_a_time() -> None:
    """While it waits at one broker for the longest time that a proxy lets it, records of the other wait."""
    quiet = [{"at": "100s", "produce": {"orders-b2-0": 1}}]
    result = run({"c1": {}}, quiet, queues={"b1": 1, "b2": 1}, produce="0/s", client=SIMPLE, awaitDuration=60_000)
    (given,) = result.timeline.given
    assert 0 <= given.since - 100_000 <= 20_100
    asked = run({"c1": {}}, quiet, queues={"b1": 1, "b2": 1}, produce="0/s", client=PUSH)
    assert asked.timeline.given[0].since - 100_000 < 100


@pytest.mark.parametrize(("share", "members_of_a_queue"), [(-1, 4), (1, 2), (2, 3), (3, 4)])
def test_the_share_number_says_how_many_members_may_ask_for_a_queue(share: int, members_of_a_queue: int) -> None:
    members: Mapping[str, Mapping[str, Any]] = {f"c{number}": {} for number in range(1, 5)}
    result = run(members, queues={"b1": 4}, produce="10/s", lasts="90s", client=CLASSIC, popShareQueueNum=share)
    for queue in {each.queue for each in result.timeline.given}:
        late = {each.member for each in result.timeline.given if each.queue == queue and each.since > 45_000}
        assert len(late) == members_of_a_queue


def test_a_classic_client_that_is_too_slow_does_not_acknowledge() -> None:
    result = run({"c1": {"handle": "70s", "threads": 400}}, produce="1/min", lasts="5min", client=CLASSIC)
    assert {each.fate for each in result.timeline.given} <= {"invisible time over", ""}
    assert max(each.attempt for each in result.timeline.given) >= 3


def test_kinds_in_one_group_share_its_records() -> None:
    members = {client: {"settings": {"client": client}} for client in CLIENTS}
    result = run(members, produce="4/s")
    assert {each.member for each in result.timeline.given} == set(CLIENTS)
    handled = [(each.queue, each.first) for each in result.timeline.deliveries]
    assert len(handled) == len(set(handled)) >= 2 * 4 * 238
