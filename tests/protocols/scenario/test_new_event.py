"""Adding an event touches its class and the clusters that apply it: everything else follows from what it declares."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Self

import pytest
from pydantic import Field

from protocols.engine.nodes import Time
from protocols.engine.simulation import Simulation
from protocols.errors import UserError
from protocols.scenario import shorthands
from protocols.scenario.events import EVENT_KINDS, Event, MemberChange, register
from protocols.scenario.events.base import ClusterState, unregister
from protocols.scenario.fields import Duration
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.reading import read_text
from protocols.scenario.running import Run
from protocols.scenario.topology import ProcessPeers, Topology
from protocols.scenario.validation import Path, validated
from protocols.scenario.world import apply_event
from protocols.scenario.writing import as_yaml
from protocols.timeline.causes import Call, Causes, Effect
from tests.rows import rows
from tools.scenario_reference import reference


class Drain(Event):
    """A member finishes its records of some topics and takes no new ones for a while."""

    drain: str
    """The member."""
    topics: tuple[str, ...]
    """Topics whose records it finishes."""
    for_: Duration = Field(alias="for")
    """How long."""

    example: ClassVar[str] = "{at: 5s, drain: c1, topics: orders, for: 10s}"
    member_change = MemberChange.PAUSES
    acts_late = True

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        topics = shorthands.names(fields.get("topics", ()), (*path, "topics"))
        return validated(cls, {**fields, "topics": topics}, path)

    def describe(self) -> str:
        return f"{self.drain} drains {' and '.join(self.topics)}"

    def check(self, there: ClusterState, path: Path) -> None:
        for number, topic in enumerate(self.topics):
            there.need_topic(topic, (*path, "topics", number))

    def members(self) -> Mapping[str, Path]:
        return {self.drain: ("drain",)}

    def strikes_process(self) -> bool:
        return True

    def lasts(self) -> Time:
        return self.for_


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Scenarios know the event during a test."""
    register(Drain)
    yield
    unregister(Drain)


TEXT = """
name: draining
brokers: [broker-a]
topics: {orders: 4}
group:
  name: billing
  members:
    c1: {subscribe: [orders], process: p}
    c2: {subscribe: [orders], process: p}
    c3: [orders]
run: {for: 1min, latency: 1ms}
systems: [kafka:range]
events:
  - %s
"""


def read(*events: str) -> Scenario:
    """The scenario with these events, each on a line of its own from line 14 on."""
    return read_text(TEXT % "\n  - ".join(events or (Drain.example,)), "day.yaml")


def test_yaml_is_read_and_written() -> None:
    day = read()
    assert day.events == (Drain(at=5000.0, group="billing", drain="c1", topics=("orders",), for_=10_000.0),)
    assert read_text(as_yaml(day)) == day


@rows(
    ("events", "problem"),
    [
        (("{at: 5s, drian: c1}",), "line 14: events[0].drian: unknown event 'drian', did you mean drain?"),
        (("{at: 5s}",), "line 14: events[0]: nothing happens, expected one of join, leave,"),
        (("{at: 5s, drain: c1, leave: c1}",), "line 14: events[0].drain: leave and drain in one event"),
        (("{at: 5s, drain: c1, topics: orders}",), "line 14: events[0].for: is missing"),
        (("{at: 5s, drain: c9, topics: [], for: 1s}",), "line 14: events[0].drain: unknown member 'c9'"),
        (("{at: 5s, drain: c1, topics: [order], for: 1s}",), "line 14: events[0].topics[0]: unknown topic 'order'"),
        (("{at: 1s, crash: c2}", Drain.example), "line 15: events[1].drain: c1 does not run at 5s: c2 crashes at 1s"),
        (
            (Drain.example, "{at: 6s, drain: c2, topics: orders, for: 1s}"),
            "line 15: events[1].drain: c2 is still in the previous one until 15s",
        ),
        ((Drain.example, "{at: 6s, leave: c1}", "{at: 7s, join: c1}"), "line 16: events[2].join: c1 hangs until 15s"),
        (("{at: 5s, join: c1}", "{at: 1s, drain: c1, topics: [], for: 1s}"), "c1 joins at 5s while it is a member"),
        (("{at: 2min, drain: c1, topics: [], for: 1s}",), "line 14: events[0].at: 120s is after the end of the run"),
    ],
)
def test_mistakes_are_told_in_one_line(events: tuple[str, ...], problem: str) -> None:
    with pytest.raises(UserError) as told:
        read(*events)
    assert str(told.value).startswith("day.yaml line ")
    assert problem in str(told.value)


def test_reference_and_schema_hold_it() -> None:
    assert list(EVENT_KINDS)[-1] == "drain"
    head, section = reference().split("### Event `drain`\n")
    assert "drain" not in head
    assert "A member finishes its records of some topics and takes no new ones for a while." in section
    assert "| `topics` | list of: text | required | Topics whose records it finishes. |" in section
    assert "| `for` | duration (`5s`) | required | How long. |" in section
    assert f"Example: `{Drain.example}`" in section
    schemas = Scenario.model_json_schema()["properties"]["events"]["items"]["anyOf"]
    assert len(schemas) == len(EVENT_KINDS)
    assert schemas[-1]["required"] == ["at", "drain", "topics", "for"]


def test_a_name_stands_for_one_event() -> None:
    with pytest.raises(ValueError, match="there is an event 'drain' already"):
        register(Drain)


class Cluster:
    """A stand-in that applies the event, as a system would."""

    def __init__(self, scenario: Scenario, system: SystemPart, simulation: Simulation) -> None:
        self.own = OWN if system.system == "kafka:range" else {}
        self.simulation, self.topology = simulation, Topology.of(scenario)
        self.drained: list[tuple[Time, str]] = []

    def start(self, beginning: Beginning = IN_STEP) -> None: ...

    def apply(self, event: Event) -> None:
        apply_event(event, self, self.own, self.simulation, self.topology)

    def fast_forward(self) -> None: ...

    def finish(self) -> None: ...

    def _drain(self, event: Drain) -> None:
        self.drained.append((self.simulation.now, event.drain))


OWN: Final[Mapping[type[Event], Any]] = {Drain: Cluster._drain}


def test_a_cluster_applies_it() -> None:
    run = Run.of(read(), SystemPart(system="kafka:range"), Cluster).run()
    assert isinstance(run.cluster, Cluster)
    assert run.cluster.drained == [(5000.0, "c1")]


def test_a_system_without_it_says_so() -> None:
    with pytest.raises(UserError, match="c1 drains orders: the system has no 'drain'"):
        Run.of(read(), SystemPart(system="rocketmq:AVG"), Cluster).run()


def test_it_is_the_cause_of_what_follows() -> None:
    day = read(Drain.example, "{at: 30s, drain: c3, topics: orders, for: 10s}")
    calls = [Call(number, event.at, event.describe(), 0) for number, event in enumerate(day.events, 1)]
    events = dict(enumerate(day.events, 1))
    causes = Causes(calls, events, ProcessPeers.of(Topology.of(day)))
    # It acts late, and strikes the whole process: what c2 brings about later is told of as the effect of it.
    found = causes.latest(Effect(40_000.0, by="c2", group="billing"), since=20_000.0)
    assert found is not None
    assert (found.text, found.members) == ("c1 drains orders", ("c1", "c2"))
