"""The state machine is one table: the graph, the code and the drawings are made of it."""

import subprocess
import sys

import pytest

from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.states import GROUP
from protocols.facts import Transition
from protocols.state_machine import ALWAYS, Edge, IllegalTransition
from tests.kafka_coordinator.coordinator.coordinator_desk import Desk
from tests.rows import rows

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


@rows("edge", GROUP.edges)
def test_every_edge_leads_where_the_table_says_and_is_told(edge: Edge) -> None:
    desk = Watched()
    group = Group("g", 0)
    group.state, group.previous = edge.before, "before that"
    group.transition(edge.event, edge.guard, 7.0, desk.world)
    assert group.state == edge.after
    moved = edge.after != edge.before
    assert (group.previous, group.since) == ((edge.before, 7.0) if moved else ("before that", 0.0))
    assert desk.facts() == [Transition("group", "g", edge.before, edge.event, edge.after)]


def test_a_step_that_the_table_lacks_raises() -> None:
    for before, event, guard in [
        (states.EMPTY, states.LEADER_SYNCED, ALWAYS),
        (states.DEAD, states.MEMBER_ADDED, ALWAYS),
        (states.STABLE, states.MEMBER_REJOINED, ALWAYS),
        (states.PREPARING_REBALANCE, states.SYNC_EXPIRED, ALWAYS),
    ]:
        with pytest.raises(IllegalTransition, match=before):
            GROUP.next_state(before, event, guard)


def test_the_states_that_come_before_are_the_legal_ones() -> None:
    found: dict[str, set[str]] = {}
    for edge in GROUP.edges:
        if edge.before != edge.after:
            found.setdefault(edge.after, set()).add(edge.before)
    assert found == LEGAL_BEFORE


def test_a_simulation_does_not_wait_for_networkx() -> None:
    code = "import sys, kafka_coordinator.coordinator as c; c.Coordinator('b'); sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
