"""A rebalance that somebody asks for, without anything having changed.

In Kafka a JoinGroup of the leader with the reason ``enforceRebalance`` (`KafkaConsumer.enforceRebalance`).
"""

from typing import Final

from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.commands import RebalanceGroup
from kafka_coordinator.coordinator.consumer_groups.epochs import bump
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.rebalance import Cause, prepare
from protocols.engine.nodes import Outbox, Time

WORDS: Final = "a rebalance was asked for"


def enforce(core: Core, now: Time, sender: str, command: RebalanceGroup, out: Outbox) -> None:
    """Let the group rebalance, if it has members and does not do it already."""
    group = core.groups.get(command.group)
    other = core.consumer_groups.get(command.group)
    if group is not None and group.state in _GUARDS:
        prepare(core, group, Cause(states.MEMBER_REJOINED, _GUARDS[group.state], None, WORDS), now, out)
    elif other is not None and other.members:
        bump(core, other, None, WORDS, out)


_GUARDS: Final = {
    states.STABLE: states.LEADER_OR_OTHER,
    states.COMPLETING_REBALANCE: states.OTHER_PROTOCOLS,
}
