"""A program in one situation of RocketMQ: servers on sockets in this process, the program as processes of its own."""

import asyncio
import signal
import time
from collections.abc import Coroutine
from typing import Final

from compare.conformance.clients.exchanges import Listener
from compare.conformance.clients.playing import Played, Wait, follow, waited
from compare.conformance.clients.programs import CALLBACK_MS, Running
from compare.conformance.clients.rocketmq.model import broker_settings
from compare.conformance.clients.rocketmq.reactions import reaction
from compare.conformance.clients.rocketmq.records import all_read, outcome, read_line, write
from compare.conformance.clients.rocketmq.situations import CONCURRENT, ORDERLY, SLOW_MS, Situation
from compare.conformance.clients.rocketmq.stage import (
    BROKERS,
    EACH,
    EVERY_MS,
    FIRST,
    GROUP,
    SECOND,
    SERVERS,
    TOPIC,
    Exchange,
    Stage,
)
from protocols.engine.interference import Interference
from protocols.engine.nodes import Message, Time
from protocols.engine.sockets import Sockets
from rocketmq_selfbalance.messages.locks import LockBatchMq
from rocketmq_selfbalance.messages.pulling import PullMessage
from rocketmq_selfbalance.wire.cluster import RocketMQCluster

FAILS: Final = "EQUIPOISE_FAIL_FIRST"
"""In the environment of programs whose listener shall refuse the first record that it is given; one that does not read
it is not judged in that situation."""

HANDLED_WITHIN_S: Final = 8.0
RETRIED_WITHIN_S: Final = 45.0
"""How long a program that lives may take to handle what is left once no more is written, and what it sent back."""


class RealWorld:
    """Programs and servers on sockets; a `compare.conformance.clients.rocketmq.stage.World`."""

    real = True

    def __init__(self, template: str, situation: Situation) -> None:
        self.situation = situation
        self.running_programs = Running(template, read_line)
        self.exchanges = Listener(SERVERS, self._member_of, Exchange)
        self.sockets = Sockets(observer=self.exchanges, tracing=True)
        self.interference = Interference(self.sockets)
        self.cluster: RocketMQCluster
        self._members: dict[tuple[str, str], str] = {}
        """Server and connection, to whose it is."""
        self._doing: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Start the servers."""
        self.cluster = await RocketMQCluster.start(
            self.sockets,
            epoch_ms=time.time() * 1000 - self.now,
            brokers=BROKERS,
            topics={TOPIC: dict.fromkeys(BROKERS, EACH)},
            broker=broker_settings(self.situation),
        )

    @property
    def now(self) -> Time:
        return self.sockets.tell_time()

    def start(self, member: str) -> None:
        server = self.cluster.name_server
        values = {"namesrv": server, "topic": TOPIC, "group": GROUP}
        environment = {CALLBACK_MS: str(SLOW_MS)} if self.situation.slow_listener else {}
        if self.situation.fails_once:
            environment[FAILS] = "1"
        self.running_programs.start(member, values, environment)

    async def started(self) -> None:
        """Wait for what is being started."""
        await self.running_programs.started()
        while self._doing:
            await self._doing.pop()

    def stop(self, member: str) -> None:
        self.running_programs.stop(member)

    def kill(self, member: str) -> None:
        self.running_programs.tell(member, signal.SIGKILL)

    def freeze(self, member: str) -> None:
        self.running_programs.tell(member, signal.SIGSTOP)

    def thaw(self, member: str) -> None:
        self.running_programs.tell(member, signal.SIGCONT)

    def alive(self, member: str) -> bool:
        return self.running_programs.alive(member)

    def cut(self, member: str) -> None:
        for (server, peer), whose in list(self._members.items()):
            if whose == member and self._is_open(server, peer):
                self.sockets.disconnect(server, peer)

    def stop_broker(self, broker: str) -> None:
        self.cluster.stop_broker(broker)

    def start_broker(self, broker: str) -> None:
        self._do(self.cluster.start_broker(broker))

    def running(self, broker: str) -> bool:
        return self.sockets.is_running(broker)

    def _do(self, work: Coroutine[object, None, None]) -> None:
        self._doing.append(asyncio.ensure_future(work))

    def _is_open(self, server: str, peer: str) -> bool:
        process = self.sockets.processes.get(server)
        return process is not None and peer in process.connections

    def _member_of(self, peer: str, message: Message) -> str:
        """By the connection. A new one is of a program that has none there: a client has one with each server. Of
        several the youngest program is meant."""
        server = next((name for name, process in self.sockets.processes.items() if peer in process.connections), "")
        known = self._members.get((server, peer))
        if known is None:
            there = [name for name in (FIRST, SECOND) if self.alive(name)] or [FIRST]
            connected = {
                whose for (of, each), whose in self._members.items() if of == server and self._is_open(of, each)
            }
            known = next((name for name in reversed(there) if name not in connected), there[-1])
            self._members[server, peer] = known
        return known

    def handled_all(self) -> bool:
        """Whether no record waits any more, nor one that was sent back."""
        lines = self.running_programs.lines
        if not all_read(self.cluster, self.exchanges, lines):
            return False
        return not self.situation.fails_once or outcome(self.cluster, self.exchanges, lines).lost == 0


async def play(template: str, situation: Situation) -> Played:
    """The program in one situation, from its start to its end. Raises `UserError` where it cannot be started."""
    world = RealWorld(template, situation)
    await world.begin()
    stage = Stage(world, world.exchanges, world.interference)
    writing = asyncio.ensure_future(_write(world.cluster))
    running = world.running_programs
    try:
        await follow(situation.script(stage), lambda: world.now, world.started)
        did = reaction(stage, situation)
        exit_code = running.exit_code(FIRST)
        writing.cancel()
        waiting = Wait(world.handled_all, (RETRIED_WITHIN_S if situation.fails_once else HANDLED_WITHIN_S) * 1000)
        reads_on = world.alive(FIRST) and await waited(lambda: world.now, waiting)
        await running.end()
        return Played(
            did,
            outcome(world.cluster, world.exchanges, running.lines),
            _way(world.exchanges),
            reads_on,
            exit_code,
            bool(world.exchanges.all),
            next(reversed(running.programs[FIRST].last), ""),
        )
    finally:
        writing.cancel()
        await running.end()
        await world.sockets.close()


async def _write(cluster: RocketMQCluster) -> None:
    while True:
        write(cluster)
        await asyncio.sleep(EVERY_MS / 1000)


def _way(exchanges: Listener[Exchange]) -> str | None:
    """How the program consumes; None where it has never pulled."""
    kinds = {each.kind for each in exchanges.all}
    if PullMessage not in kinds:
        return None
    return ORDERLY if LockBatchMq in kinds else CONCURRENT
