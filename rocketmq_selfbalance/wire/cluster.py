"""A RocketMQ cluster on loopback ports of one process: a name server and brokers, for clients of any language.

```python
world = Sockets()
cluster = await RocketMQCluster.start(world, brokers=["broker-a"], topics={"orders": {"broker-a": 4}}, epoch_ms=...)
cluster.name_server     # "127.0.0.1:40123": what clients take as their name server
```
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import count as numbers
from typing import Final

from protocols.engine.nodes import Message, Time, at_port
from protocols.engine.process import CLOCK
from protocols.engine.secured import context_of, secured
from protocols.engine.sockets import Sockets
from rocketmq_selfbalance.broker import Broker, Disk
from rocketmq_selfbalance.broker.state import BrokerSettings, SubscriptionGroupManager, TopicConfigManager
from rocketmq_selfbalance.broker.store import StopBroker
from rocketmq_selfbalance.grpc import CERTIFICATE
from rocketmq_selfbalance.grpc.conversation import maker as grpc_maker
from rocketmq_selfbalance.messages.membership import (
    DeleteTopicInBroker,
    ResetOffset,
    SubscriptionGroup,
    UpdateSubscriptionGroup,
    UpdateTopic,
)
from rocketmq_selfbalance.messages.nameserver import DeleteTopicInNameServer, Route, TopicConfig
from rocketmq_selfbalance.nameserver import NameServerSettings
from rocketmq_selfbalance.proxy import NAME, Proxy, ProxyNode, ProxySettings
from rocketmq_selfbalance.wire import requests, sending, stored_messages
from rocketmq_selfbalance.wire.broker import ServedBroker
from rocketmq_selfbalance.wire.conversation import maker
from rocketmq_selfbalance.wire.name_server import ServedNameServer
from rocketmq_selfbalance.wire.ownership import Ownership
from rocketmq_selfbalance.wire.rehearsal import ClusterDirectory
from rocketmq_selfbalance.wire.served import RecordStore, Served, WireSettings

NAME_SERVER: Final = "namesrv"
"""Node name of the name server."""


class RocketMQCluster:
    """One in a world on sockets; made by `start`, to be used in the world's event loop."""

    def __init__(
        self,
        world: Sockets,
        *,
        host: str,
        epoch_ms: Time,
        broker: BrokerSettings,
        name_server: NameServerSettings,
        wire: WireSettings,
        advertised: str | None = None,
    ) -> None:
        self.world, self.host, self.epoch_ms = world, host, epoch_ms
        self.advertised = advertised
        self.broker_settings, self.wire = broker, wire
        self._name_server_settings = name_server
        self.addresses: dict[str, str] = {}
        """Name of a node to its ``host:port``, which a broker keeps when it starts again."""
        self.disks: dict[str, Disk] = {}
        self._stores: dict[str, RecordStore] = {}
        self.ownership = Ownership()
        self.proxy = ""
        """The ``host:port`` of the proxy for clients of the 5.x line, once it is started."""

    @classmethod
    async def start(
        cls,
        world: Sockets,
        *,
        epoch_ms: Time,
        brokers: Sequence[str] = ("broker-a",),
        topics: Mapping[str, Mapping[str, int]] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        broker: BrokerSettings | None = None,
        name_server: NameServerSettings | None = None,
        wire: WireSettings | None = None,
        advertised: str | None = None,
    ) -> "RocketMQCluster":
        """Start a name server on ``port`` (0: a free one) and brokers on free ones.

        ``topics``: topic to broker to its number of queues. ``epoch_ms``: milliseconds from 1970 to the time 0 of the
        world. ``advertised``: the host that clients are told instead of ``host``. `OSError` where the port is taken.
        """
        cluster = cls(
            world,
            host=host,
            epoch_ms=epoch_ms,
            broker=broker or BrokerSettings(),
            name_server=name_server or NameServerSettings(),
            wire=wire or WireSettings(),
            advertised=advertised,
        )
        await cluster._start_name_server(port)
        for name in brokers:
            configs = [
                TopicConfig(topic, counts[name], counts[name])
                for topic, counts in (topics or {}).items()
                if name in counts
            ]
            cluster._add_disk(name, configs)
            await cluster.start_broker(name)
        return cluster

    @property
    def name_server(self) -> str:
        """The ``host:port`` that clients take as their name server."""
        return self.addresses[NAME_SERVER]

    @property
    def brokers(self) -> list[str]:
        """Names of the brokers, running or not."""
        return list(self.disks)

    async def _start_name_server(self, port: int) -> None:
        conversations = maker(requests.NAME_SERVER, NAME_SERVER, self.wire, self.broker_settings.version.name)
        address = await self.world.listen(NAME_SERVER, conversations, self.host, port)
        self.addresses[NAME_SERVER] = at_port(self.advertised or address.host, address.port)
        self.world.start(NAME_SERVER, ServedNameServer(self.addresses, self._name_server_settings))

    def _add_disk(self, name: str, configs: Iterable[TopicConfig]) -> None:
        topics = TopicConfigManager(self.world.tell_time(), configs)
        if self.wire.auto_create_topic:
            topics.configs = sending.with_defaults(topics.configs, self.wire.default_topic_queues)
        groups = SubscriptionGroupManager(auto_create=self.broker_settings.auto_create_subscription_group)
        store = self._stores[name] = RecordStore(self.wire.most_stored_bytes, self.epoch_ms)
        self.disks[name] = Disk(topics, groups, store)

    # Brokers.

    async def start_broker(self, name: str) -> None:
        """Start a broker that is stopped, with the disk and the port that it had."""
        known = self.addresses.get(name)
        port = int(known.rpartition(":")[2]) if known is not None else 0
        conversations = maker(requests.BROKER, name, self.wire, self.broker_settings.version.name)
        address = await self.world.listen(name, conversations, self.host, port)
        self.addresses[name] = at_port(self.advertised or address.host, address.port)
        store = self._stores[name]
        store.host = stored_messages.host(address.host, address.port)
        state = Broker(name, self.disks[name], self.broker_settings, (NAME_SERVER,))
        served = Served(state, store, self.wire, self.ownership, self.addresses[name], self.epoch_ms)
        served.route_of = self._route
        self.world.start(name, ServedBroker(served))

    def stop_broker(self, name: str) -> None:
        """End a broker properly: it writes its offsets and takes leave of the name server."""
        self.world.command(name, StopBroker(0))
        self.kill_broker(name)

    def kill_broker(self, name: str) -> None:
        broker = self.broker(name)
        now = self.world.tell_time()

        def observe(fact: tuple[object, ...]) -> None:
            self.world.observer.fact(now, name, fact, CLOCK, CLOCK)

        for peer, groups in broker.places.items() if broker is not None else ():
            for group, member in groups.items():
                self.ownership.left(now, group, member, name, peer, observe)
        self.world.end(name)

    def broker(self, name: str) -> Served | None:
        """The broker of this name; None where it does not run. Not to be changed."""
        process = self.world.processes.get(name)
        return process.node.served if process is not None and isinstance(process.node, ServedBroker) else None

    async def start_proxy(self, port: int = 0, settings: ProxySettings | None = None) -> None:
        """Serve clients of the 5.x line too, in plaintext and TLS on this port (0: a free one). `OSError` where it is
        taken."""
        conversations = secured(grpc_maker(numbers(1)), context_of(CERTIFICATE, "h2"))
        address = await self.world.listen(NAME, conversations, self.host, port)
        self.proxy = at_port(self.advertised or self.host, address.port)
        directory = ClusterDirectory(self._route, self.disks)
        self.world.start(NAME, ProxyNode(Proxy(settings or ProxySettings(), directory, address.port, self.epoch_ms)))

    def _route(self, topic: str) -> Route | None:
        process = self.world.processes.get(NAME_SERVER)
        return (
            process.node.node.route(topic)
            if process is not None and isinstance(process.node, ServedNameServer)
            else None
        )

    # Topics and offsets.

    def create_topic(self, topic: str, queues: Mapping[str, int], kind: str | None = None) -> None:
        """Create a topic or change it: broker to its number of queues. A broker that is not named keeps what it has.
        ``kind``: NORMAL, FIFO, DELAY, TRANSACTION, PRIORITY or MIXED; left out, as it was."""
        for broker, count in queues.items():
            before = self.disks[broker].topics.configs.get(topic)
            known = kind or (before.kind if before is not None else "NORMAL")
            self.administer(broker, UpdateTopic(0, TopicConfig(topic, count, count, kind=known)))

    def create_group(self, group: str, *, in_order: bool = False, most_retries: int = 16) -> None:
        """Create a group or change it, on all brokers."""
        config = SubscriptionGroup(group, retry_max_times=most_retries, consume_message_orderly=in_order)
        for broker in self.disks:
            self.administer(broker, UpdateSubscriptionGroup(0, config))

    def delete_topic(self, topic: str) -> None:
        for broker in self.disks:
            self.administer(broker, DeleteTopicInBroker(0, topic))
        self.world.command(NAME_SERVER, DeleteTopicInNameServer(0, topic))

    def reset_offsets(self, group: str, topic: str, timestamp: Time) -> None:
        """Set a group's offsets of a topic back to a time of this world; below 0: to the end."""
        for broker in self.disks:
            self.administer(broker, ResetOffset(0, group, topic, timestamp))

    def administer(self, broker: str, command: Message) -> None:
        """An administrator's command to a broker; nothing happens where it does not run."""
        if self.world.is_running(broker):
            self.world.command(broker, command)
