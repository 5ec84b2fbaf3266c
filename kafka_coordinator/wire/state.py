"""What requests to a served broker are handled with: its settings, the broker itself, the cluster as it knows it, where
brokers are; and how a request about groups is turned into the coordinator's messages, and its answers into the answer.

Clients may ask about several groups at once; the coordinator is asked about each for itself. So a request becomes any
number of messages, whose correlations follow one another, and its answer is made from all of theirs. What is not about
groups is handled by functions (`Handler`).
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from kio.static.protocol import Entity

from kafka_coordinator.cluster.broker import Broker, ClusterState
from kafka_coordinator.share.leader import ShareLeader
from kafka_coordinator.wire.entities import Kind
from kafka_coordinator.wire.fetches import Fetches
from kafka_coordinator.wire.names import Names
from kafka_coordinator.wire.offset_room import OffsetRoom
from kafka_coordinator.wire.records.storage import Storage
from kafka_coordinator.wire.requests import Piece
from protocols.engine.nodes import Message, Outbox, Time


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """A field's name is Kafka's own with ``_`` for ``.``; times are milliseconds, sizes bytes.

    Fields that Kafka sets elsewhere: ``cluster_id``; bounds of a process: ``topics_created_at_once``, ``most_topics``.
    """

    cluster_id: str = "ZXF1aXBvaXNlLXNlcnZl"
    auto_create_topics_enable: bool = True
    num_partitions: int = 1
    """Partitions of a topic that is created because a client asked for it."""
    default_replication_factor: int = 1
    topics_created_at_once: int = 100
    """Topics that one Metadata request brings into being; a client asks again for the others."""
    most_topics: int = 20_000
    """That clients may bring into being, with those that are there."""
    socket_request_max_bytes: int = 32 * 1024 * 1024
    """A longer request closes its connection. Kafka takes 100 MiB, which one thread would copy for 100 ms."""


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
    storage: Storage
    """The records of the cluster's partitions."""
    fetches: Fetches = field(default_factory=Fetches)
    """Fetch sessions, and fetches that wait for records."""
    share: ShareLeader = field(init=False)
    """The share-partitions of what this broker leads."""
    offset_room: OffsetRoom = field(default_factory=OffsetRoom)
    markers: deque[Generator[None, None, None]] = field(default_factory=deque)
    """Of transactions that have ended, to be written when others have had their turn; nobody waits for them."""
    marking: set[int] = field(default_factory=set)
    """Producers whose markers are being written in turns."""
    configs_seen: int = 0
    """How often settings had changed when those of groups were looked at last."""
    _gone: dict[UUID, str] = field(default_factory=dict)
    _seen: Mapping[str, int] | None = None
    _ids: Mapping[str, UUID] = field(default_factory=dict)
    _names: Mapping[UUID, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        version = self.broker.coordinator.core.settings.version
        self.share = ShareLeader(self.storage.shares, self.storage.share_settings, version)

    @property
    def version(self) -> str:
        """Name of Kafka's version that the broker is of."""
        return self.broker.coordinator.core.settings.version.name

    @property
    def cluster(self) -> ClusterState:
        """Live brokers, topics with the leader of each partition (node names, empty: none), topic ids."""
        return self.broker.cluster

    @property
    def topic_ids(self) -> Mapping[str, UUID]:
        self._look()
        return self._ids

    @property
    def topic_names(self) -> Mapping[UUID, str]:
        self._look()
        return self._names

    @property
    def gone_topics(self) -> Mapping[UUID, str]:
        """The names of topics that were deleted and not created again: who has read them may still say so."""
        self._look()
        return self._gone

    def leads(self, topic: str, partition: int) -> bool:
        leaders = self.cluster.topics.get(topic, ())
        return 0 <= partition < len(leaders) and leaders[partition] == self.name

    def _look(self) -> None:
        given = self.broker.cluster.topic_ids
        if given is not self._seen:
            self._seen = given
            before = self._ids
            ids = {
                topic: known if (known := before.get(topic)) is not None and known.int == number else UUID(int=number)
                for topic, number in given.items()
            }
            gone = {**self._gone, **{made: topic for topic, made in before.items() if topic not in ids}}
            self._gone = {made: topic for made, topic in gone.items() if topic not in ids}
            self._ids = MappingProxyType(ids)
            self._names = MappingProxyType({made: topic for topic, made in ids.items()})


Handler: TypeAlias = Callable[[BrokerState, Time, str, Any, Outbox], None]
"""What answers requests of one API; the third argument is the sender, the fourth the request."""


def connection_of(state: BrokerState, peer: str) -> str:
    """What a client's connection is called in the whole cluster: peers' names are a broker's own."""
    return f"{state.name} {peer}"


NO_THROTTLE = timedelta(0)
_MILLISECOND = timedelta(milliseconds=1)


class Asked(NamedTuple):
    """What a translation is told beside the body of a request."""

    version: int
    client_id: str
    connection: str
    """Its name in the cluster (`state.connection_of`)."""
    first: int
    """Correlation of the first message, which is answered under it; those of further ones follow."""
    state: BrokerState
    names: Names


Read: TypeAlias = Callable[[Any, Asked], Sequence[Message]]
"""Body of a request to the messages for the coordinator; none at all where nothing is left to be asked."""

Prepare: TypeAlias = Callable[[Any, Asked], Iterator[None]]
"""Body of a request to what is computed before it is read, piece by piece: others have their turn in between."""

MANY: Final = 1_000
"""Topics or partitions in one request that are worth a rest in between."""

Write: TypeAlias = Callable[[Kind, Any, Asked, Sequence[Any]], Entity | Piece]
"""Class of the answer, body of the request and the coordinator's answers (in the order of its messages) to the answer's
body, or what is left to be done for it."""


class Translation(NamedTuple):
    """Both directions of one API, in all versions."""

    read: Read
    write: Write
    prepare: Prepare | None = None


def milliseconds(given: timedelta) -> int:
    return given // _MILLISECOND
