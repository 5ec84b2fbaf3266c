"""Rates per topic and queue, and threads of members, in whole runs of all systems."""

from typing import Any

import pytest

from compare.running.production import productions
from compare.running.run_variant import RunResult, run_variant
from compare.running.variants import variants_of
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.reading import scenario
from tests.compare.running.test_bursts import handled
from tests.rocketmq_selfbalance.lived import Lived

SYSTEMS = ("kafka:range", "kafka-zookeeper:range", "rocketmq:AVG")
TOPICS = {"orders": {"queues": {"broker-a": 2, "broker-b": 2}}, "payments": {"queues": {"broker-a": 1}}}
RATES = {"orders": "2/s", "orders-2": "8/s", "orders-broker-a-2": "6/s", "refunds": "4/s", "refunds-1": "9/s"}
EVENTS: list[dict[str, Any]] = [
    {"at": "60s", "queues": {"orders": {"broker-a": 3, "broker-b": 3}}},
    {"at": "80s", "add_topic": {"refunds": {"queues": {"broker-b": 2}}}},
]


def lived(system: str, events: list[dict[str, Any]], member: dict[str, Any], **more: Any) -> RunResult:
    day = scenario(
        **{
            "name": "rates",
            "brokers": ["broker-a", "broker-b"],
            "topics": TOPICS,
            "group": {"name": "g", "members": {"c1": {"subscribe": ["orders", "payments", "refunds"], **member}}},
            "load": {"produce": "1/s", "rates": RATES},
            "run": {"for": "3min", "seed": 3},
            "systems": [system],
            "events": events,
            **more,
        }
    )
    (variant,) = variants_of(day, (), (3,))
    return run_variant(variant)


def test_every_queue_gets_what_its_rate_says_also_one_that_comes_later(subtests: pytest.Subtests) -> None:
    for system in SYSTEMS:
        for handle in [0.0, 8.0]:
            with subtests.test(system=system, handle=handle):
                run = lived(system, EVENTS, {"handle": handle, "settings": {"metadata.max.age.ms": 10_000}})
                written = {queue: each.end_offset(180_000.0) for queue, each in productions(run).items()}
                ends = [("broker-a", 0, 360), ("broker-a", 1, 360), ("broker-b", 0, 1440), ("broker-b", 1, 360)]
                ends += [("broker-a", 2, 720), ("broker-b", 2, 240)]
                per_broker = system.startswith("rocketmq")
                expected = {
                    Queue("orders", broker, number) if per_broker else Queue("orders", "", place): end
                    for place, (broker, number, end) in enumerate(ends)
                }
                expected[Queue("payments", "broker-a" if per_broker else "", 0)] = 180
                at = "broker-b" if per_broker else ""
                expected |= {Queue("refunds", at, 0): 400, Queue("refunds", at, 1): 900}
                assert written == expected
                got = handled(run)
                assert {queue: end for queue, end in expected.items() if not 0 <= end - got[queue] <= 2} == {}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_topic_made_anew_has_its_rates_again(system: str) -> None:
    anew = [{"at": "60s", "delete_topic": "orders"}, {"at": "90s", "add_topic": {"orders": TOPICS["orders"]}}]
    run = lived(system, anew, {}, load={"rates": {"orders-2": "8/s"}})
    hot = Queue("orders", "broker-b", 0) if system.startswith("rocketmq") else Queue("orders", "", 2)
    written = {queue: each.end_offset(180_000.0) for queue, each in productions(run).items()}
    assert written[hot] == sum(written.values()) == 90 * 8
    late = max(each.end for each in run.timeline.counted_deliveries if each.queue == hot and each.since > 90_000)
    assert 0 <= 90 * 8 - late <= 2


def test_a_broker_that_was_down_takes_its_own_rates_when_it_returns() -> None:
    events = [
        {"at": "50s", "broker": "broker-b", "does": "kill"},
        {"at": "60s", "queues": {"orders": {"broker-a": 3, "broker-b": 3}}},
        {"at": "100s", "broker": "broker-b", "does": "return"},
    ]
    rates = {"orders": "2/s", "orders-2": "8/s", "orders-broker-b-2": "6/s"}
    run = lived("rocketmq:AVG", events, {}, load={"produce": "1/s", "rates": rates})
    ends = {queue: each.end_offset(180_000.0) for queue, each in productions(run).items()}
    written = {queue.number: end for queue, end in ends.items() if queue.broker == "broker-b"}
    # It returns at 100 s; the producers know it from their poll at 120.01 s on.
    assert written == {0: int((50 + 59.99) * 8), 1: int((50 + 59.99) * 2), 2: int(59.99 * 6)}
    got = handled(run)
    assert all(0 <= end - got[Queue("orders", "broker-b", number)] <= 2 for number, end in written.items())


PULLS = {"consumer": "lite_pull", "litePullBatchSize": 32}


def test_a_burst_of_one_queue_takes_as_long_as_the_threads_need(subtests: pytest.Subtests) -> None:
    for system, member, seconds in [
        ("kafka:range", {}, 40.0),
        ("kafka:range", {"threads": 5}, 8.0),
        ("kafka-zookeeper:range", {"threads": 5}, 8.0),
        ("rocketmq:AVG", {}, 2.0),
        ("rocketmq:AVG", {"threads": 1}, 40.0),
        ("rocketmq:AVG", {"threads": 5}, 8.0),
        ("rocketmq:AVG", {"threads": 5, "settings": {"consumeThreadMax": 10}}, 4.0),
        ("rocketmq:AVG", {"settings": PULLS}, 40.0),
        ("rocketmq:AVG", {"settings": PULLS, "threads": 8}, 5.0),
    ]:
        with subtests.test(system=system, member=member, seconds=seconds):
            run = lived(
                system,
                [{"at": "60s", "produce": {"orders-0": 2000}}],
                {"subscribe": ["orders"], "handle": 20.0, **member},
                topics={"orders": 2},
                load={},
                threads="real",
            )
            last = max(each.until for each in run.timeline.counted_deliveries)
            assert seconds <= last / 1000 - 60 < seconds * 1.1 + 0.3


def test_threads_of_a_member_go_before_the_setting_of_the_variant() -> None:
    members = {"c1": {"subscribe": ("T",), "threads": 4}, "c2": {"subscribe": ("T",)}}
    ran = Lived({"T": {"broker-a": 1}}, members, seconds=5, settings={"consumeThreadMax": 7}).cluster
    found = [ran.members.spec(key, ()).settings.consuming.consume_thread_max for key in ran.members.parts]
    assert found == [4, 7]


def test_more_threads_than_rocketmq_allows_are_one_line() -> None:
    with pytest.raises(UserError) as refused:
        lived("rocketmq:AVG", [], {"threads": 2000}, load={})
    assert "member c1: consumeThreadMax is 2000, expected a whole number from 1 to 1000" in str(refused.value)
