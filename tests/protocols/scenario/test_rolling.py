"""Members are restarted one after the other: a shorthand for the plain events of each."""

import pytest

from compare.running.systems import cluster_of, read_text
from protocols.errors import UserError
from protocols.scenario.events import Join
from protocols.scenario.events.rolling import successor
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.running import Run
from tests.rows import rows

HEAD = """
name: rolling
topics: {orders: 8}
group:
  name: billing
  members: {c1..c3: [orders], p1..p2: {subscribe: [orders], process: p}, d: {subscribe: [orders], instance_id: x}}
run: {for: 3min}
systems: [kafka:range]
events:
"""


def read(*events: str) -> Scenario:
    """The scenario with these events, each on a line of its own from line 10 on."""
    return read_text(HEAD + "".join(f"  - {each}\n" for each in events), "day.yaml")


def told(*events: str) -> list[str]:
    return [f"{event.at / 1000:g}: {event.describe()}" for event in read(*events).events]


def test_one_after_the_other_is_away_for_its_downtime() -> None:
    assert told("{at: 60s, rolling: c1..c3, gap: 30s, downtime: 10s}") == [
        "60: c1 leaves",
        "70: c1 restarts",
        "90: c2 leaves",
        "100: c2 restarts",
        "120: c3 leaves",
        "130: c3 restarts",
    ]


def test_successors_join_before_their_predecessors_leave() -> None:
    events = ("{at: 60s, rolling: c1..c3, gap: 30s, surge: 5s, at_once: 2}",)
    assert told(*events) == [
        "60: c1.2 joins",
        "60: c2.2 joins",
        "65: c1 leaves",
        "65: c2 leaves",
        "90: c3.2 joins",
        "95: c3 leaves",
    ]


def test_successors_are_numbered_on() -> None:
    assert [successor(name) for name in ("c1", "c1.2", "a.b", "a.9", ".5")] == ["c1.2", "c1.3", "a.b.2", "a.10", ".5.2"]
    again = "{at: 60s, rolling: c1, gap: 0s, surge: 1s}", "{at: 90s, rolling: c1.2, gap: 0s, surge: 1s}"
    assert told(*again) == ["60: c1.2 joins", "61: c1 leaves", "90: c1.3 joins", "91: c1.2 leaves"]


def test_a_successor_lives_in_a_process_of_its_own() -> None:
    join, _ = read("{at: 60s, rolling: p1, gap: 0s, surge: 1s}").events
    assert isinstance(join, Join)
    assert join.process is None


def test_static_members_may_be_restarted_but_have_no_successors() -> None:
    assert told("{at: 60s, rolling: d, gap: 0s, downtime: 1s}") == ["60: d leaves", "61: d restarts"]
    with pytest.raises(UserError, match=r"rolling\[1\]: d.2 would fence d, whose instance_id 'x' it has, .* no surge"):
        read("{at: 60s, rolling: [c1, d], gap: 10s, surge: 1s}")


@rows(
    ("event", "problem"),
    [
        (
            "{at: 1s, rolling: [c1, c9], gap: 1s}",
            "rolling[1]: unknown member 'c9', expected one of c1, c2, c3, p1, p2, d",
        ),
        ("{at: 1s, rolling: c1..c9, gap: 1s}", "rolling: unknown member 'c4'"),
        ("{at: 1s, rolling: [c1, c1], gap: 1s}", "rolling[1]: 'c1' appears twice, expected each name once"),
        ("{at: 1s, rolling: [], gap: 1s}", "rolling: nobody, expected at least one name"),
        ("{at: 1s, rolling: c1..c3}", "gap: is missing"),
        ("{at: 1s, rolling: c1, gap: 1s, for: 1s}", "for: unknown field 'for', expected one of at, group, rolling"),
        ("{at: 1s, rolling: c1, gap: 1s, how: stop}", "how: 'stop' is unknown, expected 'leave' or 'crash'"),
        ("{at: 1s, rolling: c1, gap: 1s, at_once: 0}", "at_once: 0 is out of bounds, expected at least 1"),
        ("{at: 1s, rolling: c1, gap: 1s, strategy: best}", "strategy: unknown strategy 'best'"),
        (
            "{at: 1s, rolling: c1, gap: 9s, surge: 1s, downtime: 1s}",
            "surge: surge and downtime at once, expected one of them",
        ),
        (
            "{at: 1s, rolling: c1..c2, gap: 9s, downtime: 10s}",
            "gap: 9s is shorter than downtime: 10s, expected at least as long (at_once restarts several at the same",
        ),
        (
            "{at: 170s, rolling: c1, gap: 0s, surge: 11s}",
            "rolling: c1 leaves at 181s is after the end of the run, expected at most 180s",
        ),
        ("{at: 1s, rolling: [p1, p2], gap: 0s, at_once: 2, downtime: 1s, how: crash}", "rolling[1]: p2 does not run"),
        ("{at: 1s, gap: 0s}", "nothing happens, expected one of join, leave,"),
    ],
)
def test_mistakes_are_told_in_one_line(event: str, problem: str) -> None:
    with pytest.raises(UserError) as raised:
        read(event)
    assert f"day.yaml line 10: events[0].{problem}".replace(".nothing", ": nothing") in str(raised.value)


def test_a_successor_whose_name_is_taken_is_told() -> None:
    with pytest.raises(UserError, match=r"rolling: c1.2 joins at 9s while it is a member"):
        read("{at: 1s, join: c1.2, like: c1}", "{at: 9s, rolling: c1, gap: 0s, surge: 1s}")


@rows(
    ("system", "how"),
    [
        ("kafka:range", "surge: 5s"),
        ("kafka:range+static", "downtime: 10s"),
        ("rocketmq:AVG", "downtime: 10s, how: crash"),
        ("rocketmq:AVG", "surge: 5s"),
        ("kafka-zookeeper:range", "at_once: 2"),
    ],
)
def test_every_system_lives_through_it(system: str, how: str) -> None:
    day = read(f"{{at: 30s, rolling: c1..c3, gap: 20s, {how}}}")
    run = Run.of(day, SystemPart(system=system), cluster_of(system)).run()
    assert len([event for event in run.calls.values() if event is not None]) == len(day.events)
