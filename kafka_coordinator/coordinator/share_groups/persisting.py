"""The persister as the brokers of this package have it: what the coordinator asks counts at once, and nothing fails.

In Kafka `DefaultStatePersister`, which asks the share coordinators over the network.
"""

from kafka_coordinator.coordinator.share_groups.messages import (
    DeleteShareStates,
    InitializeShareStates,
    ShareStatesAnswer,
)
from kafka_coordinator.errors import NONE
from kafka_coordinator.share.persister import ShareStates


def persist(states: ShareStates, call: InitializeShareStates | DeleteShareStates) -> ShareStatesAnswer:
    """Do what the coordinator has sent to `PERSISTER`; the answer, which the coordinator is to be given as a command
    when it is done with what it was handling."""
    if isinstance(call, InitializeShareStates):
        for partition, start_offset in call.partitions:
            states.initialize(call.group, partition, call.state_epoch, start_offset)
    else:
        for partition in call.partitions:
            states.delete(call.group, partition)
    return ShareStatesAnswer(call.correlation, NONE)
