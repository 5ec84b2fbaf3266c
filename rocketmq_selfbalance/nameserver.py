"""RocketMQ's name server: what brokers there are, and where each topic has its queues (spec 1).

Its settings (``NamesrvConfig``; spec 10.1) with the defaults of 5.3.3; its tables, ``RouteInfoManager``, a plain object
that is given the time and the connections (spec 1.1 to 1.4); and the node: brokers register, clients ask for routes, a
scan removes the silent (``DefaultRequestProcessor``, ``ClientRequestProcessor``, ``BrokerHousekeepingService``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName
from protocols.facts import Stage
from protocols.java import sorted_as_java
from protocols.load import changed
from protocols.node_state import Emptied, NodeState
from rocketmq_selfbalance.codes import MASTER_ID, PERM_READ, PERM_WRITE, SUCCESS, TOPIC_NOT_EXIST
from rocketmq_selfbalance.messages import nameserver
from rocketmq_selfbalance.versions import Version

REAL_NAMES: Mapping[str, str] = {
    "scanNotActiveBrokerInterval": "scan_not_active_broker_interval_ms",
    "brokerExpiredTimeout": "broker_expired_timeout_ms",
    "supportActingMaster": "support_acting_master",
    "deleteTopicWithBrokerRegistration": "delete_topic_with_broker_registration",
}
"""The system's own configuration name to the field. (``brokerExpiredTimeout`` has no name of its own in RocketMQ.)"""


@dataclass(frozen=True, slots=True)
class NameServerSettings:
    """Times are milliseconds."""

    scan_not_active_broker_interval_ms: Time = 5_000.0
    scan_first_ms: Time = 5.0
    """The first scan, after the start."""
    broker_expired_timeout_ms: Time = 120_000.0
    """A broker that was silent for longer is gone."""
    support_acting_master: bool = False
    delete_topic_with_broker_registration: bool = False

    @classmethod
    def of(cls, version: Version) -> Self:
        """The defaults of this version."""
        return changed(cls(), OF_VERSION.get(version.name, {}))


OF_VERSION: Mapping[str, Mapping[str, object]] = {
    "4.5": {"scan_not_active_broker_interval_ms": 10_000.0, "scan_first_ms": 5_000.0}
}
"""Version to its other defaults, as fields."""


class RegisterBrokerResult(NamedTuple):
    """The answer to a registration: the master of a replica, where there is one."""

    master_address: str | None
    ha_server_address: str | None


@dataclass(slots=True, eq=False)
class BrokerAddresses(NodeState):
    """A broker name with the addresses of its master and replicas, which may be none."""

    cluster: str
    acting_master: bool = False
    addresses: dict[int, str] = field(default_factory=dict)


class BrokerLiveInfo(NamedTuple):
    """What is known of an address since its last registration."""

    last_update: Time
    timeout_ms: Time
    version: nameserver.DataVersion
    channel: str
    ha_server_address: str | None


