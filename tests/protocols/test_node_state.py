"""State machines are tables, and states of nodes are copied by the types of their fields."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.running.systems import MACHINES
from protocols.engine.exploration.rules import Keys
from protocols.node_state import Apart, Emptied, NodeState, Shared, fields_of
from protocols.state_machine import ALWAYS, Edge, IllegalTransition, StateMachine
from tests.rows import rows


class Offset(NamedTuple):
    number: int
    text: str


@dataclass(slots=True)
class Part(NodeState):
    counts: dict[str, int]
    seen: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Whole(NodeState):
    name: str
    offset: Offset | None
    part: Part
    other: Part | None
    numbers: list[int]
    tables: dict[str, dict[int, Offset]]
    parts: dict[int, Part]
    line: list[Part]
    read: Mapping[str, int]
    rest: Shared[Any] = None
    note: Apart[int] = 0
    known: Apart[Emptied[dict[str, int]]] = field(default_factory=dict)


TEXTS, NUMBERS = st.text(max_size=2), st.integers(0, 9)
PARTS = st.builds(Part, st.dictionaries(TEXTS, NUMBERS), st.sets(NUMBERS))
WHOLES = st.builds(
    Whole,
    TEXTS,
    st.none() | st.builds(Offset, NUMBERS, TEXTS),
    PARTS,
    st.none() | PARTS,
    st.lists(NUMBERS),
    st.dictionaries(TEXTS, st.dictionaries(NUMBERS, st.builds(Offset, NUMBERS, TEXTS))),
    st.dictionaries(NUMBERS, PARTS),
    st.lists(PARTS),
    st.dictionaries(TEXTS, NUMBERS),
    st.lists(NUMBERS),
    NUMBERS,
    st.dictionaries(TEXTS, NUMBERS),
)


def changing(value: object) -> Iterator[object]:
    """All objects in a state that change."""
    if isinstance(value, dict | list | set):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from changing(inner)
    elif isinstance(value, NodeState):
        yield value
        for name in fields_of(type(value)):
            yield from changing(getattr(value, name))


@given(WHOLES)
def test_a_copy_is_equal_and_shares_nothing_that_changes(whole: Whole) -> None:
    copy = whole.copy()
    keys = Keys()
    assert keys.key(copy) == keys.key(whole)
    assert copy.read is whole.read
    assert copy.rest is whole.rest
    assert copy.note == whole.note
    assert copy.known == {}
    shared = {id(each) for each in changing(copy)} & {id(each) for each in changing(whole)}
    assert shared <= {id(whole.read), id(whole.rest)}


@given(WHOLES, st.sampled_from(fields_of(Whole)))
def test_every_field_but_those_apart_tells_states_apart(whole: Whole, name: str) -> None:
    keys = Keys()
    before = keys.key(whole)
    setattr(whole, name, object)
    assert (keys.key(whole) == before) == (name in ("note", "known"))


def test_a_field_cannot_be_forgotten() -> None:
    with pytest.raises(AttributeError):
        Part({}).more = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"Bare\.more has no declared type"):

        class Bare(NodeState):
            __slots__ = ("more",)

    with pytest.raises(TypeError, match=r"Longer\.more has no declared type"):

        class Longer(Part):
            __slots__ = ("more",)

    class Open(Part):
        pass

    with pytest.raises(TypeError, match="Open is no plain state: expected __slots__"):
        Open({}).copy()


@rows(
    "kind",
    [Any, object, list, dict[str, Any], list[object], int | list[int], tuple[list[int], ...], Iterator[int], "int"],
)
def test_a_type_of_which_nobody_knows_how_it_is_copied_raises(kind: Any) -> None:
    with pytest.raises(TypeError, match=r"Unknown\.field: nobody knows how .* is copied"):
        type("Unknown", (NodeState,), {"__slots__": ("field",), "__annotations__": {"field": kind}})


DOOR = StateMachine(
    "door",
    ("shut", "open"),
    (
        Edge("shut", "push", "unlocked", "open"),
        Edge("shut", "push", "locked", "shut"),
        Edge("open", "pull", ALWAYS, "shut"),
    ),
    older_names={"open": "ajar"},
)


def tables() -> list[tuple[str, StateMachine]]:
    """All of both systems, with the names by which they are asked for."""
    found: list[tuple[str, StateMachine]] = []
    for machines in MACHINES.values():
        found += [(name, table()) for name, table in machines.items()]
    return found


@rows(("name", "table"), tables())
def test_every_edge_of_every_machine_is_a_step_and_an_edge_of_its_graph(name: str, table: StateMachine) -> None:
    assert table.name == name
    graph = table.graph()
    assert tuple(graph.nodes) == table.states
    drawn = {(before, said["event"], said["guard"], after) for before, after, said in graph.edges(data=True)}
    assert drawn == set(table.edges)
    assert graph.number_of_edges() == len(table.edges)
    for edge in table.edges:
        assert table.next_state(edge.before, edge.event, edge.guard) == edge.after


@rows(("name", "table"), tables())
def test_every_step_that_is_no_edge_raises(name: str, table: StateMachine) -> None:
    legal = {edge[:3] for edge in table.edges}
    for before in table.states:
        for event in {edge.event for edge in table.edges}:
            for guard in {ALWAYS, *(edge.guard for edge in table.edges)}:
                if (before, event, guard) not in legal:
                    with pytest.raises(IllegalTransition):
                        table.next_state(before, event, guard)


@rows(("name", "table"), tables())
def test_every_state_can_be_reached_from_the_first(name: str, table: StateMachine) -> None:
    reached = networkx.descendants(table.graph(), table.states[0])
    assert {table.states[0], *reached} == set(table.states)


def test_a_guard_tells_two_edges_of_an_event_apart() -> None:
    assert DOOR.next_state("shut", "push", "unlocked") == "open"
    assert DOOR.next_state("shut", "push", "locked") == "shut"
    assert DOOR.edges[0].label == "push [unlocked]"
    assert DOOR.edges[2].label == "pull"
    assert [said["older_name"] for _, said in DOOR.graph().nodes.items()] == [None, "ajar"]
    assert DOOR.graph() is DOOR.graph()


def test_the_error_names_machine_state_event_and_guard() -> None:
    with pytest.raises(IllegalTransition, match=r"^a door in open has no edge for 'push' \(locked\)$"):
        DOOR.next_state("open", "push", "locked")
    with pytest.raises(IllegalTransition, match=r"^a door in shut has no edge for 'push'$"):
        DOOR.next_state("shut", "push")


@rows(
    ("edges", "message"),
    [
        ((Edge("shut", "push", ALWAYS, "gone"),), "edges name .'gone'."),
        ((Edge("shut", "push", ALWAYS, "open"), Edge("shut", "push", ALWAYS, "shut")), "two edges"),
        ((Edge("shut", "push", ALWAYS, "open"), Edge("shut", "push", "locked", "shut")), "with and without guard"),
    ],
)
def test_a_table_that_cannot_be_is_refused(edges: tuple[Edge, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StateMachine("door", ("shut", "open"), edges)


def test_states_without_a_meaning_beside_others_that_have_one_are_refused() -> None:
    edges = (Edge("shut", "opens", ALWAYS, "open"),)
    with pytest.raises(ValueError, match="expected of all of"):
        StateMachine("door", ("shut", "open"), edges, meanings={"shut": "nobody passes"})
