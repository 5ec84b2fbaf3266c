"""Kafka's clients, as `compare.judging.judging` asks for them: programs before served brokers, and the model of the
Java client 4.1.0 in virtual time.

The model's user's loop is the plain one: it polls, handles what it is given, and offsets are committed by the client
itself, often (`SETTINGS_OF_CONSUMER`). In a situation that the simulation cannot bring about nothing is played.
"""

from collections.abc import Callable, Mapping
from typing import Final

from compare.judging.judging import System
from compare.judging.kafka_reactions import all_read, outcome, reaction, read_line
from compare.judging.kafka_situations import (
    CLASSIC,
    CONSUMER,
    SHARE,
    SITUATIONS,
    SLOW_EVERY_MS,
    SLOW_MS,
    SLOW_RECORD_MS,
)
from compare.judging.kafka_stage import (
    BROKERS,
    EVERY_MS,
    LOCK_MS,
    PARTITIONS,
    SETTINGS,
    SETTINGS_OF_LOCKS,
    SETTINGS_OF_SHARE_GROUP,
    Exchanges,
    Stage,
)
from compare.judging.playing import FIRST, GROUP, TOPIC, Members, Outcome, Played, Situation
from compare.judging.programs import Running, environment_of
from compare.judging.worlds import Simulated, play_program
from compare.serving.cluster import start
from compare.serving.kafka import KafkaService
from kafka_coordinator.cluster import (
    PERSISTER,
    Broker,
    BrokerSettings,
    Close,
    ClusterState,
    Consumer,
    ConsumerConfig,
    ConsumerGroupHeartbeat,
    ConsumerSettings,
    Controller,
    JoinGroup,
    Load,
    Persister,
    ShareConsumer,
    ShareConsumerSettings,
    ShareGroupHeartbeat,
    ShareLeader,
    ShareStates,
    offsets_topic,
    share_settings,
    with_settings,
)
from kafka_coordinator.wire import ExpireLocks, FenceProducer
from protocols.engine.interference import Interference
from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import Simulation
from protocols.engine.sockets import Sockets
from protocols.load import PoisonRecord

SETTINGS_OF_CONSUMER: Final[Mapping[str, object]] = {"auto.commit.interval.ms": 500}


def settings_of_member(situation: Situation, protocol: str) -> ConsumerSettings:
    """Of the model of the Java client."""
    if protocol == SHARE:
        on_error = "reject" if situation.rejects else "release"
        return ShareConsumerSettings.of({"share.acknowledgement.mode": "explicit", "on.error": on_error})
    more = {} if protocol == CLASSIC else {"group.protocol": CONSUMER}
    return ConsumerSettings.of({**SETTINGS_OF_CONSUMER, **more})


class World:
    """Brokers, on sockets or simulated, and members before them; a `compare.judging.kafka_stage.World`."""

    def __init__(
        self, below: Sockets | Simulation, members: Members, state: ClusterState, cut: Callable[[str], None]
    ) -> None:
        self.below, self.members, self.cut, self._state = below, members, cut, state

    @property
    def now(self) -> Time:
        return self.below.tell_time() if isinstance(self.below, Sockets) else self.below.now

    def move_coordinator(self) -> None:
        """The partitions of ``__consumer_offsets`` go to the other broker."""
        other = dict(zip(BROKERS, reversed(BROKERS), strict=True))
        self._state = self._state._replace(offsets_leaders=tuple([other[name] for name in self._state.offsets_leaders]))
        for name in BROKERS:
            self.below.command(name, self._state)

    def expire(self, member_id: str) -> None:
        """The session of a member ends now."""
        timer = ("session", GROUP, member_id)
        for name in BROKERS:
            process = self.below.processes[name]
            if timer in process.timers:
                process.set_timer(timer, self.now)

    def expire_locks(self) -> None:
        """The locks of all records that members have end. Only where brokers are served."""
        for name in BROKERS:
            self.below.command(name, ExpireLocks(GROUP))

    def fence(self, transactional_id: str) -> None:
        """Another producer has begun with the id. Only programs have one: there the brokers are served."""
        for name in BROKERS:
            self.below.command(name, FenceProducer(transactional_id))


