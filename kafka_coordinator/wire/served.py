"""A Kafka cluster before real clients: brokers on ports of their own in one process, on a real clock.

Its defaults are the real broker's: in particular a group's first rebalance waits ``group.initial.rebalance.delay.ms``,
which is 3 s.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from time import time
from uuid import UUID
from weakref import WeakValueDictionary

from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.cluster.controller import Controller
from kafka_coordinator.coordinator.node import offsets_topic
from kafka_coordinator.coordinator.settings import BrokerSettings, with_settings
from kafka_coordinator.wire.beliefs import Beliefs
from kafka_coordinator.wire.cluster import ClusterRecord
from kafka_coordinator.wire.controller import ControllerNode
from kafka_coordinator.wire.conversation import KafkaConversation
from kafka_coordinator.wire.names import Names
from kafka_coordinator.wire.node import ServedBroker
from kafka_coordinator.wire.records.storage import Storage
from kafka_coordinator.wire.state import CONTROLLER, BrokerAddress, BrokerState, ServerSettings
from protocols.engine.nodes import at_port
from protocols.engine.sockets import Sockets

DEFAULT_BROKERS = ("broker-1",)


class ServedCluster:
    """Brokers in a world on sockets. To be made inside its event loop; `start` opens the ports.

    ``brokers``: their names, in the order of their ids, which begin with 1. ``topics``: name to its number of
    partitions. ``settings``: the coordinator's under Kafka's own names (`UserError` for one that Kafka does not have).
    """

    def __init__(
        self,
        world: Sockets,
        brokers: Sequence[str] = DEFAULT_BROKERS,
        topics: Mapping[str, int] = {},
        settings: Mapping[str, object] = {},
        server: ServerSettings = ServerSettings(),  # noqa: B008 - frozen
    ) -> None:
        self.world, self.server = world, server
        self._host, self._advertised = "127.0.0.1", None  # type: tuple[str, str | None]
        self.brokers = tuple(brokers)
        self.settings = with_settings(BrokerSettings(), settings, "kafka")
        self.controller = Controller(self.brokers, self.settings.offsets_topic_num_partitions)
        for topic, count in topics.items():
            self.controller.put_topic(topic, tuple(self.brokers[n % len(self.brokers)] for n in range(count)))
            self.controller.topic_ids[topic] = UUID(int=world.random.getrandbits(128), version=4).int
        self.offsets = offsets_topic(self.settings)
        self.storage = Storage(int(time() * 1000))
        self.names = Names()
        self.beliefs = Beliefs(self.names)
        self.addresses: dict[str, BrokerAddress] = {}
        self.states: dict[str, BrokerState] = {}
        self.conversations: WeakValueDictionary[tuple[str, str], KafkaConversation] = WeakValueDictionary()
        """By broker and peer."""
        ids = {name: place + 1 for place, name in enumerate(self.brokers)}
        self.record = ClusterRecord(self.controller, self.storage, server, ids)

    async def start(self, host: str = "127.0.0.1", port: int = 0, advertised: str | None = None) -> None:
        """Open the ports and start the brokers; ``port`` is the first one's, those of others follow it (0: free ones).
        ``advertised``: the host that clients are told instead of ``host``. `OSError` where a port is taken."""
        self._host, self._advertised = host, advertised
        for place, name in enumerate(self.brokers):
            await self.listen(name, port + place if port else 0)
        self.world.start(CONTROLLER, ControllerNode(self.record))
        for name in self.brokers:
            self.start_broker(name)

    @property
    def bootstrap(self) -> str:
        """Where clients begin: the brokers that run, with commas between."""
        running = [self.addresses[name] for name in self.brokers if self.world.is_running(name)]
        return ",".join(at_port(each.host, each.port) for each in running)

    async def listen(self, name: str, port: int) -> None:
        """Open a broker's port (0: a free one). `OSError` where it is taken."""
        found = await self.world.listen(name, partial(self._conversation, name), self._host, port)
        host = self._advertised or found.host
        self.addresses[name] = BrokerAddress(self.brokers.index(name) + 1, host, found.port, found.host)

    def _conversation(self, name: str, peer: str) -> KafkaConversation:
        made = self.conversations[name, peer] = KafkaConversation(peer, self.states[name], self.names)
        return made

    def start_broker(self, name: str) -> None:
        """The broker runs, with what the controller knows."""
        broker = Broker(name, self.settings, self.offsets, self.controller.state)
        node_id = self.brokers.index(name) + 1
        state = BrokerState(name, node_id, broker, self.server, self.addresses, self.storage)
        self.states[name] = state
        self.world.start(name, ServedBroker(state, self.names, self.beliefs))
