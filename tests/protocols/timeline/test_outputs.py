"""A timeline as rows, tables, text, a diagram; its properties and the stories of their failures."""

from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

from protocols.engine.links import Latency
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.engine.simulation import Simulation
from protocols.facts import Committed, Delivered, Noted, Owns, RebalanceBegan, RebalanceEnded, Transition
from protocols.timeline import Recorder, Timeline
from protocols.timeline.properties import NO_COMMIT_BACK, ONE_OWNER, SETTLES, measure
from protocols.timeline.rows import (
    COLUMNS,
    MEDIUM,
    SMALL,
    SNAPSHOT,
    ownership_at,
    rows,
    size_class,
    table,
    values_in,
    write_parquet,
)
from protocols.timeline.sequence import sequence
from protocols.timeline.story import ChainStep, causal_chain, story
from protocols.timeline.trace import Sent
from tests.protocols.timeline.timeline_made import A, B, owns, recorded


class Ask(NamedTuple):
    number: int


class Answer(NamedTuple):
    number: int
    members: tuple[str, ...]


class Beat(NamedTuple):
    pass


class Server:
    """Gives its only queue to whoever asks."""

    def start(self, now: Time, out: Outbox) -> None: ...

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if isinstance(message, Ask):
            out.send(sender, Answer(message.number, ("c1", "c2")))

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None: ...

    def connected(self, now: Time, peer: str, out: Outbox) -> None: ...

    def closed(self, now: Time, peer: str, out: Outbox) -> None: ...


class Client(Server):
    """Asks once, believes the answer, then sends a beat each second."""

    def __init__(self, name: str) -> None:
        self.name = name

    def start(self, now: Time, out: Outbox) -> None:
        out.send("server", Ask(1))

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        out.observe(Owns("g", self.name, (A,), None))
        out.set_timer("beat", now + 1000)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        out.send("server", Beat())
        out.set_timer("beat", now + 1000)


def traced(tracing: bool = True) -> Timeline:
    recorder = Recorder()
    simulation = Simulation(latency=Latency(2, 2), observer=recorder, tracing=tracing)
    simulation.start("server", Server())
    simulation.at(500.0, lambda: simulation.start("c1", Client("c1")), "c1 joins")
    simulation.run(10_000.0)
    return recorder.timeline(10_000.0, None, simulation.messages)


def test_the_diagram_shows_what_led_to_something_and_the_first_of_each_type_and_counts_the_rest() -> None:
    assert sequence(traced()).splitlines() == [
        "sequenceDiagram",
        "    participant n1 as c1",
        "    participant n2 as server",
        "    Note over n1,n2: c1 joins (0.5s)",
        "    n1->>n2: Ask (0.5s)",
        "    n2->>n1: Answer (0.502s)",
        "    Note over n1: c1 owns T-0 (0.504s)",
        "    n1->>n2: Beat (1.504s)",
        "    Note over n1,n2: 8.496s without changes: 8 Beat",
    ]


class Telling(Server):
    """Tells what it owns between two messages, all at one time."""

    def start(self, now: Time, out: Outbox) -> None:
        out.observe(Owns("g", "c1", (A,), 1))
        out.send("server", Ask(1))
        out.observe(Owns("g", "c1", (), None))
        out.send("server", Ask(2))


def test_messages_and_facts_of_one_time_have_the_order_in_which_a_node_sent_and_told_them() -> None:
    recorder = Recorder()
    simulation = Simulation(latency=Latency(2, 2), observer=recorder, tracing=True)
    simulation.start("server", Server())
    simulation.at(500.0, lambda: simulation.start("c1", Telling()), "c1 joins")
    simulation.run(1000.0)
    timeline = recorder.timeline(1000.0, None, simulation.messages)
    kinds = [type(each.message if isinstance(each, Sent) else each.fact) for each in timeline.sent_and_told]
    assert kinds[:4] == [Owns, Ask, Owns, Ask]
    drawn = [line.strip() for line in sequence(timeline).splitlines()]
    told = drawn.index("Note over n1: c1 owns T-0 (generation 1) (0.5s)")
    ask = "n1->>n2: Ask (0.5s)"
    assert drawn[told + 1 : told + 3] == [ask, "Note over n1: c1 owns nothing (0.5s)"]


