"""Rates per topic and per queue: which queue a name means, and what cannot be one."""

from pathlib import Path
from typing import Any

import pytest

from protocols.errors import UserError
from protocols.scenario.model import Scenario
from protocols.scenario.rates import Rates
from protocols.scenario.reading import read, scenario
from tests.rows import rows


def day(rates: dict[str, Any], *events: dict[str, Any], topics: Any = None) -> Scenario:
    return scenario(
        name="rates",
        brokers=["broker-a", "broker-b"],
        topics=topics or {"orders": {"queues": {"broker-a": 2, "broker-b": 2}}, "payments": 2},
        group={"name": "g", "members": {"c1": ["orders"]}},
        load={"produce": "10/s", "rates": rates},
        run={"for": "1min"},
        systems=["kafka:range"],
        events=list(events),
    )


def test_a_queue_goes_before_its_topic_and_this_before_the_default() -> None:
    rates = Rates(day({"orders": "50/s", "orders-1": "400/s", "orders-broker-b-1": "5/s"}))
    assert rates.of("orders") == (50.0, 400.0, 50.0, 5.0)
    assert rates.of("payments") == (10.0, 10.0)
    assert (rates.at("orders", "broker-a"), rates.at("orders", "broker-b")) == ((50.0, 400.0), (50.0, 5.0))
    assert (rates.usual("orders"), rates.usual("payments")) == (50.0, 10.0)


@rows(
    ("rates", "problem"),
    [
        (
            "order: 5/s",
            "load.rates.order: unknown topic or queue 'order', expected a topic, topic-number or topic-broker-number,"
            " of what is there or comes by an event",
        ),
        (
            "orders-4: 5/s",
            "load.rates.orders-4: unknown topic or queue 'orders-4', expected a topic, topic-number or"
            " topic-broker-number, of what is there or comes by an event",
        ),
        ("orders-1: 5", "load.rates.orders-1: 5 has no unit, expected a number per time such as 10/s or 600/min"),
        (
            "orders-1: 5/s, orders-broker-a-1: 6/s",
            "load.rates.orders-broker-a-1: 'orders-broker-a-1' is the same queue as 'orders-1', expected one of them",
        ),
    ],
)
def test_what_cannot_be_is_one_line_with_its_place(rates: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "name: s\ntopics: {orders: 4}\ngroup: {name: g, members: {c1: [orders]}}\nrun: {for: 1min}\n"
        f"load:\n  rates: {{{rates}}}\n"
    )
    with pytest.raises(UserError) as refused:
        read(path)
    assert str(refused.value) == f"{path} line 6: {problem}"


@rows("threads", [0, -1, 1.5, True])
def test_threads_are_a_whole_number_from_1_on(threads: Any) -> None:
    with pytest.raises(UserError, match=r"group\.members\.c1\.threads: .*(whole number|expected at least 1)"):
        scenario(
            name="s",
            topics={"t": 1},
            group={"name": "g", "members": {"c1": {"subscribe": ["t"], "threads": threads}}},
            run={"for": "1min"},
        )
