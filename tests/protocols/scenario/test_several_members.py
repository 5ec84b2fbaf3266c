"""Where an event names a member, several may stand: it means one event of each at the same time."""

import pytest

from compare.running.systems import read_text
from protocols.errors import UserError
from protocols.scenario.events import Join
from protocols.scenario.events.base import described
from protocols.scenario.fields import listed_members
from protocols.scenario.model import Scenario
from tests.rows import rows

HEAD = """
name: several
topics: {orders: 8}
groups:
  billing: {members: {c1..c4: [orders], d: {subscribe: [orders], instance_id: x}}}
  audit: {members: {c1: [orders], a1..a2: [orders]}}
run: {for: 5min}
systems: [kafka:range]
events:
"""


def read(*events: str) -> Scenario:
    """The scenario with these events, each on a line of its own from line 10 on."""
    return read_text(HEAD + "".join(f"  - {each}\n" for each in events), "day.yaml")


def told(*events: str) -> list[str]:
    return [f"{event.at / 1000:g} {event.group} {event.describe()}" for event in read(*events).events]


@rows(
    ("written", "meant"),
    [
        ("crash: [c2, c4]", ["c2 crashes", "c4 crashes"]),
        ("crash: c2..c4", ["c2 crashes", "c3 crashes", "c4 crashes"]),
        ("leave: [c4, c2..c3]", ["c4 leaves", "c2 leaves", "c3 leaves"]),
        ("hang: [c2, c3], for: 4s", ["c2 hangs for 4s", "c3 hangs for 4s"]),
        ("stop_polling: c2..c3, for: 4s", ["c2 stops polling for 4s", "c3 stops polling for 4s"]),
        ("restart: c2..c3, how: crash", ["c2 restarts after a kill", "c3 restarts after a kill"]),
        ("disconnect: [c2, c3]", ["c2 loses its connections", "c3 loses its connections"]),
        ("join: n08..n10, subscribe: [orders], group: billing", ["n08 joins", "n09 joins", "n10 joins"]),
    ],
)
def test_one_event_of_each_at_the_same_time_in_the_order_written(written: str, meant: list[str]) -> None:
    assert told(f"{{at: 60s, {written}}}") == [f"60 billing {each}" for each in meant]


@rows(
    ("event", "problem"),
    [
        ("{at: 1s, crash: [c2, c9]}", "events[0].crash[1]: unknown member 'c9'"),
        ("{at: 1s, crash: [c2, c3..c9]}", "events[0].crash[1]: unknown member 'c5'"),
        ("{at: 1s, crash: []}", "events[0].crash: nobody, expected at least one name"),
        ("{at: 1s, crash: [c2, 5]}", "events[0].crash[1]: 5 is no text, expected a name"),
        ("{at: 1s, crash: c4..c2}", "events[0].crash: 'c4..c2' is no range of names, expected one such as c1..c20"),
        ("{at: 1s, crash: [c2, c1]}", "events[0].crash[1]: member 'c1' is in several groups, expected group: one of"),
        ("{at: 1s, crash: [c2, a1], group: billing}", "events[0].crash[1]: unknown member 'a1' in group billing"),
        ("{at: 6min, crash: [c2, c3]}", "events[0].at: 6min is after the end of the run, expected at most 5min"),
        ("{at: 1s, join: [n1, n2], subscribe: orders}", "events[0].join[0]: n1 joins no group, expected group: one of"),
        ("{at: 1s, join: [n1, n2], group: audit}", "events[0].join[0]: n1 joins without subscribe: [topic, ...]"),
        ("{at: 1s, commit: [c2, c3]}", "events[0].commit: ['c2', 'c3'] is no text, expected a name"),
    ],
)
def test_mistakes_are_told_where_they_are_written(event: str, problem: str) -> None:
    with pytest.raises(UserError) as raised:
        read(event)
    assert str(raised.value).startswith(f"day.yaml line 10: {problem}")


def test_mistakes_in_later_events_of_the_same_members_are_told() -> None:
    with pytest.raises(UserError, match=r"line 11: events\[1\].crash\[1\]: c3 does not run at 2s: c3 crashes at 1s"):
        read("{at: 1s, crash: [c2, c3]}", "{at: 2s, crash: [c4, c3]}")
    with pytest.raises(UserError, match=r"line 11: events\[1\].process: c3 had another process before"):
        read("{at: 1s, leave: [c2, c3]}", "{at: 2s, join: [c3], process: p}")


# One member like another


@rows(
    ("event", "problem"),
    [
        ("{at: 1s, join: n1, group: billing, like: c9}", "events[0].like: unknown member 'c9' in group billing"),
        ("{at: 1s, join: n1, like: c1}", "events[0].join: n1 joins no group, expected group: one of billing, audit"),
        ("{at: 1s, join: n1, group: billing, like: n1}", "events[0].join: n1 is like n1, which was never there"),
        (
            "{at: 1s, join: n1, group: billing, like: d}",
            "events[0].join: n1 would fence d, whose instance_id 'x' it has, expected another instance_id (join)",
        ),
    ],
)
def test_whom_nobody_can_be_like(event: str, problem: str) -> None:
    with pytest.raises(UserError) as raised:
        read(event)
    assert str(raised.value).startswith(f"day.yaml line 10: {problem}")


def test_one_may_be_like_a_static_member_with_an_id_of_its_own() -> None:
    (join,) = read("{at: 1s, join: n1, group: billing, like: d, instance_id: y}").events
    assert isinstance(join, Join)
    assert (join.subscribe, join.instance_id) == (("orders",), "y")


# In words


def test_equal_events_are_told_together() -> None:
    day = read(
        "{at: 1s, crash: [c2, c3]}",
        "{at: 1s, leave: d}",
        "{at: 1s, crash: [c4]}",
        "{at: 1s, hang: a1, for: 2s}",
        "{at: 1s, hang: a2, for: 3s}",
    )
    assert described(day.events) == ["c2 and c3 crash", "d leaves", "c4 crashes", "a1 hangs for 2s", "a2 hangs for 3s"]
    assert described(()) == []


@rows(
    ("names", "words"),
    [
        ("c1", "c1"),
        ("c1 c2 c3", "c1, c2 and c3"),
        ("c1 c2 c3 c4", "c1 to c4"),
        ("c8 c9 c10 c11 d", "c8 to c11 and d"),
        ("c08 c09 c10 c11", "c08 to c11"),
        ("c8 c09 c10 c11", "c8, c09, c10 and c11"),
        ("c4 c3 c2 c1", "c4, c3, c2 and c1"),
        ("a b c d e f", "a, b, c, d, e and f"),
        ("a b c d e f g", "a, b, c, d, e and 2 more"),
        ("a b c1 c2 c3 c4 d e f g h", "a, b, c1 to c4, d, e and 3 more"),
        ("c999999999 c1000000000 c1000000001 c1000000002", "c999999999, c1000000000, c1000000001 and c1000000002"),
    ],
)
def test_lists_of_members_are_short(names: str, words: str) -> None:
    assert listed_members(names.split()) == words