class Programs:
    """Programs before served brokers; a `compare.judging.worlds.Real`."""

    def __init__(self, template: str, situation: Situation, protocol: str | None) -> None:
        self.situation, self.shares = situation, protocol == SHARE
        self.every_ms = every_ms(situation, protocol)
        self.handled_within_ms = 2 * LOCK_MS if self.shares else 6_000.0
        self.members = Running(template, read_line, self._prepare)
        self.exchanges = Exchanges(BROKERS, self._member_of)
        self.sockets: Sockets
        self.service: KafkaService
        self._members: dict[str, str] = {}
        """Connection, or member id, to whose it is."""

    async def begin(self) -> None:
        """Start the brokers."""
        topics = {TOPIC: {BROKERS[0]: PARTITIONS}}
        served = await start(
            "kafka",
            port=0,
            settings={**SETTINGS, **SETTINGS_OF_LOCKS},
            observer=self.exchanges,
            brokers=BROKERS,
            topics=topics,
        )
        assert isinstance(served.service, KafkaService)
        self.sockets, self.service = served.world, served.service
        self.service.operations.configure_group(GROUP, SETTINGS_OF_SHARE_GROUP)

    async def started(self) -> None:
        await self.members.started()

    def _prepare(self, instance_id: str | None) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The command's fields and the environment."""
        environment = environment_of(self.situation, SLOW_RECORD_MS if self.shares else SLOW_MS, instance_id)
        return {"bootstrap": self.service.cluster.bootstrap, "topic": TOPIC, "group": GROUP}, environment

    def cut(self, member: str) -> None:
        """Cut all connections."""
        for name in BROKERS:
            self.sockets.disconnect(name)

    def _member_of(self, peer: str, message: Message) -> str:
        """By the connection or the member id, where one of them is known; else the program that is new."""
        member_id = getattr(message, "member_id", None) or ""
        known = self._members.get(member_id) if member_id else None
        known = known or self._members.get(peer)
        known = known or self.members.newest or FIRST
        if member_id:
            self._members[member_id] = known
        if isinstance(message, JoinGroup | ConsumerGroupHeartbeat | ShareGroupHeartbeat) or member_id:
            self._members[peer] = known
        return known

    def write(self) -> None:
        for number, end in self._ends().items():
            self.service.write(TOPIC, number, f"{TOPIC} {number} {end}".encode())

    def _ends(self) -> dict[int, int]:
        """Partition to the offset of the next record that would be written."""
        return {number: self.service.end(TOPIC, number) for number in range(PARTITIONS)}

    def handled_all(self) -> bool:
        if self.shares:
            outcome = self.outcome()
            return outcome.waiting == outcome.open == 0
        return all_read(self._ends(), self.exchanges, self.members.lines)

    def outcome(self) -> Outcome:
        if self.kind() == SHARE:
            written = [(number, offset) for number, end in self._ends().items() for offset in range(end)]
            return self.exchanges.given_out().outcome(written, self.members.printed)
        return outcome(self._ends(), self.exchanges, self.members.lines)

    def broken(self) -> str | None:
        given, situation = self.exchanges.given_out(), self.situation
        if situation.rejects and given.came_again():
            return "the record that it was to reject came again"
        kept = list(given.held.values()).count(FIRST)
        if situation.stopped and kept and not self.members.alive(FIRST):
            return f"{kept} records that it had are hidden after its end"
        return given.miscounted(self.members.printed)

    def kind(self) -> str | None:
        joins = [each.request for each in self.exchanges.all if each.joins]
        return _KINDS[type(joins[0])] if joins else None


_KINDS: Final[Mapping[type[Message], str]] = {
    JoinGroup: CLASSIC,
    ConsumerGroupHeartbeat: CONSUMER,
    ShareGroupHeartbeat: SHARE,
}


def every_ms(situation: Situation, protocol: str | None) -> Time:
    """How often a record is written to every partition."""
    return SLOW_EVERY_MS if situation.slow and protocol == SHARE else EVERY_MS


async def play(template: str, situation: Situation, protocol: str | None) -> Played:
    """The program in one situation. Raises `UserError` where it cannot be started."""
    programs = Programs(template, situation, protocol)

    def stage(interference: Interference) -> Stage:
        world = World(programs.sockets, programs.members, programs.service.cluster.controller.state, programs.cut)
        return Stage(world, programs.exchanges, interference)

    return await play_program(programs, stage, situation, reaction)


def play_model(situation: Situation, protocol: str) -> tuple[str, ...]:
    """What the model does in one situation."""
    exchanges = Exchanges(BROKERS, lambda peer, message: peer)
    own = settings_of_member(situation, protocol)
    poison = {(TOPIC, 0): (PoisonRecord(0, situation.fails + 1 if situation.fails else None, 0.0),)}
    load = Load(1000.0 / every_ms(situation, protocol), poison=poison if situation.fails or situation.rejects else {})
    handle = float(SLOW_RECORD_MS) if situation.slow and own.shares else 0.0

    def make(member: str, instance_id: str | None) -> Consumer | ShareConsumer:
        config = ConsumerConfig(
            member,
            GROUP,
            BROKERS,
            (TOPIC,),
            client_id=member,
            instance_id=instance_id,
            load=load,
            settings=own,
            handle=handle,
        )
        return ShareConsumer(config) if own.shares else Consumer(config)

    simulated = Simulated(exchanges, make, Close())
    settings = with_settings(BrokerSettings(), SETTINGS, "kafka")
    controller = Controller(BROKERS, settings.offsets_topic_num_partitions)
    controller.put_topic(TOPIC, tuple([BROKERS[n % len(BROKERS)] for n in range(PARTITIONS)]))
    storage, states = offsets_topic(settings), ShareStates()
    simulated.serve(PERSISTER, Persister(states))
    for name in BROKERS:
        shares = None
        if own.shares:
            limits = share_settings(SETTINGS_OF_LOCKS, "the model")
            shares = ShareLeader(states, limits, settings.version, {GROUP: SETTINGS_OF_SHARE_GROUP})
        simulated.serve(name, Broker(name, settings, storage, controller.state, shares, load))
    world = World(simulated.simulation, simulated, controller.state, simulated.simulation.disconnect)
    stage = Stage(world, exchanges, simulated.interference())
    simulated.follow(situation.script(stage))
    return reaction(stage, situation)


KAFKA: Final = System(
    java="Kafka's Java client",
    kind="protocol",
    situations=SITUATIONS,
    play=play,
    play_model=play_model,
    joins=f"a consumer that subscribes to {{topic}} in {{group}} (here {TOPIC!r} in {GROUP!r})",
)
