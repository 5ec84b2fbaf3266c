"""What a served broker holds beside the state of the simulation's broker."""

from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.java import Queue
from rocketmq_selfbalance.broker.state import Broker
from rocketmq_selfbalance.wire.messages import Pull
from rocketmq_selfbalance.wire.ownership import Ownership
from rocketmq_selfbalance.wire.record_store import RecordStore
from rocketmq_selfbalance.wire.settings import WireSettings


class ClientKind(NamedTuple):
    """Who speaks on a connection, as its heartbeats say."""

    client_id: str
    language: str
    version: int


class Served:
    """A broker before real clients. ``address`` is the ``host:port`` that they reach it at; ``epoch_ms``: milliseconds
    from 1970 to the beginning of the world; ``ownership`` is shared by the brokers of a cluster."""

    def __init__(
        self,
        broker: Broker,
        store: RecordStore,
        wire: WireSettings,
        ownership: Ownership,
        address: str,
        epoch_ms: Time,
    ) -> None:
        self.broker, self.store, self.wire, self.ownership = broker, store, wire, ownership
        self.address, self.epoch_ms = address, epoch_ms
        self.filters: dict[tuple[str, int], Pull] = {}
        """Client and number of a pull that is held to the whole of it."""
        self.clients: dict[str, ClientKind] = {}
        """Connection to who speaks on it."""
        self.producers: dict[str, dict[str, ClientKind]] = {}
        """Group of producers to its connections."""
        self.places: dict[str, dict[str, str]] = {}
        """Connection to its groups of consumers, to the client's id in each."""
        self.questions: dict[int, tuple[str, int, str]] = {}
        """Number of a question that was passed on to a client to who asked, the number there, and whom."""
        self.asked = 0
        self.read = 0
        """How many records pulls have carried."""
        self.started: Time = 0.0
        self.now: Time = 0.0
        """When the present event came."""
        self.locked: tuple[Queue, ...] = ()
        """What the last request for locks was given."""

    def client_id(self, peer: str, group: str) -> str | None:
        """The client's id in this group; None where it is not in it."""
        known = self.broker.consumers.groups.get(group)
        channel = None if known is None else known.channels.get(peer)
        return None if channel is None else channel.client_id

    def epoch(self, now: Time) -> int:
        """Milliseconds since 1970."""
        return int(now + self.epoch_ms)
