"""Records that come at once: where they go, and how each system works them off."""

from pathlib import Path
from typing import Any

import pytest

from compare.running.lag import lag_of, lag_peak
from compare.running.production import productions
from compare.running.run_variant import run_variant
from compare.running.variants import variants_of
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.events import Produce
from protocols.scenario.events.records import records_of
from protocols.scenario.fields import NamedCount
from protocols.scenario.reading import read, scenario

SYSTEMS = ("kafka:range", "kafka-zookeeper:range", "rocketmq:AVG")
BROKERS = ["broker-a", "broker-b"]


def lived(system: str, *events: dict[str, Any], **more: Any) -> Any:
    day = scenario(
        **{
            "name": "a burst",
            "brokers": BROKERS,
            "topics": {"orders": 4},
            "group": {"name": "g", "members": {f"c{n}": {"subscribe": ["orders"], "handle": 8.0} for n in (1, 2)}},
            "run": {"for": "3min", "seed": 3},
            "systems": [system],
            "events": list(events),
            **more,
        }
    )
    (variant,) = variants_of(day, (), (3,))
    return run_variant(variant)


def handled(run: Any) -> dict[Queue, int]:
    found: dict[Queue, int] = {}
    for each in run.timeline.counted_deliveries:
        found[each.queue] = max(found.get(each.queue, 0), each.end)
    return found


def test_a_topic_that_is_made_anew_has_nothing_of_before() -> None:
    run = lived(
        "kafka:range",
        {"at": "30s", "produce": {"orders": 8}},
        {"at": "60s", "delete_topic": "orders"},
        {"at": "90s", "add_topic": {"orders": 2}},
        {"at": "120s", "produce": {"orders": 4}},
    )
    assert [each.end_offset(180_000.0) for each in productions(run).values()][:2] == [2, 2]


def test_records_are_dealt_over_the_queues_of_a_topic_in_turn() -> None:
    event = Produce(at=0.0, produce={"orders": 6, "orders-broker-b-1": 5, "orders-2": 1})
    topics = {"orders": {"broker-a": 2, "broker-b": 2}}
    assert records_of(event, topics) == (
        *(NamedCount("orders", "", number, count) for number, count in enumerate((2, 2, 1, 1))),
        NamedCount("orders", "broker-b", 1, 5),
        NamedCount("orders", "", 2, 1),
    )
    told = "orders gets 6 records at once, orders-broker-b-1 gets 5 records at once and orders-2 gets 1 record at once"
    assert event.describe() == told


def test_what_is_written_to_nothing_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "name: s\ntopics: {orders: 2}\ngroup: {name: g, members: {c1: [orders]}}\nrun: {for: 1min}\n"
        "events:\n  - {at: 10s, produce: {order: 5}}\n"
    )
    with pytest.raises(UserError) as refused:
        read(path)
    assert str(refused.value) == (
        f"{path} line 6: events[0].produce: unknown queue 'order', expected topic-number or topic-broker-number of a"
        " topic that is there, or a topic"
    )


BROKER_DOWN: list[dict[str, Any]] = [
    {"at": "60s", "broker": "broker-b", "does": "kill"},
    {"at": "70s", "produce": {"orders": 400}},
    {"at": "110s", "broker": "broker-b", "does": "return"},
]


def test_a_broker_that_is_down_takes_nothing() -> None:
    alone = {"brokers": ["broker-a"], "topics": {"orders": 1}, "load": {"produce": "2/s"}}
    (written,) = productions(lived("rocketmq:AVG", *_with("broker-a", BROKER_DOWN), **alone)).values()
    assert [written.end_offset(now) for now in (59_000.0, 60_000.0, 109_000.0, 120_000.0)] == [118, 120, 120, 140]


def _with(broker: str, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**event, "broker": broker} if "broker" in event else event for event in events]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_poison_record_is_late_until_it_is_passed_over(system: str) -> None:
    """The last record of its queue: nobody ever handles it, and none waits for it in the end."""
    run = lived(system, {"at": "60s", "produce": {"orders-1": 3}}, {"at": "70s", "poison": "orders-1", "attempts": 3})
    queue = next(each for each in productions(run) if each.number == 1)
    assert productions(run)[queue].end_offset(180_000.0) == 4
    assert handled(run)[queue] == 3
    assert run.timeline.redelivered == 0
    late = {
        each.at: each.records for each in lag_of(run, productions(run), [71_000.0, 150_000.0]) if each.queue == queue
    }
    # RocketMQ's queue goes on at once, the record comes back in another one.
    assert late == {71_000.0: 0 if system == "rocketmq:AVG" else 1, 150_000.0: 0}
    peak = lag_peak(run, productions(run))
    assert peak is not None
    assert peak.drain is not None