def test_a_diagram_and_the_order_of_messages_need_a_trace() -> None:
    with pytest.raises(ValueError, match="traces"):
        sequence(traced(tracing=False))
    with pytest.raises(ValueError, match="traces"):
        _ = traced(tracing=False).sent_and_told


def test_tracing_changes_no_figure() -> None:
    with_trace, without = traced(), traced(tracing=False)
    assert with_trace.messages == without.messages == {"Answer": 1, "Ask": 1, "Beat": 9}
    assert with_trace.beliefs == without.beliefs
    assert [each.text for each in with_trace.causes.happenings] == ["c1 joins"]


def test_messages_have_a_type_and_a_size_class() -> None:
    found = [dict(zip(COLUMNS["messages"], row, strict=True)) for row in rows(traced(), "messages")]
    assert [(each["type"], each["size"]) for each in found[:2]] == [("Ask", "small"), ("Answer", "small")]
    assert (found[1]["sender"], found[1]["to"]) == ("server", "c1")
    assert (found[1]["sent_ms"], found[1]["arrives_ms"]) == (502, 504)
    assert found[1]["cause"] == found[0]["number"]


def test_a_message_is_as_big_as_the_values_it_carries() -> None:
    assert values_in(Answer(1, ("c1", "c2"))) == 3
    assert values_in(("a", {"k": (1, 2)}, None)) == 5
    assert size_class(tuple(range(SMALL))) == "small"
    assert size_class(tuple(range(SMALL + 1))) == "medium"
    assert size_class(tuple(range(MEDIUM + 1))) == "large"


def test_rows_hold_both_views_and_become_parquet(tmp_path: Path) -> None:
    facts = [(0.0, owns("c1", A, generation=1)), (3.0, owns("c1")), (5.0, Delivered("g", "c1", A, 0, 9, 0.0, 5.0))]
    timeline = recorded(facts, 10)
    assert list(rows(timeline, "intervals")) == [("belief", "g", "T", "", 0, "c1", 0.0, 3.0, 1)]
    assert list(rows(timeline, "deliveries")) == [("g", "T", "", 0, "c1", 0, 9, 0.0, 5.0)]
    tables = {name: [table(rows(timeline, name), columns, "run 1")] for name, columns in COLUMNS.items()}
    paths = write_parquet(tables, tmp_path / "out")
    assert [path.stem for path in paths] == list(COLUMNS)
    found = pq.read_table(tmp_path / "out/intervals.parquet").to_pylist()
    assert found[0]["run"] == "run 1"
    assert found[0]["to_ms"] == 3.0


def test_who_owns_what_at_a_moment_names_queues_without_an_owner_too() -> None:
    timeline = recorded([(0, owns("c1", A)), (5, owns("c2", A))], 10)
    assert ownership_at(timeline, 7, [("g", A), ("g", B)]) == [
        ("g", "T", "", 0, "c1"),
        ("g", "T", "", 0, "c2"),
        ("g", "T", "", 1, None),
    ]
    assert table([], SNAPSHOT["members"]).column_names == ["group", "member"]


def test_the_story_is_told_in_order() -> None:
    facts = [
        (0, owns("c1", A, B, generation=1)),
        (1000, owns("c1", A, generation=1)),
        (1500, owns("c2", B, generation=2)),
        (1600, Committed("g", B, 4, "c1", 1, "ILLEGAL_GENERATION")),
        (1700, Noted("the disk is full")),
        (1800, Delivered("g", "c1", B, 0, 3, 0.0, 1800.0)),
        (1900, Delivered("g", "c2", B, 2, 5, 0.0, 1900.0)),
    ]
    assert story(recorded(facts, 2000)).splitlines() == [
        "    0.000s * the scenario begins",
        "    0.000s   c1 owns T-0, T-1 (generation 1)",
        "    1.000s   c1 owns T-0 (generation 1)",
        "    1.500s   c2 owns T-1 (generation 2)",
        "    1.500s ! without an owner for 0.5s until now: T-1",
        "    1.600s ! c1 commits T-1 at 4 (generation 1), refused: ILLEGAL_GENERATION",
        "    1.700s   the disk is full",
        "    2.000s ! handled more than once: 1 record of T-1: 2",
        "    2.000s * the run ends",
    ]


