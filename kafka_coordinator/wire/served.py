"""A Kafka cluster before real clients: brokers on ports of their own in one process, on a real clock; and what
administrators, machines and networks do to it (`Operations`, to be called in the world's event loop).

Its defaults are the real broker's: in particular a group's first rebalance waits ``group.initial.rebalance.delay.ms``,
which is 3 s.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import time
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.cluster.controller import Controller, ControllerSettings
from kafka_coordinator.coordinator.group import session_timer
from kafka_coordinator.coordinator.node import offsets_topic
from kafka_coordinator.coordinator.settings import BrokerSettings, with_settings
from kafka_coordinator.share.settings import NAMES as SHARE_SETTINGS
from kafka_coordinator.share.settings import ShareSettings
from kafka_coordinator.transactions import TRANSACTION_SETTINGS, TransactionSettings
from kafka_coordinator.versions import DEFAULT, Version
from kafka_coordinator.wire.beliefs import Beliefs
from kafka_coordinator.wire.cluster import ClusterRecord
from kafka_coordinator.wire.config_changes import check_values
from kafka_coordinator.wire.config_values import broker_values
from kafka_coordinator.wire.controller import BalanceLeaders, BrokerAway, BrokerBack, ControllerNode, TellBrokers
from kafka_coordinator.wire.conversation import KafkaConversation
from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.names import Names
from kafka_coordinator.wire.node import ServedBroker
from kafka_coordinator.wire.records.storage import GROUP_CONFIG, Storage
from kafka_coordinator.wire.share_records import ExpireLocks, Hidden, hidden
from kafka_coordinator.wire.state import CONTROLLER, BrokerAddress, BrokerState, ServerSettings, connection_of
from protocols.engine.nodes import at_port
from protocols.engine.sockets import Sockets
from protocols.errors import UserError
from protocols.load import changed

DEFAULT_BROKERS = ("broker-1",)
PERSISTER_MS: Final = 2
"""How long the persister takes to keep what has changed: a fetch does not see what came along with it yet, as with a
real broker."""


class ServedCluster:
    """Brokers in a world on sockets. To be made inside its event loop; `start` opens the ports.

    ``brokers``: their names, in the order of their ids, which begin with 1. ``topics``: name to its number of
    partitions. ``settings``: the coordinators' under Kafka's own names (`UserError` for one that Kafka does not have).
    """

    def __init__(
        self,
        world: Sockets,
        brokers: Sequence[str] = DEFAULT_BROKERS,
        topics: Mapping[str, int] = {},
        settings: Mapping[str, object] = {},
        server: ServerSettings = ServerSettings(),  # noqa: B008 - frozen
        version: Version = DEFAULT,
    ) -> None:
        self.world, self.server = world, server
        self._host, self._advertised = "127.0.0.1", None  # type: tuple[str, str | None]
        self.brokers = tuple(brokers)
        own = {name: value for name, value in settings.items() if name in TRANSACTION_SETTINGS}
        of_shares = {SHARE_SETTINGS[name]: value for name, value in settings.items() if name in SHARE_SETTINGS}
        of_groups = {name: value for name, value in settings.items() if name not in own and name not in SHARE_SETTINGS}
        self.settings = with_settings(BrokerSettings(version=version), of_groups, "kafka")
        self.controller = Controller(self.brokers, self.settings.offsets_topic_num_partitions)
        for topic, count in topics.items():
            self.controller.put_topic(topic, tuple(self.brokers[n % len(self.brokers)] for n in range(count)))
            self.controller.topic_ids[topic] = UUID(int=world.random.getrandbits(128), version=4).int
        self.offsets = offsets_topic(self.settings)
        self.storage = Storage(
            int(time() * 1000),
            transactions=TransactionSettings.of(own),
            share_settings=replace(changed(ShareSettings(), of_shares), write_ms=PERSISTER_MS),
        )
        self.names = Names()
        self.beliefs = Beliefs(self.names)
        self.addresses: dict[str, BrokerAddress] = {}
        self.states: dict[str, BrokerState] = {}
        self.conversations: WeakValueDictionary[tuple[str, str], KafkaConversation] = WeakValueDictionary()
        """By broker and peer."""
        ids = {name: place + 1 for place, name in enumerate(self.brokers)}
        self.record = ClusterRecord(self.controller, self.storage, server, ids, version)

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
        writes = partial(self.beliefs.answered, partial(self.world.tell, name))
        made = self.conversations[name, peer] = KafkaConversation(peer, self.states[name], self.names, writes)
        return made

    def start_broker(self, name: str) -> None:
        """The broker runs, with what the controller knows."""
        broker = Broker(name, self.settings, self.offsets, self.controller.state)
        node_id = self.brokers.index(name) + 1
        state = BrokerState(name, node_id, broker, self.server, self.addresses, self.storage)
        self.states[name] = state
        self.world.start(name, ServedBroker(state, self.names, self.beliefs))


class Operations:
    """Of one cluster; raises `UserError` for what there is not."""

    def __init__(self, cluster: ServedCluster, timing: ControllerSettings = ControllerSettings()) -> None:  # noqa: B008
        self.cluster, self.timing = cluster, timing

    # Topics.

    def create_topic(self, topic: str, partitions: int, replicas: int = 1) -> None:
        record = self.cluster.record
        if topic in record.topics():
            raise UserError(f"topic {topic!r} exists already")
        number = UUID(int=self.cluster.world.random.getrandbits(128), version=4)
        record.create(topic, record.placed(partitions, replicas), {}, number)
        self._tell()

    def add_partitions(self, topic: str, count: int) -> None:
        """The topic has so many partitions from now on, more than before."""
        record = self.cluster.record
        before = record.replicas(topic)
        if before is None:
            raise UserError(f"there is no topic {topic!r}, expected one of {', '.join(sorted(record.topics()))}")
        if count <= len(before):
            raise UserError(f"topic {topic!r} has {len(before)} partitions, expected more than that, not {count}")
        record.grow(topic, record.placed(count - len(before), len(before[0]), len(before)))
        self._tell()

    def delete_topic(self, topic: str) -> None:
        if topic not in self.cluster.record.topics():
            raise UserError(f"there is no topic {topic!r}")
        self.cluster.record.delete(topic)
        self._tell()

    # Brokers.

    def stop(self, broker: str) -> None:
        """The broker stops properly: others lead what it led, then its connections are closed."""
        self._running(broker)
        self.cluster.world.command(CONTROLLER, BrokerAway(broker))
        self._end(broker)

    def kill(self, broker: str) -> None:
        """The broker is gone; the controller notices after ``broker.session.timeout.ms``."""
        world = self.cluster.world
        self._running(broker)
        self.cluster.controller.ended(broker)
        self._end(broker)

        def notice() -> None:
            if not world.is_running(broker):
                world.command(CONTROLLER, BrokerAway(broker))

        world.at(world.tell_time() + self.timing.broker_session_timeout_ms, notice, f"{broker} is missed")

    async def bring_back(self, broker: str) -> None:
        """The broker runs again, on the port that it had; it leads again what it prefers to at the next check."""
        cluster, world = self.cluster, self.cluster.world
        if world.is_running(broker):
            raise UserError(f"{broker} runs")
        await cluster.listen(broker, cluster.addresses[broker].port)
        world.command(CONTROLLER, BrokerBack(broker))
        cluster.start_broker(broker)
        every = self.timing.leader_imbalance_check_interval_seconds * 1000.0
        check = (world.tell_time() // every + 1) * every
        world.at(check, self._balance, "partitions go back to their preferred leaders")

    def _balance(self) -> None:
        self.cluster.world.command(CONTROLLER, BalanceLeaders())

    def move_coordinator(self, group: str, to: str | None = None) -> str:
        """Another broker coordinates the group from now on (None: the next one that runs). Returns its name."""
        cluster = self.cluster
        running = [name for name in cluster.brokers if cluster.world.is_running(name)]
        if to is not None:
            self._running(to)
        core = cluster.states[running[0]].broker.coordinator.core
        partition = core.partition_of(group)
        now = core.leaders[partition]
        if to is None:
            others = [name for name in running if name != now]
            if not others:
                raise UserError("a group's coordinator moves to another broker, but only one runs")
            after = [name for name in others if cluster.brokers.index(name) > cluster.brokers.index(now)]
            to = (after or others)[0]
        cluster.controller.lead_offsets(partition, to)
        self._tell()
        return to

    # Clients.

    def disconnect(self, client_id: str) -> int:
        """Cut all connections of the clients of this id, which go on and connect again. Returns how many there were."""
        cluster, cut = self.cluster, 0
        for (broker, peer), conversation in list(cluster.conversations.items()):
            if conversation.client_id == client_id and cluster.world.is_running(broker):
                cluster.beliefs.cut(connection_of(cluster.states[broker], peer))
                cluster.world.disconnect(broker, peer)
                cut += 1
        return cut

    def expire(self, group: str, member: str) -> None:
        """The session of a member (its name, client id or member id) ends now."""
        cluster = self.cluster
        for name in cluster.brokers:
            if cluster.world.is_running(name):
                member_id = _member_id(cluster.states[name].broker, group, member)
                if member_id is not None:
                    process = cluster.world.processes[name]
                    process.set_timer(session_timer(group, member_id), cluster.world.tell_time())
                    return
        raise UserError(f"group {group!r} has no member {member!r}")

    # Share groups.

    def configure_group(self, group: str, settings: Mapping[str, object]) -> None:
        """These are all the settings that the group has itself, under Kafka's names."""
        cluster = self.cluster
        values = {name: str(value) if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}
        brokers = broker_values(cluster.server, cluster.settings)
        try:
            check_values(GROUP_CONFIG, values, brokers, cluster.settings.version)
        except RefusedError as refused:
            raise UserError(f"group {group!r}: {refused.message}") from None
        cluster.record.set_config(GROUP_CONFIG, group, values)
        self._tell()

    def hidden(self, group: str) -> list[Hidden]:
        """Records that members of a share group have acquired, and that nobody else gets now."""
        states = [state for name, state in self.cluster.states.items() if self.cluster.world.is_running(name)]
        return sorted([each for state in states for each in hidden(state, group)])

    def expire_locks(self, group: str) -> None:
        """The locks of all these end now, as if their time were over."""
        for name in self.cluster.brokers:
            if self.cluster.world.is_running(name):
                self.cluster.world.command(name, ExpireLocks(group))

    def _running(self, broker: str) -> None:
        if broker not in self.cluster.brokers:
            raise UserError(f"there is no broker {broker!r}, expected one of {', '.join(self.cluster.brokers)}")
        if not self.cluster.world.is_running(broker):
            raise UserError(f"{broker} does not run")

    def _end(self, broker: str) -> None:
        cluster = self.cluster
        for peer in cluster.world.processes[broker].connections:
            cluster.beliefs.cut(connection_of(cluster.states[broker], peer))
        cluster.world.end(broker)
        for peer in [peer for name, peer in list(cluster.conversations) if name == broker]:
            cluster.beliefs.closed(connection_of(cluster.states[broker], peer), lambda fact: None)
            cluster.names.closed(connection_of(cluster.states[broker], peer))

    def _tell(self) -> None:
        self.cluster.world.command(CONTROLLER, TellBrokers())


def _member_id(broker: Broker, group: str, member: str) -> str | None:
    core = broker.coordinator.core
    classic, other, share = core.groups.get(group), core.consumer_groups.get(group), core.share_groups.get(group)
    names = {each.id: each.client_id for each in classic.members.values()} if classic else {}
    if other is not None:
        names |= {each.id: each.profile.client_id for each in other.members.values()}
    if share is not None:
        names |= {each.id: each.client_id for each in share.members.values()}
    return next((member_id for member_id, name in names.items() if member in (member_id, name)), None)
