"""The state machine of a group is one table, which a simulation reads without networkx."""

import subprocess
import sys

import pytest

from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.states import GROUP
from protocols.state_machine import ALWAYS, IllegalTransition


def test_a_step_that_the_table_lacks_raises() -> None:
    for before, event, guard in [
        (states.EMPTY, states.LEADER_SYNCED, ALWAYS),
        (states.DEAD, states.MEMBER_ADDED, ALWAYS),
        (states.STABLE, states.MEMBER_REJOINED, ALWAYS),
        (states.PREPARING_REBALANCE, states.SYNC_EXPIRED, ALWAYS),
    ]:
        with pytest.raises(IllegalTransition, match=before):
            GROUP.next_state(before, event, guard)


def test_a_simulation_does_not_wait_for_networkx() -> None:
    code = "import sys, kafka_coordinator.coordinator as c; c.Coordinator('b'); sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
