"""A program in one situation: brokers on sockets in this process, the program as processes of its own."""

import asyncio
import re
import signal
from typing import Final

from compare.conformance.clients.exchanges import Exchanges
from compare.conformance.clients.model import moved
from compare.conformance.clients.playing import Played, Wait, follow, waited
from compare.conformance.clients.programs import CALLBACK_MS, INSTANCE_ID, Running
from compare.conformance.clients.reactions import reaction
from compare.conformance.clients.records import all_read, ends, outcome, write
from compare.conformance.clients.scripts import SLOW_MS
from compare.conformance.clients.situations import CLASSIC, CONSUMER, Situation
from compare.conformance.clients.stage import (
    BROKERS,
    EVERY_MS,
    FIRST,
    GROUP,
    PARTITIONS,
    SETTINGS,
    TOPIC,
    Stage,
)
from kafka_coordinator.cluster import ConsumerGroupHeartbeat, JoinGroup
from kafka_coordinator.wire import ServedCluster
from protocols.engine.interference import Interference
from protocols.engine.nodes import Message, Time
from protocols.engine.sockets import Sockets

HANDLED_WITHIN_S: Final = 6.0
"""How long a program that lives may take to handle what is left once no more is written."""


class RealWorld:
    """Programs and brokers on sockets; a `compare.conformance.clients.stage.World`."""

    def __init__(self, template: str, situation: Situation) -> None:
        self.situation = situation
        self.running = Running(template, read_line)
        self.exchanges = Exchanges(BROKERS, self._member_of)
        self.sockets = Sockets(observer=self.exchanges, tracing=True)
        self.cluster = ServedCluster(self.sockets, BROKERS, {TOPIC: PARTITIONS}, SETTINGS)
        self.interference = Interference(self.sockets)
        self._state = self.cluster.controller.state
        self._members: dict[str, str] = {}
        """Connection, or member id, to whose it is."""

    @property
    def now(self) -> Time:
        return self.sockets.tell_time()

    def start(self, member: str, instance_id: str | None = None) -> None:
        values = {"bootstrap": self.cluster.bootstrap, "topic": TOPIC, "group": GROUP}
        environment = {CALLBACK_MS: str(SLOW_MS)} if self.situation.slow_callbacks else {}
        if instance_id is not None:
            environment[INSTANCE_ID] = instance_id
        self.running.start(member, values, environment)

    def stop(self, member: str) -> None:
        self.running.stop(member)

    def kill(self, member: str) -> None:
        self.running.kill(member)

    def freeze(self, member: str) -> None:
        self.running.tell(member, signal.SIGSTOP)

    def thaw(self, member: str) -> None:
        self.running.tell(member, signal.SIGCONT)

    def alive(self, member: str) -> bool:
        return self.running.alive(member)

    def cut(self, member: str) -> None:
        for name in BROKERS:
            self.sockets.disconnect(name)

    def move_coordinator(self) -> None:
        self._state = moved(self._state)
        for name in BROKERS:
            self.sockets.command(name, self._state)

    def expire(self, member_id: str) -> None:
        timer = ("session", GROUP, member_id)
        for name in BROKERS:
            process = self.sockets.processes[name]
            if timer in process.timers:
                process.set_timer(timer, self.now)

    def _member_of(self, peer: str, message: Message) -> str:
        """By the connection or the member id, where one of them is known; else the program that is new."""
        member_id = getattr(message, "member_id", None) or ""
        known = self._members.get(member_id) if member_id else None
        known = known or self._members.get(peer)
        known = known or self.running.newest or FIRST
        if member_id:
            self._members[member_id] = known
        if isinstance(message, JoinGroup | ConsumerGroupHeartbeat) or member_id:
            self._members[peer] = known
        return known

    def handled_all(self) -> bool:
        """Whether no record waits any more."""
        return all_read(ends(self.cluster), self.exchanges, self.running.lines)


async def play(template: str, situation: Situation, is_classic: bool) -> Played:
    """The program in one situation, from its start to its end. Raises `UserError` where it cannot be started."""
    world = RealWorld(template, situation)
    stage = Stage(world, world.exchanges, world.interference, is_classic)
    await world.cluster.start()
    writing = asyncio.ensure_future(_write(world.cluster))
    running = world.running
    try:
        await follow(situation.script(stage), lambda: world.now, running.started)
        did = reaction(stage, situation)
        exit_code = running.exit_code(FIRST)
        writing.cancel()
        waiting = Wait(world.handled_all, HANDLED_WITHIN_S * 1000)
        reads_on = world.alive(FIRST) and await waited(lambda: world.now, waiting)
        await running.end()
        return Played(
            did,
            outcome(ends(world.cluster), world.exchanges, running.lines),
            _protocol(world.exchanges),
            reads_on,
            exit_code,
            bool(world.exchanges.all),
            next(reversed(running.programs[FIRST].last), ""),
        )
    finally:
        writing.cancel()
        await running.end()
        await world.sockets.close()


async def _write(cluster: ServedCluster) -> None:
    while True:
        write(cluster)
        await asyncio.sleep(EVERY_MS / 1000)


def _protocol(exchanges: Exchanges) -> str | None:
    for each in exchanges.all:
        if each.joins:
            return CLASSIC if isinstance(each.request, JoinGroup) else CONSUMER
    return None


def read_line(line: bytes) -> tuple[int, int] | None:
    """Partition and offset in a line ``topic partition offset``."""
    found = _LINE.match(line)
    return None if found is None else (int(found[1]), int(found[2]))


_LINE: Final = re.compile(rb"^%s (\d+) (\d+)\s*$" % TOPIC.encode())
