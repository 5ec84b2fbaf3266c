"""What the handlers of a served broker's requests work on: the broker, the cluster as it knows it, where brokers are.

Handlers (`kafka_coordinator.wire.served`) are functions of this state, time, sender, request and outbox.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from kafka_coordinator.broker import Broker, ClusterState
from kafka_coordinator.wire.fetches import Fetches
from kafka_coordinator.wire.settings import ServerSettings
from protocols.engine.nodes import Outbox, Time

CONTROLLER: Final = "controller"
"""Node name of the cluster's controller, which brokers tell of topics that shall be created, changed or deleted; it
sends every broker the new `ClusterState`."""

NO_ID: Final = UUID(int=0)
"""What stands for a topic's id where it is not known."""


class BrokerAddress(NamedTuple):
    """A broker as clients see it; ``listens_on``: the address to which its port is bound."""

    node_id: int
    host: str
    port: int
    listens_on: str = ""


@dataclass(slots=True)
class BrokerState:
    """One broker's. What all brokers of a cluster share is the same object in each: ``settings``, ``addresses`` and
    ``storage``."""

    name: str
    node_id: int
    broker: Broker
    """With the group coordinator inside; it holds the current `ClusterState`."""
    settings: ServerSettings
    addresses: Mapping[str, BrokerAddress]
    """Node name of a broker to its id and address; of the brokers that are away, too."""
    storage: Any
    """The records of the cluster's partitions (`kafka_coordinator.wire.records.storage.Storage`)."""
    fetches: Fetches = field(default_factory=Fetches)
    """Fetch sessions, and fetches that wait for records."""
    _seen: Mapping[str, int] | None = None
    _ids: Mapping[str, UUID] = field(default_factory=dict)
    _names: Mapping[UUID, str] = field(default_factory=dict)

    @property
    def cluster(self) -> ClusterState:
        """Live brokers, topics with the leader of each partition (node names, empty: none), topic ids."""
        return self.broker.cluster

    @property
    def topic_ids(self) -> Mapping[str, UUID]:
        """Topic to its id."""
        self._look()
        return self._ids

    @property
    def topic_names(self) -> Mapping[UUID, str]:
        """Id to its topic."""
        self._look()
        return self._names

    def leads(self, topic: str, partition: int) -> bool:
        """Whether this broker leads the partition."""
        leaders = self.cluster.topics.get(topic, ())
        return 0 <= partition < len(leaders) and leaders[partition] == self.name

    def _look(self) -> None:
        given = self.broker.cluster.topic_ids
        if given is not self._seen:
            self._seen = given
            ids = {topic: UUID(int=number) for topic, number in given.items()}
            self._ids = MappingProxyType(ids)
            self._names = MappingProxyType({made: topic for topic, made in ids.items()})


Handler: TypeAlias = Callable[[BrokerState, Time, str, Any, Outbox], None]
"""What answers requests of one API; the third argument is the sender, the fourth the request."""


def connection_of(state: BrokerState, peer: str) -> str:
    """What a client's connection is called in the whole cluster: peers' names are a broker's own."""
    return f"{state.name} {peer}"