@dataclass(slots=True, eq=False)
class RouteInfoManager(NodeState):
    """Topics, brokers, clusters and live addresses, as one name server knows them. The real tables are
    ``topicQueueTable``, ``brokerAddrTable``, ``clusterAddrTable``, ``brokerLiveTable``."""

    settings: NameServerSettings
    topics: dict[str, dict[str, nameserver.QueueData]] = field(default_factory=dict)
    """Topic to broker name to its queues."""
    brokers: dict[str, BrokerAddresses] = field(default_factory=dict)
    clusters: dict[str, set[str]] = field(default_factory=dict)
    """Cluster to the names of its brokers."""
    live: dict[tuple[str, str], BrokerLiveInfo] = field(default_factory=dict)
    """(Cluster, address) to what is known of it."""
    revision: int = 0
    """Rises whenever routes may have changed."""

    def register(
        self,
        now: Time,
        cluster: str,
        broker: str,
        broker_id: int,
        address: str,
        topics: Iterable[nameserver.TopicConfig],
        version: nameserver.DataVersion,
        channel: str,
        *,
        timeout_ms: Time | None = None,
        acting_master: bool | None = None,
        ha_server_address: str | None = None,
    ) -> RegisterBrokerResult | None:
        """A broker registers its topics (``registerBroker``); None where it is refused.

        ``acting_master``: whether its smallest replica may stand in for a lost master; None from a 4.x broker, which
        does not say. A first registration with exactly one topic is refused (and leaves its name behind).
        """
        self.clusters.setdefault(cluster, set()).add(broker)
        entry = self.brokers.get(broker)
        first = entry is None
        if entry is None:
            entry = self.brokers[broker] = BrokerAddresses(cluster)
        entry.acting_master = bool(acting_master)
        addresses = entry.addresses
        for other in [id for id, known in addresses.items() if known == address and id != broker_id]:
            del addresses[other]  # a replica that has become master, or the reverse
        before = addresses.get(broker_id)
        if before is not None and before != address:
            rival = self.live.get((cluster, before))
            if rival is not None and rival.version.state_version > version.state_version:
                self.live.pop((cluster, address), None)
                return RegisterBrokerResult(None, None)
        configs = {config.topic: config for config in topics}
        if before is None and len(configs) == 1:
            return None
        addresses[broker_id] = address
        first = first or before is None
        self.revision += before != address
        prime_replica = acting_master is not None and broker_id != MASTER_ID and broker_id == min(addresses)
        if broker_id == MASTER_ID or prime_replica:
            wipe = prime_replica and entry.acting_master
            self._take_topics(cluster, broker, address, configs, version, first=first, wipe=wipe)
        expiry = self.settings.broker_expired_timeout_ms if timeout_ms is None else timeout_ms
        self.live[cluster, address] = BrokerLiveInfo(now, expiry, version, channel, ha_server_address)
        if broker_id != MASTER_ID:
            master = addresses.get(MASTER_ID)
            known = None if master is None else self.live.get((cluster, master))
            if known is not None:
                return RegisterBrokerResult(master, known.ha_server_address)
        return RegisterBrokerResult(None, None)

    def _take_topics(
        self,
        cluster: str,
        broker: str,
        address: str,
        configs: dict[str, nameserver.TopicConfig],
        version: nameserver.DataVersion,
        *,
        first: bool,
        wipe: bool,
    ) -> None:
        if self.settings.delete_topic_with_broker_registration:
            for topic in [topic for topic, queues in self.topics.items() if broker in queues and topic not in configs]:
                self._drop_queues(topic, broker)
        before = self.live.get((cluster, address))
        changed = first or before is None or before.version != version
        for topic, config in configs.items():
            queues = self.topics.get(topic, {})
            if changed or broker not in queues:
                self.revision += 1
                perm = config.perm & ~PERM_WRITE if wipe else config.perm
                self.topics.setdefault(topic, {})[broker] = nameserver.QueueData(
                    broker, config.read, config.write, perm
                )

    def unregister(self, cluster: str, broker: str, address: str) -> None:
        """The address is no more (``unregisterBroker``). With a broker's last address go its queues, and topics without
        any queue."""
        self.live.pop((cluster, address), None)
        self.revision += 1
        entry = self.brokers.get(broker)
        if entry is not None:
            for id in [id for id, known in entry.addresses.items() if known == address]:
                del entry.addresses[id]
        if entry is not None and entry.addresses:
            if entry.acting_master and MASTER_ID not in entry.addresses:
                self._set_perm(broker, clear=PERM_WRITE)
            return
        if entry is not None:
            del self.brokers[broker]
            members = self.clusters.get(cluster, set())
            members.discard(broker)
            if not members:
                self.clusters.pop(cluster, None)
            for topic in [topic for topic, queues in self.topics.items() if broker in queues]:
                self._drop_queues(topic, broker)

    def heartbeat(self, now: Time, cluster: str, address: str) -> None:
        known = self.live.get((cluster, address))
        if known is not None:
            self.live[cluster, address] = known._replace(last_update=now)

    def scan(self, now: Time) -> list[str]:
        """Remove the addresses that were silent for longer than their time (``scanNotActiveBroker``).

        Their channels, which shall be closed."""
        silent = [key for key, known in self.live.items() if known.last_update + known.timeout_ms < now]
        channels = [self.live[key].channel for key in silent]
        for cluster, address in silent:
            self._lose(cluster, address)
        return channels

    def channel_closed(self, channel: str) -> bool:
        """The connection of a broker ended (``onChannelDestroy``): it is gone. Whether a broker was on it."""
        found = next((key for key, known in self.live.items() if known.channel == channel), None)
        return found is not None and self._lose(*found)

    def _lose(self, cluster: str, address: str) -> bool:
        for name, entry in self.brokers.items():
            if entry.cluster == cluster and address in entry.addresses.values():
                self.unregister(cluster, name, address)
                return True
        return False

    def route(self, topic: str) -> nameserver.Route | None:
        """Where the topic has its queues (``pickupTopicRouteData``), sorted by broker name; None where it has none."""
        queues = self.topics.get(topic)
        if not queues:
            return None
        names = sorted_as_java(queues)
        data = [
            nameserver.BrokerData(entry.cluster, name, tuple(sorted(entry.addresses.items())))
            for name in names
            if (entry := self.brokers.get(name)) is not None
        ]
        if not data:
            return None
        if self.settings.support_acting_master:
            data = [self._with_acting_master(route, queues) for route in data]
        return nameserver.Route(tuple(queues[name] for name in names), tuple(data))

    def _with_acting_master(
        self, data: nameserver.BrokerData, queues: dict[str, nameserver.QueueData]
    ) -> nameserver.BrokerData:
        """The smallest replica appears as master where there is none and the queues are not writable."""
        addresses = data.addresses
        if not addresses or addresses[0][0] == MASTER_ID or not self.brokers[data.broker].acting_master:
            return data
        if queues[data.broker].perm & PERM_WRITE:
            return data
        return data._replace(addresses=((MASTER_ID, addresses[0][1]), *addresses[1:]))

    def master(self, broker: str) -> str | None:
        """The address of its master; None where it has none."""
        entry = self.brokers.get(broker)
        return None if entry is None else entry.addresses.get(MASTER_ID)

    def wipe_write_perm(self, broker: str) -> int:
        """An administrator's call; the number of topics concerned."""
        return self._set_perm(broker, clear=PERM_WRITE)

    def add_write_perm(self, broker: str) -> int:
        """An administrator's call: read and write, whatever it was; the number of topics concerned."""
        return self._set_perm(broker, to=PERM_READ | PERM_WRITE)

    def _set_perm(self, broker: str, *, clear: int = 0, to: int | None = None) -> int:
        concerned = [queues for queues in self.topics.values() if broker in queues]
        self.revision += 1
        for queues in concerned:
            data = queues[broker]
            queues[broker] = data._replace(perm=data.perm & ~clear if to is None else to)
        return len(concerned)

    def delete_topic(self, topic: str, cluster: str | None = None) -> None:
        self.revision += 1
        if cluster is None:
            self.topics.pop(topic, None)
            return
        for broker in sorted_as_java(self.clusters.get(cluster, ())):
            self._drop_queues(topic, broker)

    def register_topic(self, topic: str, queues: Iterable[nameserver.QueueData]) -> None:
        """An administrator's call, without any broker's: queues of known brokers, up to the first unknown one."""
        for data in queues:
            if data.broker not in self.brokers:
                return
            self.topics.setdefault(topic, {})[data.broker] = data
            self.revision += 1

    def _drop_queues(self, topic: str, broker: str) -> None:
        self.revision += 1
        queues = self.topics.get(topic)
        if queues is not None and queues.pop(broker, None) is not None and not queues:
            del self.topics[topic]


