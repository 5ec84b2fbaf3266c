"""The state machine is one table: the graph, the code and the drawings are made of it."""

import subprocess
import sys

import pytest

from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.states import EDGES, Edge, IllegalTransition, next_state
from protocols.facts import Transition
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk

LEGAL_BEFORE = {
    states.EMPTY: {states.PREPARING_REBALANCE, states.ABSENT},
    states.PREPARING_REBALANCE: {states.STABLE, states.COMPLETING_REBALANCE, states.EMPTY},
    states.COMPLETING_REBALANCE: {states.PREPARING_REBALANCE},
    states.STABLE: {states.COMPLETING_REBALANCE, states.ABSENT},
    states.DEAD: {states.EMPTY, states.PREPARING_REBALANCE, states.COMPLETING_REBALANCE, states.STABLE},
}


class Watched(Desk):
    """A desk that is only the outbox of a group."""

    def facts(self) -> list[tuple[object, ...]]:
        return [told.fact for told in self.world.take_facts()]


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: f"{edge.before}-{edge.event}-{edge.guard}")
def test_every_edge_leads_where_the_table_says_and_is_told(edge: Edge) -> None:
    desk = Watched()
    group = Group("g", 0)
    group.state, group.previous = edge.before, "before that"
    group.take(edge.event, edge.guard, 7.0, desk.world)
    assert group.state == edge.after
    moved = edge.after != edge.before
    assert (group.previous, group.since) == ((edge.before, 7.0) if moved else ("before that", 0.0))
    assert desk.facts() == [Transition("group", "g", edge.before, edge.event, edge.after)]


def test_a_step_that_the_table_lacks_raises() -> None:
    for before, event, guard in [
        (states.EMPTY, states.LEADER_SYNCED, states.ALWAYS),
        (states.DEAD, states.MEMBER_ADDED, states.ALWAYS),
        (states.STABLE, states.MEMBER_REJOINED, states.ALWAYS),
        (states.PREPARING_REBALANCE, states.SYNC_EXPIRED, states.ALWAYS),
    ]:
        with pytest.raises(IllegalTransition, match=before):
            next_state(before, event, guard)


def test_the_states_that_come_before_are_the_legal_ones() -> None:
    found: dict[str, set[str]] = {}
    for edge in EDGES:
        if edge.before != edge.after:
            found.setdefault(edge.after, set()).add(edge.before)
    assert found == LEGAL_BEFORE


def test_an_event_and_guard_lead_to_one_state_only() -> None:
    assert len({edge[:3] for edge in EDGES}) == len(EDGES)
    # Where one guard is told apart, all are: an event has no edge without guard beside them.
    for edge in EDGES:
        guards = [each.guard for each in EDGES if each[:2] == edge[:2]]
        assert len(guards) == 1 or states.ALWAYS not in guards


def test_the_graph_has_exactly_the_table_s_edges() -> None:
    graph = states.graph()
    drawn = {(before, said["event"], said["guard"], after) for before, after, said in graph.edges(data=True)}
    assert drawn == set(EDGES)
    assert graph.number_of_edges() == len(EDGES)
    assert graph.nodes[states.COMPLETING_REBALANCE]["older_name"] == "AwaitingSync"


def test_a_simulation_does_not_wait_for_networkx() -> None:
    code = "import sys, kafka_coordinator.coordinator as c; c.Coordinator('b'); sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
