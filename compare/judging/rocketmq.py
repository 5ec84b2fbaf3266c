"""RocketMQ's clients, as `compare.judging.judging` asks for them: programs before served brokers, and the model of the
Java client 5.3.3 in virtual time."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from compare.judging.judging import System
from compare.judging.playing import FIRST, GROUP, SECOND, TOPIC, Outcome, Played, Situation
from compare.judging.programs import Running, environment_of
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
from protocols.engine.sockets import Sockets
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
SETTLE_MS: Final = 100.0


def broker_settings(situation: Situation) -> dict[str, object]:
    """Of the brokers in a situation, as fields of `BrokerSettings`."""
    return {
        "delay_levels_s": DELAY_LEVELS_S,
        "lock_max_live_time_ms": LOCK_MS,
        "notify_consumer_ids_changed_enable": not situation.without_notices,
    }


class AnyPrograms:
    """Programs before served servers, of either line: a `compare.judging.worlds.Real`, and the world of a stage."""

    real = True
    every_ms = EVERY_MS
    handled_within_ms: float
    sockets: Sockets
    service: RocketMQService
    exchanges: Listener[Any]

    def __init__(self, template: str, situation: Situation) -> None:
        self.situation = situation
        self.members = Running(template, read_line, self._prepare)
        self._doing: list[asyncio.Task[None]] = []

    def settings(self) -> Mapping[str, object]:
        """Of the brokers, where they are not as they come."""
        return {}

    async def begin(self) -> None:
        topics = {TOPIC: dict.fromkeys(BROKERS, EACH)}
        served = await start(
            "rocketmq", port=0, settings=self.settings(), observer=self.exchanges, brokers=BROKERS, topics=topics
        )
        assert isinstance(served.service, RocketMQService)
        self.sockets, self.service = served.world, served.service

    @property
    def now(self) -> Time:
        return self.sockets.tell_time()

    def _prepare(self, instance_id: str | None) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The command's fields and the environment."""
        places = {"namesrv": self.service.cluster.name_server, "endpoints": self.service.proxy}
        return {**places, "topic": TOPIC, "group": GROUP}, environment_of(self.situation, SLOW_MS, instance_id)

    async def started(self) -> None:
        await self.members.started()
        while self._doing:
            await self._doing.pop()

    def stop_broker(self, broker: str) -> None:
        self.service.stop(broker)

    def start_broker(self, broker: str) -> None:
        self._doing.append(asyncio.ensure_future(self.service.bring_back(broker)))

    def running(self, broker: str) -> bool:
        return self.sockets.is_running(broker)

    def ends(self) -> dict[Queue, int]:
        """Queue to the offset of the next record that would be written."""
        return {queue: self.service.end(queue, self.now) for queue in QUEUES}

    def write(self) -> None:
        for queue, end in self.ends().items():
            if self.running(queue.broker):
                body = f"{TOPIC} {queue.broker} {queue.number} {end}"
                in_order = {"__SHARDINGKEY": f"{queue.broker} {queue.number}"} if self.situation.in_order else {}
                self.service.write(queue, body.encode(), in_order)


class Programs(AnyPrograms):
    """Of the classic clients."""

    def __init__(self, template: str, situation: Situation) -> None:
        super().__init__(template, situation)
        self.handled_within_ms = RETRIED_WITHIN_MS if situation.fails else HANDLED_WITHIN_MS
        self.exchanges = Listener(SERVERS, self._member_of, RocketMQExchange)
        self._members: dict[tuple[str, str], str] = {}
        """Server and connection, to whose it is."""

    def settings(self) -> Mapping[str, object]:
        return broker_settings(self.situation)

    def cut(self, member: str) -> None:
        for (server, peer), whose in list(self._members.items()):
            if whose == member and self._is_open(server, peer):
                self.sockets.disconnect(server, peer)

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

    def handled_all(self) -> bool:
        """Whether no record waits any more, nor one that was sent back."""
        if not all_read(self.ends(), self.exchanges, self.members.lines):
            return False
        return not self.situation.fails or self.outcome().lost == 0

    def outcome(self) -> Outcome:
        return outcome(self.ends(), self.exchanges, self.members.lines)

    def broken(self) -> None:
        """Nothing is owed but that no record is lost."""

    def kind(self) -> str | None:
        """How the program consumes; None where it has never pulled."""
        kinds = {each.kind for each in self.exchanges.all}
        if PullMessage not in kinds:
            return None
        return ORDERLY if LockBatchMq in kinds else CONCURRENT


class AnyModelWorld:
    """Servers and model clients in a simulation, of either line; the world of a stage."""

    real = False

    def __init__(self, members: Simulated, settings: BrokerSettings, every_ms: float) -> None:
        self.members, self.simulation, self._settings = members, members.simulation, settings
        self.members.serve(NAME_SERVER, NameServer(NameServerSettings()))
        self._disks: dict[str, Disk] = {}
        for name in BROKERS:
            topics = TopicConfigManager(0.0, [TopicConfig(TOPIC, EACH, EACH)])
            groups = SubscriptionGroupManager(auto_create=True)
            self._disks[name] = Disk(topics, groups, MessageStore(1000.0 / every_ms))
            self.start_broker(name)

    @property
    def now(self) -> Time:
        return self.simulation.now

    def stop_broker(self, broker: str) -> None:
        self.simulation.command(broker, StopBroker(0))
        self.simulation.end(broker)

    def start_broker(self, broker: str) -> None:
        self.members.serve(broker, BrokerNode(Broker(broker, self._disks[broker], self._settings, (NAME_SERVER,))))

    def running(self, broker: str) -> bool:
        return self.simulation.is_running(broker)


class ModelWorld(AnyModelWorld):
    """Of the classic clients."""

    def __init__(self, exchanges: Exchanges, situation: Situation, *, orderly: bool) -> None:
        given: dict[str, object] = {"orderly": orderly, "consumeFromWhere": CONSUME_FROM_FIRST_OFFSET}
        settings = with_settings(ClientSettings(), given, "the model")
        handle = float(SLOW_MS) if situation.slow else 1.0

        def make(member: str, instance_id: str | None) -> Client:
            spec = ConsumerSpec(GROUP, member, (TOPIC,), Averagely(), settings, handle)
            if situation.fails:
                spec = spec._replace(poison=_FAILING)
            return Client(f"10.0.0.1@{member}", (NAME_SERVER,), (spec,))

        of_brokers = BrokerSettings(**broker_settings(situation))  # type: ignore[arg-type]
        super().__init__(Simulated(exchanges, make, Shutdown()), of_brokers, EVERY_MS)
        self._cut = SERVERS if situation.name == "connections lost" else BROKERS
        self.simulation.run(SETTLE_MS)

    def cut(self, member: str) -> None:
        for name in self._cut:
            self.simulation.disconnect(member, name)


async def play(template: str, situation: Situation, protocol: str | None = None) -> Played:
    """The program in one situation. Raises `UserError` where it cannot be started."""
    programs = Programs(template, situation)
    return await play_program(programs, partial(Stage, programs, programs.exchanges), situation, reaction)


def play_model(situation: Situation, protocol: str) -> tuple[str, ...]:
    """What the model does in one situation."""
    exchanges = Listener(SERVERS, lambda peer, message: peer, RocketMQExchange)
    world = ModelWorld(exchanges, situation, orderly=protocol == ORDERLY)
    stage = Stage(world, exchanges, world.members.interference())
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
