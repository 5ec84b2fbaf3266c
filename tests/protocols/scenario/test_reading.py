"""A scenario file, its shorthands, and the same thing from Python."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from compare.running.systems import read, read_text, scenario
from protocols.scenario import reading
from protocols.scenario.events import EVENT_KINDS, Hang, Join, Restart, Rolling
from protocols.scenario.events.members import started_as
from protocols.scenario.fields import GroupPart, MemberPart
from protocols.scenario.model import Scenario, SystemStrategies
from protocols.strategies import StrategyRecord
from tests.protocols.scenario.texts import TEXT
from tests.rows import rows
from tools.scenario_reference import EXAMPLES, reference

ROOT = Path(__file__).parent.parent.parent.parent
EXAMPLE_FILES = sorted((ROOT / "examples" / "scenarios").glob("*.yaml"))


SMALL: Mapping[str, object] = {
    "name": "small",
    "brokers": ["broker-a", "broker-b"],
    "topics": {"orders": 4},
    "group": {"name": "billing", "members": {"c1": ["orders"], "c2": {"subscribe": ["orders"]}}},
    "run": {"for": "5min"},
}


def small(**more: object) -> Scenario:
    """A scenario of two members on one topic, with more fields."""
    return scenario({**SMALL, **more})


def test_every_line_of_the_format_arrives() -> None:
    day = read_text(TEXT)
    assert day.brokers == ("broker-a", "broker-b")
    assert day.topics["TopicX"].queues == {"broker-a": 2, "broker-b": 2}
    assert day.groups["seed"].members["c1"].handle == 20.0
    assert day.load.produce == 10.0
    assert (day.run.for_, day.run.seed, day.run.latency) == (300_000.0, 1, (1.0, 5.0))
    assert [each.label for each in day.systems] == ["kafka:range", "short session"]
    assert day.systems[1].settings == {"session.timeout.ms": 6000}
    assert [event.describe() for event in day.events] == [
        "c3 joins",
        "c2 crashes",
        "c1 hangs for 40s",
        "c2 restarts with cooperative-sticky,range",
        "TopicX has 8 queues",
        "c1 commits TopicX-0 at 5",
        "c1 subscribes to TopicX",
        "network between c1 and broker-a loses 50% of messages for 10s",
        "broker-a stops",
    ]
    assert day.expect is not None
    assert day.expect.settles_within == 60_000.0


def test_python_builds_the_same_scenario_as_yaml() -> None:
    text = """
