"""RocketMQ's clients, as `compare.judging.judging` asks for them: programs before served brokers, and the model of the
Java client 5.3.3 in virtual time."""

import asyncio
from collections.abc import Mapping
from typing import Final, cast

from compare.judging.judging import System
from compare.judging.playing import FIRST, GROUP, SECOND, TOPIC, Outcome, Played, Situation
from compare.judging.programs import CALLBACK_MS, FAILS, Running
from compare.judging.rocketmq_reactions import all_read, outcome, reaction, read_line
from compare.judging.rocketmq_situations import (
    BROKERS,
    CONCURRENT,
    DELAY_LEVELS_S,
    EACH,
    EVERY_MS,
    LOCK_MS,
    ORDERLY,
    QUEUES,
    SERVERS,
    SITUATIONS,
    SLOW_MS,
    Exchanges,
    RocketMQExchange,
    Stage,
)
from compare.judging.worlds import Listener, Simulated, play_program
from compare.serving.cluster import start
from compare.serving.rocketmq import RocketMQService
from protocols.engine.nodes import Message, Time
from protocols.engine.sockets import Interference, Sockets
from protocols.java import Queue
from protocols.load import PoisonRecord
from rocketmq_selfbalance.catalogue import Averagely
from rocketmq_selfbalance.cluster import (
    CONSUME_FROM_FIRST_OFFSET,
    NAME_SERVER,
    Broker,
    BrokerNode,
    BrokerSettings,
    Client,
    ClientSettings,
    ConsumerSpec,
    Disk,
    LockBatchMq,
    MessageStore,
    NameServer,
    NameServerSettings,
    PullMessage,
    Shutdown,
    StopBroker,
    SubscriptionGroupManager,
    TopicConfig,
    TopicConfigManager,
    with_settings,
)

HANDLED_WITHIN_MS: Final = 8_000.0
RETRIED_WITHIN_MS: Final = 45_000.0
"""How long a program that lives may take to handle what is left once no more is written, and what it sent back."""

_FAILING: Final = {QUEUES[0]: (PoisonRecord(3, 2, 0.0),)}
_SETTLE_MS: Final = 100.0


def broker_settings(situation: Situation) -> dict[str, object]:
    """Of the brokers in a situation, as fields of `BrokerSettings`."""
    return {
        "delay_levels_s": DELAY_LEVELS_S,
        "lock_max_live_time_ms": LOCK_MS,
        "notify_consumer_ids_changed_enable": not situation.without_notices,
    }


class Programs:
    """Programs before served brokers; both a `compare.judging.rocketmq_situations.World` and a
    `compare.judging.worlds.Real`."""

    real = True
    every_ms = EVERY_MS

    def __init__(self, template: str, situation: Situation) -> None:
        self.situation = situation
        self.handled_within_ms = RETRIED_WITHIN_MS if situation.fails else HANDLED_WITHIN_MS
        self.members = Running(template, read_line, self._prepare)
        self.exchanges = Listener(SERVERS, self._member_of, RocketMQExchange)
        self.sockets: Sockets
        self.service: RocketMQService
        self._members: dict[tuple[str, str], str] = {}
        """Server and connection, to whose it is."""
        self._doing: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Start the servers."""
        served = await start(
            "rocketmq",
            port=0,
            settings=broker_settings(self.situation),
            observer=self.exchanges,
            brokers=BROKERS,
            topics={TOPIC: dict.fromkeys(BROKERS, EACH)},
        )
        assert isinstance(served.service, RocketMQService)
        self.sockets, self.service = served.world, served.service

    @property
    def now(self) -> Time:
        return self.sockets.tell_time()

    def _prepare(self, instance_id: str | None) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The command's fields and the environment."""
        environment = {CALLBACK_MS: str(SLOW_MS)} if self.situation.slow else {}
        if self.situation.fails:
            environment[FAILS] = str(self.situation.fails)
        return {"namesrv": self.service.cluster.name_server, "topic": TOPIC, "group": GROUP}, environment

    async def started(self) -> None:
        await self.members.started()
        while self._doing:
            await self._doing.pop()

    def cut(self, member: str) -> None:
        for (server, peer), whose in list(self._members.items()):
            if whose == member and self._is_open(server, peer):
                self.sockets.disconnect(server, peer)

    def stop_broker(self, broker: str) -> None:
        self.service.stop(broker)

    def start_broker(self, broker: str) -> None:
        self._doing.append(asyncio.ensure_future(self.service.bring_back(broker)))

    def running(self, broker: str) -> bool:
        return self.sockets.is_running(broker)

    def _is_open(self, server: str, peer: str) -> bool:
        process = self.sockets.processes.get(server)
        return process is not None and peer in process.connections

    def _member_of(self, peer: str, message: Message) -> str:
        """By the connection. A new one is of a program that has none there: a client has one with each server. Of
        several the youngest program is meant."""
        server = next((name for name, process in self.sockets.processes.items() if peer in process.connections), "")
        known = self._members.get((server, peer))
        if known is None:
            there = [name for name in (FIRST, SECOND) if self.members.alive(name)] or [FIRST]
            connected = {
                whose for (of, each), whose in self._members.items() if of == server and self._is_open(of, each)
            }
            known = next((name for name in reversed(there) if name not in connected), there[-1])
            self._members[server, peer] = known
        return known

    def write(self) -> None:
        for queue, end in self._ends().items():
            if self.running(queue.broker):
                self.service.write(queue, f"{TOPIC} {queue.broker} {queue.number} {end}".encode())

    def _ends(self) -> dict[Queue, int]:
        """Queue to the offset of the next record that would be written."""
        return {queue: self.service.end(queue, self.now) for queue in QUEUES}

    def handled_all(self) -> bool:
        """Whether no record waits any more, nor one that was sent back."""
        if not all_read(self._ends(), self.exchanges, self.members.lines):
            return False
        return not self.situation.fails or self.outcome().lost == 0

    def outcome(self) -> Outcome:
        return outcome(self._ends(), self.exchanges, self.members.lines)

    def broken(self) -> None:
        """Nothing is owed but that no record is lost."""

    def kind(self) -> str | None:
        """How the program consumes; None where it has never pulled."""
        kinds = {each.kind for each in self.exchanges.all}
        if PullMessage not in kinds:
            return None
        return ORDERLY if LockBatchMq in kinds else CONCURRENT


