"""The model of RocketMQ's Java client 5.3.3 in the same situations, in virtual time."""

from collections.abc import Mapping
from typing import Final, cast

from compare.conformance.clients.exchanges import Listener
from compare.conformance.clients.gated import Gated, deliver
from compare.conformance.clients.playing import follow_simulated
from compare.conformance.clients.rocketmq.reactions import reaction
from compare.conformance.clients.rocketmq.situations import ORDERLY, SLOW_MS, Situation
from compare.conformance.clients.rocketmq.stage import (
    BROKERS,
    DELAY_LEVELS_S,
    EACH,
    EVERY_MS,
    GROUP,
    LOCK_MS,
    QUEUES,
    SERVERS,
    TOPIC,
    Exchange,
    Stage,
)
from protocols.engine.interference import Interference
from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import Simulation
from protocols.engine.sockets import Gate, Sockets
from protocols.poison import PoisonRecord
from rocketmq_selfbalance.broker import Broker, BrokerNode, Disk
from rocketmq_selfbalance.broker.commands import StopBroker
from rocketmq_selfbalance.broker.settings import BrokerSettings
from rocketmq_selfbalance.broker.store import MessageStore
from rocketmq_selfbalance.broker.subscription_groups import SubscriptionGroupManager
from rocketmq_selfbalance.broker.topics import TopicConfigManager
from rocketmq_selfbalance.client.commands import ConsumerSpec, Shutdown
from rocketmq_selfbalance.client.node import Client
from rocketmq_selfbalance.client.settings import ClientSettings, with_settings
from rocketmq_selfbalance.codes import CONSUME_FROM_FIRST_OFFSET
from rocketmq_selfbalance.messages.topics import TopicConfig
from rocketmq_selfbalance.nameserver import NameServer, NameServerSettings
from rocketmq_selfbalance.servers import NAME_SERVER
from rocketmq_selfbalance.strategies import Averagely

_FAILING: Final = {QUEUES[0]: (PoisonRecord(3, 2, 0.0),)}
_SETTLE_MS: Final = 100.0


class ModelWorld:
    """Servers and model clients in a simulation; a `compare.conformance.clients.rocketmq.stage.World`."""

    real = False

    def __init__(self, exchanges: Listener[Exchange], situation: Situation, *, orderly: bool) -> None:
        self.simulation = Simulation(seed=1, observer=exchanges, tracing=True)
        self.gate: Gate | None = None
        self.situation, self.orderly = situation, orderly
        self.settings = broker_settings(situation)
        self.simulation.start(NAME_SERVER, Gated(self, NAME_SERVER, NameServer(NameServerSettings())))
        self._disks: dict[str, Disk] = {}
        for name in BROKERS:
            topics = TopicConfigManager(0.0, [TopicConfig(TOPIC, EACH, EACH)])
            groups = SubscriptionGroupManager(auto_create=True)
            self._disks[name] = Disk(topics, groups, MessageStore(1000.0 / EVERY_MS))
            self.start_broker(name)
        self.simulation.run(_SETTLE_MS)

    # What the gate's rules call, as they do in a world on sockets.

    @property
    def processes(self) -> Mapping[str, object]:
        """Node name to its process."""
        return self.simulation.processes

    def deliver(self, name: str, sender: str, message: Message) -> None:
        """Give a server a request that was held."""
        deliver(self.simulation, name, sender, message)

    # What a stage calls.

    @property
    def now(self) -> Time:
        return self.simulation.now

    def start(self, member: str) -> None:
        given: dict[str, object] = {"orderly": self.orderly, "consumeFromWhere": CONSUME_FROM_FIRST_OFFSET}
        settings = with_settings(ClientSettings(), given, "the model")
        handle = float(SLOW_MS) if self.situation.slow_listener else 1.0
        spec = ConsumerSpec(GROUP, member, (TOPIC,), Averagely(), settings, handle)
        if self.situation.fails_once:
            spec = spec._replace(poison=_FAILING)
        self.simulation.start(member, Client(f"10.0.0.1@{member}", (NAME_SERVER,), (spec,)))

    def stop(self, member: str) -> None:
        self.simulation.command(member, Shutdown())

    def kill(self, member: str) -> None:
        self.simulation.end(member)

    def freeze(self, member: str) -> None:
        self.simulation.hang(member)

    def thaw(self, member: str) -> None:
        self.simulation.wake(member)

    def alive(self, member: str) -> bool:
        process = self.simulation.processes.get(member)
        return process is not None and isinstance(process.node, Client) and not process.node.is_over

    def cut(self, member: str) -> None:
        for name in SERVERS if self.situation.name == "connections lost" else BROKERS:
            self.simulation.disconnect(member, name)

    def stop_broker(self, broker: str) -> None:
        self.simulation.command(broker, StopBroker(0))
        self.simulation.end(broker)

    def start_broker(self, broker: str) -> None:
        state = Broker(broker, self._disks[broker], self.settings, (NAME_SERVER,))
        self.simulation.start(broker, Gated(self, broker, BrokerNode(state)))

    def running(self, broker: str) -> bool:
        return self.simulation.is_running(broker)


def broker_settings(situation: Situation) -> BrokerSettings:
    """Of the brokers in a situation."""
    notify = not situation.without_notices
    return BrokerSettings(
        delay_levels_s=DELAY_LEVELS_S, lock_max_live_time_ms=LOCK_MS, notify_consumer_ids_changed_enable=notify
    )


def play(situation: Situation, protocol: str) -> tuple[str, ...]:
    """What the model does in one situation."""
    exchanges = Listener(SERVERS, lambda peer, message: peer, Exchange)
    world = ModelWorld(exchanges, situation, orderly=protocol == ORDERLY)
    stage = Stage(world, exchanges, Interference(cast(Sockets, world)))
    follow_simulated(situation.script(stage), world.simulation)
    return reaction(stage, situation)