def test_properties_are_measured_and_a_failure_tells_its_story() -> None:
    facts = [
        (0, owns("c1", A, generation=1)),
        (5, Committed("g", A, 9, "c1", 1, "")),
        (10, owns("c2", A, generation=1)),
        (15, Committed("g", A, 4, "c2", 1, "")),
    ]
    timeline = recorded(facts, 20)
    found = {each.name: each for each in measure(timeline, [("g", A), ("g", B)])}
    assert not any(each.held for each in found.values())
    assert found[ONE_OWNER].why == "T-0 was owned by c1 and c2 from 0.01s to 0.02s (generation 1)"
    assert found[ONE_OWNER].story == (
        "    0.000s * the scenario begins",
        "    0.000s   c1 owns T-0 (generation 1), to the end",
        "    0.010s   c2 owns T-0 (generation 1), to the end",
    )
    assert found[NO_COMMIT_BACK].why == "c2 committed T-0 at 4 at 0.015s (generation 1); 9 stood there"
    assert found[SETTLES].failures == 2


def test_owners_of_different_generations_are_no_breach_of_a_generation() -> None:
    facts = [(0, owns("c1", A, generation=1)), (10, owns("c2", A, generation=2)), (15, owns("c1", generation=1))]
    assert all(each.held for each in measure(recorded(facts, 20), [("g", A)]))


def test_a_chain_with_a_trace_names_every_step() -> None:
    recorder = Recorder()
    simulation = Simulation(latency=Latency(2, 2), observer=recorder, tracing=True)

    class Coordinator(Server):
        def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
            out.observe(RebalanceBegan("g", f"{sender} asks", sender, 1))
            out.set_timer(("delay", "g"), now + 3000)

        def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
            out.observe(RebalanceEnded("g", 2, True))

    simulation.start("server", Coordinator())
    simulation.at(500.0, lambda: simulation.start("c1", Client("c1")), "c1 joins")
    simulation.run(10_000.0)
    timeline = recorder.timeline(10_000.0)
    assert causal_chain(timeline, timeline.rebalances[0]) == [
        ChainStep(500, "c1 joins"),
        ChainStep(500, "c1 sends Ask to server"),
        ChainStep(502, "g: rebalance begins: c1 asks"),
        ChainStep(3502, "server: timer delay g"),
        ChainStep(3502, "g: rebalance complete (generation 2)"),
    ]


def test_a_state_that_changes_to_and_fro_is_told_twice_and_then_counted() -> None:
    def step(at: float, of: str, before: str, after: str) -> tuple[float, Transition]:
        return at * 1000, Transition("process queue", of, before, "due", after)

    facts = [step(1, "a", "IDLE", "PULLING")]
    for at in range(2, 12, 2):
        facts += [step(at, "a", "PULLING", "BACKOFF"), step(at + 1, "a", "BACKOFF", "PULLING")]
    facts += [step(12, "b", "PULLING", "BACKOFF"), step(13, "a", "PULLING", "DROPPED")]
    told = [
        line.split("process queue ")[1] for line in story(recorded(facts, 20_000.0)).splitlines() if "queue" in line
    ]
    assert told == [
        "a: IDLE -> PULLING (due)",
        "a: PULLING -> BACKOFF (due)",
        "a: BACKOFF -> PULLING (due)",
        "b: PULLING -> BACKOFF (due)",
        "a: the same transitions again, 8 more steps, the last at 11s",
        "a: PULLING -> DROPPED (due)",
    ]
    (*_, last, _) = story(recorded(facts[:-2], 20_000.0)).splitlines()
    assert last.endswith("a: the same transitions again, 8 more steps, the last at 11s")
