"""A state machine is one table: the code's steps and the graph are made of it, and a wrong table is refused."""

import importlib
from pathlib import Path

import networkx
import pytest

from compare.running.systems import MACHINES
from protocols.state_machine import ALWAYS, Edge, IllegalTransition, StateMachine
from tests.rows import rows

ROOT = Path(__file__).parents[2]

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
    found = []
    for machines in MACHINES.values():
        for name, where in machines.items():
            module, _, attribute = where.partition(":")
            found.append((name, getattr(importlib.import_module(module), attribute)))
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
