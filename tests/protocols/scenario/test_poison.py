"""The event `poison` as it is written."""

import pytest

from protocols.errors import UserError
from protocols.load import PoisonRecord
from protocols.scenario.events import Poison
from protocols.scenario.fields import NamedCount
from protocols.scenario.reading import read_text
from protocols.scenario.writing import as_yaml
from tests.rows import rows

TEXT = """
name: poisoned
brokers: [broker-a]
topics: {orders: 4}
group: {name: billing, members: {c1: [orders]}}
run: {for: 1min}
systems: [kafka:range]
events:
  - %s
"""


def test_it_is_read_written_and_told() -> None:
    day = read_text(TEXT % Poison.example)
    (event,) = day.events
    assert event == Poison(at=30_000.0, group=None, poison="orders-2", attempts=10, pause=1000.0)
    assert read_text(as_yaml(day)) == day
    assert event.describe() == "orders-2 gets a record that is skipped after 10 attempts"
    assert event.written({"orders": {"broker-a": 4}}) == (NamedCount("orders", "", 2, 1),)
    (lasting,) = read_text(TEXT % "{at: 1s, poison: orders-broker-a-0}").events
    assert lasting == Poison(at=1000.0, poison="orders-broker-a-0")
    assert lasting.describe() == "orders-broker-a-0 gets a record that no attempt can handle"


@rows(
    ("event", "problem"),
    [
        ("{at: 1s, poison: orders}", "events[0].poison: unknown queue 'orders', expected topic-number or"),
        ("{at: 1s, poison: orders-4}", "events[0].poison: unknown queue 'orders-4', expected topic-number or"),
        ("{at: 1s, poison: orders-0, attempts: 0}", "events[0].attempts: "),
        ("{at: 1s, poison: orders-0, attempts: many}", "events[0].attempts: "),
        ("{at: 1s, poison: orders-0, pause: -1s}", "events[0].pause: "),
    ],
)
def test_mistakes_are_told_in_one_line(event: str, problem: str) -> None:
    with pytest.raises(UserError) as told:
        read_text(TEXT % event, "day.yaml")
    assert problem in str(told.value)
    assert "\n" not in str(told.value)


def test_a_loop_tries_with_pauses_between_the_attempts() -> None:
    assert PoisonRecord(0, 10, 1000.0).lasts(0.0) == 9000.0
    assert PoisonRecord(0, 3, 1000.0).lasts(50.0) == 2150.0
    assert PoisonRecord(0, 1, 1000.0).lasts(0.0) == 0.0
    assert PoisonRecord(0, None, 1000.0).lasts(50.0) is None