class ModelWorld:
    """Servers and model clients in a simulation; a `compare.judging.rocketmq_situations.World`."""

    real = False

    def __init__(self, exchanges: Exchanges, situation: Situation, *, orderly: bool) -> None:
        given: dict[str, object] = {"orderly": orderly, "consumeFromWhere": CONSUME_FROM_FIRST_OFFSET}
        settings = with_settings(ClientSettings(), given, "the model")
        handle = float(SLOW_MS) if situation.slow else 1.0

        def make(member: str, instance_id: str | None) -> Client:
            spec = ConsumerSpec(GROUP, member, (TOPIC,), Averagely(), settings, handle)
            if situation.fails:
                spec = spec._replace(poison=_FAILING)
            return Client(f"10.0.0.1@{member}", (NAME_SERVER,), (spec,))

        self.members = Simulated(exchanges, make, Shutdown())
        self.simulation = self.members.simulation
        self._cut = SERVERS if situation.name == "connections lost" else BROKERS
        self._settings = BrokerSettings(**broker_settings(situation))  # type: ignore[arg-type]
        self.members.serve(NAME_SERVER, NameServer(NameServerSettings()))
        self._disks: dict[str, Disk] = {}
        for name in BROKERS:
            topics = TopicConfigManager(0.0, [TopicConfig(TOPIC, EACH, EACH)])
            groups = SubscriptionGroupManager(auto_create=True)
            self._disks[name] = Disk(topics, groups, MessageStore(1000.0 / EVERY_MS))
            self.start_broker(name)
        self.simulation.run(_SETTLE_MS)

    @property
    def now(self) -> Time:
        return self.simulation.now

    def cut(self, member: str) -> None:
        for name in self._cut:
            self.simulation.disconnect(member, name)

    def stop_broker(self, broker: str) -> None:
        self.simulation.command(broker, StopBroker(0))
        self.simulation.end(broker)

    def start_broker(self, broker: str) -> None:
        self.members.serve(broker, BrokerNode(Broker(broker, self._disks[broker], self._settings, (NAME_SERVER,))))

    def running(self, broker: str) -> bool:
        return self.simulation.is_running(broker)


async def play(template: str, situation: Situation, protocol: str | None = None) -> Played:
    """The program in one situation. Raises `UserError` where it cannot be started."""
    programs = Programs(template, situation)
    await programs.begin()
    stage = Stage(programs, programs.exchanges, Interference(programs.sockets))
    return await play_program(programs, stage, situation, reaction)


def play_model(situation: Situation, protocol: str) -> tuple[str, ...]:
    """What the model does in one situation."""
    exchanges = Listener(SERVERS, lambda peer, message: peer, RocketMQExchange)
    world = ModelWorld(exchanges, situation, orderly=protocol == ORDERLY)
    stage = Stage(world, exchanges, Interference(cast(Sockets, world.members)))
    world.members.follow(situation.script(stage))
    return reaction(stage, situation)


ROCKETMQ: Final = System(
    java="RocketMQ's Java client",
    kind="consumption",
    situations=SITUATIONS,
    play=play,
    play_model=play_model,
    joins=f"a push consumer that subscribes to {{topic}} in {{group}} (here {TOPIC!r} in {GROUP!r})",
)
