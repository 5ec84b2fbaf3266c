"""The model of Kafka's Java client 4.1.0 in the same situations, in virtual time.

Its user's loop is the plain one: it polls, handles what it is given, and offsets are committed by the client itself,
often (`SETTINGS_OF_CONSUMER`). In a situation that the simulation cannot bring about nothing is played.
"""

from collections.abc import Mapping
from typing import Final, cast

from compare.conformance.clients.exchanges import Exchanges
from compare.conformance.clients.gated import Gated, deliver
from compare.conformance.clients.playing import follow_simulated
from compare.conformance.clients.reactions import reaction
from compare.conformance.clients.situations import Situation
from compare.conformance.clients.stage import (
    BROKERS,
    EVERY_MS,
    GROUP,
    PARTITIONS,
    SETTINGS,
    TOPIC,
    Stage,
)
from kafka_coordinator.broker import Broker, ClusterState
from kafka_coordinator.consumer import Close, Consumer, ConsumerConfig, ConsumerSettings, Load
from kafka_coordinator.controller import Controller
from kafka_coordinator.coordinator.node import offsets_topic
from kafka_coordinator.coordinator.settings import BrokerSettings, with_settings
from protocols.engine.interference import Interference
from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import Simulation
from protocols.engine.sockets import Gate, Sockets

SETTINGS_OF_CONSUMER: Final[Mapping[str, object]] = {"auto.commit.interval.ms": 500}


class ModelWorld:
    """Brokers and model consumers in a simulation; a `compare.conformance.clients.stage.World`."""

    def __init__(self, exchanges: Exchanges, is_classic: bool) -> None:
        self.simulation = Simulation(seed=1, observer=exchanges, tracing=True)
        self.gate: Gate | None = None
        self.is_classic = is_classic
        settings = with_settings(BrokerSettings(), SETTINGS, "kafka")
        controller = Controller(BROKERS, settings.offsets_topic_num_partitions)
        controller.put_topic(TOPIC, tuple([BROKERS[n % len(BROKERS)] for n in range(PARTITIONS)]))
        self.state = controller.state
        storage = offsets_topic(settings)
        for name in BROKERS:
            broker = Broker(name, settings, storage, self.state)
            self.simulation.start(name, Gated(self, name, broker))

    # What the gate's rules call, as they do in a world on sockets.

    @property
    def processes(self) -> Mapping[str, object]:
        """Node name to its process."""
        return self.simulation.processes

    def deliver(self, name: str, sender: str, message: Message) -> None:
        """Give a broker a request that was held."""
        deliver(self.simulation, name, sender, message)

    # What a stage calls.

    @property
    def now(self) -> Time:
        return self.simulation.now

    def start(self, member: str, instance_id: str | None = None) -> None:
        if member in self.simulation.processes:
            self.simulation.end(member)  # it was over
        given = dict(SETTINGS_OF_CONSUMER)
        if not self.is_classic:
            given["group.protocol"] = "consumer"
        settings = ConsumerSettings.of(given)
        load = Load(1000.0 / EVERY_MS)
        config = ConsumerConfig(
            member,
            GROUP,
            BROKERS,
            (TOPIC,),
            client_id=member,
            instance_id=instance_id,
            load=load,
            settings=settings,
        )
        self.simulation.start(member, Consumer(config))

    def kill(self, member: str) -> None:
        self.simulation.end(member)

    def stop(self, member: str) -> None:
        self.simulation.command(member, Close())

    def freeze(self, member: str) -> None:
        self.simulation.hang(member)

    def thaw(self, member: str) -> None:
        self.simulation.wake(member)

    def alive(self, member: str) -> bool:
        process = self.simulation.processes.get(member)
        return process is not None and isinstance(process.node, Consumer) and not process.node.is_over

    def cut(self, member: str) -> None:
        self.simulation.disconnect(member)

    def move_coordinator(self) -> None:
        self.state = moved(self.state)
        for name in BROKERS:
            self.simulation.command(name, self.state)

    def expire(self, member_id: str) -> None:
        for name in BROKERS:
            process = self.simulation.processes[name]
            timer = ("session", GROUP, member_id)
            if timer in process.timers:
                process.set_timer(timer, self.now)


def moved(state: ClusterState) -> ClusterState:
    """The cluster after the partitions of ``__consumer_offsets`` have gone to the other broker."""
    other = dict(zip(BROKERS, reversed(BROKERS), strict=True))
    return state._replace(offsets_leaders=tuple([other[each] for each in state.offsets_leaders]))


def play(situation: Situation, is_classic: bool) -> tuple[str, ...]:
    """What the model does in one situation."""
    exchanges = Exchanges(BROKERS, lambda peer, message: peer)
    world = ModelWorld(exchanges, is_classic)
    stage = Stage(world, exchanges, Interference(cast(Sockets, world)), is_classic)
    follow_simulated(situation.script(stage), world.simulation)
    return reaction(stage, situation)
