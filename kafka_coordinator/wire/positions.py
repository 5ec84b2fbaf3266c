"""Where members begin to read partitions, as the first Fetch of each tells."""

from collections.abc import Callable

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.wire.beliefs import Beliefs
from kafka_coordinator.wire.requests import Fetch
from kafka_coordinator.wire.state import NO_ID, BrokerState
from protocols.facts import Position
from protocols.queues import Queue

COMMITTED, FIRST, LAST, SEEK = "committed", "first", "last", "seek"
"""Why a member reads there: the offset that its group has committed, the first or the last one, or none of these."""


def observe_positions(
    state: BrokerState, beliefs: Beliefs, request: Fetch, observe: Callable[[tuple[object, ...]], None]
) -> None:
    """Tell the positions of members that a Fetch begins to read for. A request of an incremental session names only
    partitions that are new in it, or have another position than before."""
    for topic in request.body.topics:
        name = getattr(topic, "topic", None) or state.topic_names.get(getattr(topic, "topic_id", NO_ID))
        if name is None:
            continue
        for each in topic.partitions:
            partition = name, each.partition
            for group, member in beliefs.begins_to_read(request.client_id, partition):
                why = _why(state, group, partition, each.fetch_offset)
                observe(Position(group, member, Queue(name, "", each.partition), each.fetch_offset, why))


def _why(state: BrokerState, group: str, partition: Partition, offset: int) -> str:
    core = state.broker.coordinator.core
    known = core.groups.get(group) or core.consumer_groups.get(group)
    committed = known.offsets.get(partition) if known is not None else None
    log = state.storage.log(*partition)
    if committed is not None and committed.offset == offset:
        return COMMITTED
    if offset <= log.start:
        return FIRST
    return LAST if offset >= log.end else SEEK