SCAN = "scan brokers"


@dataclass(slots=True, init=False, eq=False)
class NameServer(NodeState):
    """One name server. Its tables are in memory: a new one knows nothing until the brokers register again."""

    settings: NameServerSettings
    table: RouteInfoManager
    _answers: Emptied[dict[str, nameserver.Route | None]]
    """Topic to the route as it was answered at this revision of the tables,"""
    _revision: Emptied[int]
    """which is this one."""

    def __init__(self, settings: NameServerSettings | None = None) -> None:
        self.settings = settings or NameServerSettings()
        self.table = RouteInfoManager(self.settings)
        self._answers = {}
        self._revision = 0

    def start(self, now: Time, out: Outbox) -> None:
        out.set_timer(SCAN, now + self.settings.scan_first_ms)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if type(message) is nameserver.GetRouteInfo:
            route = self.route(message.topic)
            code = TOPIC_NOT_EXIST if route is None else SUCCESS
            out.send(sender, nameserver.RouteInfoAnswer(message.correlation, code, route))
            return
        match message:
            case nameserver.RegisterBroker():
                before = self.table.master(message.broker)
                self.table.register(
                    now,
                    message.cluster,
                    message.broker,
                    message.broker_id,
                    message.address,
                    message.topics,
                    message.version,
                    sender,
                )
                if self.table.master(message.broker) != before:
                    out.observe(Stage(message.broker, f"the name server has {message.address} as its master"))
            case nameserver.UnregisterBroker():
                self._dropped([message.broker] if self.table.master(message.broker) == message.address else [], "", out)
                self.table.unregister(message.cluster, message.broker, message.address)
            case nameserver.BrokerHeartbeat():
                self.table.heartbeat(now, message.cluster, message.address)
            case nameserver.WipeWritePerm() if sender == OPERATOR:
                self.table.wipe_write_perm(message.broker)
            case nameserver.AddWritePerm() if sender == OPERATOR:
                self.table.add_write_perm(message.broker)
            case nameserver.DeleteTopicInNameServer() if sender == OPERATOR:
                self.table.delete_topic(message.topic)
            case _:
                raise TypeError(f"a name server does not understand {message!r} from {sender}")

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        masters = {name: self.table.master(name) for name in self.table.brokers}
        for channel in self.table.scan(now):
            out.close(channel)
            gone = [name for name, master in masters.items() if master == channel]
            self._dropped(gone, f"brokerExpiredTimeout {self.settings.broker_expired_timeout_ms:g} ms", out)
        out.set_timer(SCAN, now + self.settings.scan_not_active_broker_interval_ms)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """Whoever connects says later who it is."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self._dropped([name for name in self.table.brokers if self.table.master(name) == peer], "", out)
        self.table.channel_closed(peer)

    def _dropped(self, brokers: Iterable[str], setting: str, out: Outbox) -> None:
        for name in brokers:
            out.observe(Stage(name, f"the name server drops {name}", "", setting))

    def route(self, topic: str) -> nameserver.Route | None:
        """The topic's route as it is told to whoever asks; None where there is none."""
        if self._revision != self.table.revision:
            self._answers, self._revision = {}, self.table.revision
        if topic not in self._answers:
            self._answers[topic] = self.table.route(topic)
        return self._answers[topic]


__all__ = ["NameServer", "NameServerSettings", "RouteInfoManager"]