name: small
brokers: [broker-a, broker-b]
topics: {orders: 4}
groups: {billing: {members: {c1: [orders], c2: {subscribe: orders}}}}
run: {for: 300s}
events: [{at: 5s, crash: c1}]
"""
    assert read_text(text) == small(events=[{"at": 5000.0, "crash": "c1"}])


def test_a_member_that_joins_first_is_not_there_before() -> None:
    day = small(events=[{"at": "5s", "join": "c2", "handle": "3ms"}])
    assert list(day.groups["billing"].members) == ["c1"]
    (join,) = day.events
    assert join == Join(at=5000.0, group="billing", join="c2", subscribe=("orders",), handle=3.0)


def test_a_start_changes_only_what_it_says() -> None:
    before = MemberPart(subscribe=("orders",), rack="r1", settings={"a": 1, "b": 1})
    after = started_as(before, Restart(at=0.0, restart="c1", strategy="range", settings={"b": 2}))
    assert after == MemberPart(subscribe=("orders",), rack="r1", strategy="range", settings={"a": 1, "b": 2})
    assert started_as(after, Join(at=0.0, join="c1", pattern="o.*")).subscribe == ()


def test_equal_names_in_two_groups_need_the_group() -> None:
    groups = {"g": {"members": {"c1": ["orders"]}}, "h": {"members": {"c1": ["orders"]}}}
    fields = {"name": "two", "topics": {"orders": 2}, "groups": groups, "run": {"for": "1min"}}
    day = scenario(fields, events=[{"at": "1s", "leave": "c1", "group": "h"}])
    assert day.events[0].group == "h"
    with pytest.raises(
        ValueError, match=r"events\[0\]\.leave: member 'c1' is in several groups, expected group: one of"
    ):
        scenario(fields, events=[{"at": "1s", "leave": "c1"}])


def test_left_out_systems_are_those_that_the_scenario_can_feed() -> None:
    kafka = ["kafka:range", "kafka:roundrobin", "kafka:sticky", "kafka:cooperative-sticky"]
    rocketmq = ["rocketmq:AVG", "rocketmq:AVG_BY_CIRCLE", "rocketmq:CONSISTENT_HASH"]
    server = ["kafka:server-range", "kafka:uniform"]
    assert [each.label for each in small().systems] == [*kafka, *server, *rocketmq]
    by_hand = {"subscribe": ["orders"], "settings": {"message_queue_list": [["orders", "east@a", 0]]}, "rack": "east"}
    full = small(brokers=["east@a", "west-b"], group={"name": "g", "members": {"c1": by_hand}})
    assert [each.label for each in full.systems] == [
        *kafka,
        *server,
        *rocketmq,
        "rocketmq:CONFIG",
        "rocketmq:MACHINE_ROOM",
    ]
    near = small(brokers=["east-a"], group={"name": "g", "members": {"c1": {"subscribe": ["orders"], "rack": "east"}}})
    assert [each.label for each in near.systems] == [*kafka, *server, *rocketmq, "rocketmq:MACHINE_ROOM_NEARBY"]
    for classic in ({"strategy": "sticky"}, {"settings": {"session.timeout.ms": 9000}}):
        of_classic = small(group={"name": "g", "members": {"c1": {"subscribe": ["orders"], **classic}}})
        assert [each.label for each in of_classic.systems] == [*kafka, *rocketmq]


def test_registered_strategies_may_be_named() -> None:
    fields = {"systems": ["rocketmq:MINE"]}
    with pytest.raises(ValueError, match="unknown strategy 'MINE' of rocketmq"):
        small(**fields)
    mine = {"rocketmq": SystemStrategies((StrategyRecord("MINE", None, "Made up.", "clients"),))}
    named = reading.scenario({**SMALL, **fields}, registered=mine)
    assert [each.label for each in named.systems] == ["rocketmq:MINE"]


def test_without_systems_their_names_are_not_checked() -> None:
    assert reading.scenario({**SMALL, "systems": ["pulsar:best"]}).systems[0].system == "pulsar:best"
    assert reading.scenario(SMALL).systems == ()


def test_an_error_names_a_system_that_there_is() -> None:
    there = {"pulsar": SystemStrategies((StrategyRecord("best", None, "Made up.", "broker"),))}
    with pytest.raises(ValueError, match=r"unknown system 'kafka', expected one of pulsar, as in pulsar:best"):
        reading.scenario({**SMALL, "systems": ["kafka:range"]}, registered=there)
    with pytest.raises(ValueError, match=r"no system, expected one such as pulsar:best"):
        reading.scenario({**SMALL, "systems": []}, registered=there)
    with pytest.raises(ValueError, match=r"unknown strategy 'best\+static' of pulsar"):
        reading.scenario({**SMALL, "systems": ["pulsar:best+static"]}, registered=there)


def test_events_made_by_a_program_are_taken_as_they_are() -> None:
    (event,) = small(events=[Hang(at=1000.0, hang="c1", for_=500.0)]).events
    assert event == Hang(at=1000.0, group="billing", hang="c1", for_=500.0)


@rows("file", EXAMPLE_FILES)
def test_every_example_is_read(file: Path) -> None:
    example = read(file)
    assert example.about
    assert example.systems


def test_there_is_an_example_of_every_story() -> None:
    assert len(EXAMPLE_FILES) >= 10
    assert len({read(file).name for file in EXAMPLE_FILES}) == len(EXAMPLE_FILES)


def test_the_documented_reference_is_that_of_the_code() -> None:
    assert (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8").endswith(reference())


def test_every_example_of_the_reference_is_a_part_of_a_scenario() -> None:
    events = "".join(f"  - {kind.example}\n" for kind in EVENT_KINDS.values())
    parts = dict(EXAMPLES)
    group, member = parts.pop(GroupPart), parts.pop(MemberPart)
    text = "\n".join([*parts.values(), "brokers: [broker-a, broker-b]\n"])
    assert read_text(f"{text}{group}\n").groups["billing"].members["c2"].subscribe == ("orders", "payments")
    everything = read_text(f"{text}group:\n  name: billing\n  members:\n    {member}\nevents:\n{events}")
    assert {type(event) for event in everything.events} == {*EVENT_KINDS.values()} - {Rolling}


def test_the_package_starts_without_the_libraries_of_scenarios() -> None:
    script = "import sys, protocols; print([m for m in ('pydantic', 'ruamel.yaml') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
