"""close(): what cuts it short and what it waits for (spec 4.10); settings; the table of states."""

import pytest

from kafka_coordinator.consumer import Close, ConsumerSettings
from kafka_coordinator.consumer.states import CONSUMER
from kafka_coordinator.messages import LeaveGroup
from protocols.errors import UserError
from protocols.state_machine import IllegalTransition
from tests.kafka_coordinator.consumer.scripted import Scripted
from tests.rows import rows

T0 = ("t", 0)


def test_a_leave_that_nobody_answers_ends_with_the_time_for_closing() -> None:
    c = Scripted(settings={"enable.auto.commit": False})
    c.stable(T0)
    c.command(Close())
    c.take(LeaveGroup)
    c.wait(29_999)
    assert not c.world.node.is_over
    c.wait(1)
    assert c.world.node.is_over


def test_the_last_commit_waits_for_a_coordinator() -> None:
    c = Scripted()
    c.stable(T0)
    c.closed()
    c.command(Close())
    c.coordinator()
    c.wait(100)
    c.committed()
    c.left()
    assert c.world.node.is_over


@rows(
    ("given", "message"),
    [
        ({"sesion.timeout.ms": 1}, "unknown consumer setting 'sesion.timeout.ms'"),
        ({"session.timeout.ms": -1}, "expected a whole number, at least 1"),
        ({"session.timeout.ms": True}, "expected a whole number"),
        ({"session.timeout.ms": 3000}, "expected less than session.timeout.ms"),
        ({"auto.offset.reset": "none"}, "expected one of earliest, latest"),
        ({"enable.auto.commit": "perhaps"}, "expected true or false"),
        ({"partition.assignment.strategy": ""}, "expected at least one assignor"),
        ({"partition.assignment.strategy": 3}, "expected names of assignors"),
    ],
)
def test_wrong_settings_are_told(given: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        ConsumerSettings.of(given)


def test_a_step_that_the_table_of_states_lacks_raises() -> None:
    with pytest.raises(IllegalTransition, match="a consumer in UNJOINED has no edge for 'synced'"):
        CONSUMER.next_state("UNJOINED", "synced")
