"""What requests about partitions have in common: which topic is meant, who leads it, whether the asker knows that."""

from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.wire import entities
from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.records.log import PartitionLog
from kafka_coordinator.wire.state import NO_ID, BrokerState

if TYPE_CHECKING:
    from kio.schema.produce.v12.request import TopicProduceData as NamedTopic
    from kio.schema.produce.v13.request import TopicProduceData

OFFSETS_TOPIC: Final = "__consumer_offsets"
"""What groups store is no records here; clients may neither write nor read it."""


READ_UNCOMMITTED, READ_COMMITTED = ISOLATION_LEVELS = (0, 1)


def topic_of(state: BrokerState, topic: "TopicProduceData | NamedTopic") -> str:
    """The name of an entity's topic, which it gives by name or by id. Raises `RefusedError`: unknown."""
    if hasattr(topic, "topic_id"):
        name = state.topic_names.get(topic.topic_id or NO_ID)
        if name is None:
            raise RefusedError(ErrorCode.unknown_topic_id)
        return name
    return topic.name


def check_known(state: BrokerState, topic: str, partition: int) -> None:
    """Raises `RefusedError` where there is no such partition."""
    if not 0 <= partition < len(state.cluster.topics.get(topic, ())):
        raise RefusedError(ErrorCode.unknown_topic_or_partition)


def led(
    state: BrokerState, topic: str, partition: int, leader_epoch: int = -1, *, only_leader: bool = True
) -> PartitionLog:
    """The log of a partition that this broker leads (or not: ``only_leader``). ``leader_epoch``: the one that the asker
    knows; -1: none. Raises `RefusedError`."""
    check_known(state, topic, partition)
    log: PartitionLog = state.storage.log(topic, partition)
    if 0 <= leader_epoch < log.leader_epoch:
        raise RefusedError(ErrorCode.fenced_leader_epoch)
    if leader_epoch > log.leader_epoch:
        raise RefusedError(ErrorCode.unknown_leader_epoch)
    if only_leader and not state.leads(topic, partition):
        raise RefusedError(ErrorCode.not_leader_or_follower)
    return log


class LeaderHints:
    """Tells clients in the answer itself who leads a partition instead, where the version has room for it (KIP-951)."""

    def __init__(self, state: BrokerState, answer: entities.Kind, partition: entities.Kind) -> None:
        self._state, self._answer = state, answer
        can = entities.has(answer, "node_endpoints") and entities.has(partition, "current_leader")
        self._kind = entities.part(partition, "current_leader") if can else None
        self._leaders: dict[str, None] = {}

    def leader(self, topic: str, partition: int) -> Entity | None:
        """The entity for this partition; None where nothing can be told."""
        leaders = self._state.cluster.topics.get(topic, ())
        if self._kind is None or not 0 <= partition < len(leaders):
            return None
        address = self._state.addresses.get(leaders[partition])
        if address is None:
            return None
        self._leaders[leaders[partition]] = None
        epoch = self._state.storage.log(topic, partition).leader_epoch
        return self._kind(leader_id=address.node_id, leader_epoch=epoch)

    def nodes(self) -> tuple[Entity, ...]:
        """Where the leaders are that were told."""
        if not self._leaders:
            return ()
        kind = entities.part(self._answer, "node_endpoints")
        addresses = [self._state.addresses[name] for name in self._leaders]
        return tuple(
            [kind(node_id=address.node_id, host=address.host, port=address.port, rack=None) for address in addresses]
        )
