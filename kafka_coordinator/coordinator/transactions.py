"""Offsets that a producer commits within a transaction: they count when its marker is written.

In Kafka `OffsetMetadataManager.commitTransactionalOffset`, `completeTransaction` and
`ClassicGroup.validateOffsetCommit`.
"""

from kafka_coordinator.coordinator import states
from kafka_coordinator.coordinator.commands import OffsetsDecided
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.coordinator.identity import identity_error
from kafka_coordinator.coordinator.log import CommittedOffset
from kafka_coordinator.coordinator.storing import create_group, store_offset
from kafka_coordinator.errors import ILLEGAL_GENERATION, NONE, REBALANCE_IN_PROGRESS
from protocols.engine.nodes import Outbox, Time
from protocols.facts import Committed


def transactional_commit_error(group: Group | None, member_id: str, generation: int, instance_id: str | None) -> str:
    """Why the coordinator refuses offsets of a transaction, NONE where it takes them. Those of nobody's member are
    taken whoever is in the group; ``generation`` is -1 there and the id empty."""
    if generation < 0 and not member_id and instance_id is None:
        return NONE
    if group is None:
        return ILLEGAL_GENERATION
    error = identity_error(group, member_id, instance_id)
    if error != NONE:
        return error
    if generation != group.generation:
        return ILLEGAL_GENERATION
    return REBALANCE_IN_PROGRESS if group.state == states.COMPLETING_REBALANCE else NONE


def complete(core: Core, now: Time, sender: str, command: OffsetsDecided, out: Outbox) -> None:
    """The transaction is committed: its offsets are the group's, whatever has become of the member since."""
    group = core.groups.get(command.group) or core.consumer_groups.get(command.group)
    if group is None:
        group = create_group(core, command.group, now, out)
    for partition, offset, metadata in command.offsets:
        before = group.offsets.get(partition)
        if before is None or before[:2] != (offset, metadata):
            told = Committed(command.group, core.queue(partition), offset, command.member, command.generation, "")
            out.observe(told)
        store_offset(core, group, partition, CommittedOffset(offset, metadata, now))
