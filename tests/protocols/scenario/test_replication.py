"""How many replicas a queue has: as it is written, and who may lead when brokers end and return."""

import pytest

from protocols.errors import UserError
from protocols.scenario.jitter import shifted
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
        ("{kafka: true}", "day.yaml line 8: replication.kafka: true is no number of replicas, expected one such as 2"),
        (
            "{rocketmq: 2, rocketmq_controller: 1}",
            "day.yaml line 8: replication.rocketmq_controller: 1 is neither true nor false, expected one of them",
        ),
        (
            "{rocketmq_controller: true}",
            "day.yaml line 8: replication.rocketmq_controller: a controller without slaves, expected rocketmq: 2 or",
        ),
        ("{kafka: two}", "day.yaml line 8: replication.kafka: "),
        ("2", "day.yaml line 8: replication: "),
    ],
)
def test_mistakes_are_told_in_one_line(written: str, problem: str) -> None:
    with pytest.raises(UserError) as told:
        read_text(TEXT % written, "day.yaml")
    assert str(told.value).startswith(problem)
    assert "\n" not in str(told.value)


OUTAGES = TEXT.replace("replication: %s", "replication: {rocketmq: 3}\ncontrollers: [a, q1]\nevents: [%s]")


def test_a_broker_that_starts_again_is_two_events_that_keep_their_distance_under_every_seed() -> None:
    day = read_text(OUTAGES % "{at: 10s, broker: b, does: kill, for: 20s}, {at: 35s, broker: a, does: freeze, for: 5s}")
    assert [(each.at, each.describe()) for each in day.events] == [
        (10_000, "b is killed"),
        (30_000, "b returns"),
        (35_000, "a freezes for 5s"),
    ]
    assert read_text(as_yaml(day)) == day
    for seed in range(5):
        killed, returned, _ = shifted(day, seed).events
        assert returned.at - killed.at == 20_000


@rows(
    ("event", "problem"),
    [
        ("{at: 1s, broker: a, does: freeze}", "events[0].for: is missing"),
        ("{at: 1s, broker: a, does: return, for: 2s}", "events[0].for: a broker returns for good"),
        ("{at: 1s, broker: a.s3, does: kill}", "events[0].broker: unknown broker 'a.s3', did you mean a.s?"),
        ("{at: 1s, broker: q1, does: stop}", None),
        ("{at: 1s, broker: b.s2, does: kill}", None),
    ],
)
def test_which_servers_an_event_may_name_and_for_how_long(event: str, problem: str | None) -> None:
    if problem is None:
        assert len(read_text(OUTAGES % event).events) == 1
        return
    with pytest.raises(UserError) as told:
        read_text(OUTAGES % event, "day.yaml")
    assert problem in str(told.value)


def test_replicas_are_on_the_next_brokers_in_order() -> None:
    assert [Replicas("abc", 2).in_sync(each) for each in "abc"] == [("a", "b"), ("b", "c"), ("c", "a")]
    assert Replicas("abc", 3).in_sync("b") == ("b", "c", "a")
    assert Replicas("ab", 3).in_sync("b") == ("b", "a")
