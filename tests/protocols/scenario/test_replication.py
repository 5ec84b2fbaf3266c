"""How many replicas a queue has: as it is written, and who may lead when brokers end and return."""

import pytest

from protocols.errors import UserError
from protocols.scenario.rates import Replicas
from protocols.scenario.reading import read_text
from protocols.scenario.writing import as_yaml
from tests.rows import rows

TEXT = """
name: replicas
brokers: [a, b]
topics: {orders: 4}
group: {name: billing, members: {c1: [orders]}}
run: {for: 1min}
systems: [kafka:range]
replication: %s
"""


def test_it_is_read_and_written() -> None:
    day = read_text(TEXT % "{kafka: 2, rocketmq: 1}")
    assert day.replication == {"kafka": 2, "rocketmq": 1}
    assert read_text(as_yaml(day)) == day
    assert read_text(TEXT.replace("replication: %s", "")).replication == {}


@rows(
    ("written", "problem"),
    [
        ("{kafka: 3}", "day.yaml line 8: replication.kafka: 3 is more than there are brokers, expected at most 2"),
        ("{kafka: 0}", "day.yaml line 8: replication.kafka: "),
        ("{kafka: two}", "day.yaml line 8: replication.kafka: "),
        ("2", "day.yaml line 8: replication: "),
    ],
)
def test_mistakes_are_told_in_one_line(written: str, problem: str) -> None:
    with pytest.raises(UserError) as told:
        read_text(TEXT % written, "day.yaml")
    assert str(told.value).startswith(problem)
    assert "\n" not in str(told.value)


def test_replicas_are_on_the_next_brokers_in_order() -> None:
    assert [Replicas("abc", 2).in_sync(each) for each in "abc"] == [("a", "b"), ("b", "c"), ("c", "a")]
    assert Replicas("abc", 3).in_sync("b") == ("b", "c", "a")
    assert Replicas("ab", 3).in_sync("b") == ("b", "a")
