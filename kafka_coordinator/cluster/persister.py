"""The cluster's share coordinators as one node, which never fails: where group coordinators have share-partitions
initialized and deleted. Leaders read and write the same states without a message (`ShareStates`).

In Kafka `ShareCoordinatorService`.
"""

from dataclasses import dataclass

from kafka_coordinator.coordinator.share_groups.messages import (
    DeleteShareStates,
    InitializeShareStates,
    ShareStatesAnswer,
)
from kafka_coordinator.errors import NONE
from kafka_coordinator.share.persister import ShareStates
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.node_state import NodeState


@dataclass(slots=True, eq=False)
class Persister(NodeState):
    """The node; ``states`` are the leaders', too."""

    states: ShareStates

    def start(self, now: Time, out: Outbox) -> None:
        """Nothing happens before it is asked."""

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if isinstance(message, InitializeShareStates):
            for partition, start_offset in message.partitions:
                self.states.initialize(message.group, partition, message.state_epoch, start_offset)
        elif isinstance(message, DeleteShareStates):
            for partition in message.partitions:
                self.states.delete(message.group, partition)
        out.send(sender, ShareStatesAnswer(message[0], NONE))

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """It sets no timer."""

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing changes."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """Nothing changes."""
