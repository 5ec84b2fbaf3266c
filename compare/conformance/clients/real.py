"""A program in one situation: brokers on sockets in this process, the program as processes of its own."""

import asyncio
import signal
from dataclasses import dataclass
from typing import Final

from compare.conformance.clients.exchanges import Exchanges
from compare.conformance.clients.model import moved
from compare.conformance.clients.programs import CALLBACK_MS, INSTANCE_ID, Program, command_line
from compare.conformance.clients.reactions import reaction
from compare.conformance.clients.records import Outcome, all_read, ends, outcome, write
from compare.conformance.clients.scripts import SLOW_MS
from compare.conformance.clients.situations import Situation
from compare.conformance.clients.stage import (
    BROKERS,
    EVERY_MS,
    FIRST,
    GROUP,
    PARTITIONS,
    SETTINGS,
    TOPIC,
    Stage,
    Wait,
)
from kafka_coordinator.consumer_group_messages import ConsumerGroupHeartbeat
from kafka_coordinator.messages import JoinGroup
from kafka_coordinator.wire.served import ServedCluster
from protocols.engine.interference import Interference
from protocols.engine.nodes import Message, Time
from protocols.engine.sockets import Sockets

STEP_S: Final = 0.01
HANDLED_WITHIN_S: Final = 6.0
"""How long a program that lives may take to handle what is left once no more is written."""


@dataclass(slots=True)
class Played:
    """What a program did in one situation."""

    did: tuple[str, ...]
    records: Outcome
    is_classic: bool | None
    """The protocol that it speaks; None where it never joined."""
    reads_on: bool
    """Whether it lives, and has handled (or committed) all that was there to read."""
    exit_code: int | None
    """Where it ended by itself."""
    connected: bool
    last_line: str
    """What it printed last, beside its records."""


class RealWorld:
    """Programs and brokers on sockets; a `compare.conformance.clients.stage.World`."""

    def __init__(self, template: str, situation: Situation) -> None:
        self.template, self.situation = template, situation
        self.programs: dict[str, Program] = {}
        """Member to its process; of one that was started again the newest."""
        self.all_programs: list[Program] = []
        self.exchanges = Exchanges(BROKERS, self._member_of)
        self.sockets = Sockets(observer=self.exchanges, tracing=True)
        self.cluster = ServedCluster(self.sockets, BROKERS, {TOPIC: PARTITIONS}, SETTINGS)
        self.interference = Interference(self.sockets)
        self._state = self.cluster.controller.state
        self._members: dict[str, str] = {}
        """Connection, or member id, to whose it is."""
        self._newest = FIRST
        """Who was started last."""
        self._starting: list[tuple[str, asyncio.Task[Program]]] = []
        self.fault: BaseException | None = None

    @property
    def now(self) -> Time:
        return self.sockets.tell_time()

    def start(self, member: str, instance_id: str | None = None) -> None:
        self._newest = member
        values = {"bootstrap": self.cluster.bootstrap, "topic": TOPIC, "group": GROUP, "member": member}
        environment = {CALLBACK_MS: str(SLOW_MS)} if self.situation.slow_callbacks else {}
        if instance_id is not None:
            environment[INSTANCE_ID] = instance_id
        words = command_line(self.template, values)
        self._starting.append((member, asyncio.ensure_future(Program.start(words, TOPIC, environment))))

    async def started(self) -> None:
        """Wait for programs that are being started; raises what their start raised."""
        while self._starting:
            member, task = self._starting.pop(0)
            self.programs[member] = await task
            self.all_programs.append(self.programs[member])

    def stop(self, member: str) -> None:
        if member in self.programs:
            self.programs[member].stop()

    def kill(self, member: str) -> None:
        if member in self.programs:
            self.programs[member].kill()

    def freeze(self, member: str) -> None:
        self.programs[member].tell(signal.SIGSTOP)

    def thaw(self, member: str) -> None:
        self.programs[member].tell(signal.SIGCONT)

    def alive(self, member: str) -> bool:
        starts = any(name == member for name, _ in self._starting)
        return starts or (member in self.programs and self.programs[member].exit_code is None)

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
        known = known or self._newest
        if member_id:
            self._members[member_id] = known
        if isinstance(message, JoinGroup | ConsumerGroupHeartbeat) or member_id:
            self._members[peer] = known
        return known

    def handled_all(self) -> bool:
        """Whether no record waits any more."""
        return all_read(ends(self.cluster), self.exchanges, self.lines())

    def lines(self) -> list[tuple[int, int]]:
        """Partition and offset of all records that programs say to have handled."""
        return [line for program in self.all_programs for line in program.lines]


async def play(template: str, situation: Situation, is_classic: bool) -> Played:
    """The program in one situation, from its start to its end. Raises `UserError` where it cannot be started."""
    world = RealWorld(template, situation)
    stage = Stage(world, world.exchanges, world.interference, is_classic)
    await world.cluster.start()
    writing = asyncio.ensure_future(_write(world.cluster))
    try:
        await _follow(world, stage)
        did = reaction(stage, situation)
        exit_code = None if FIRST not in world.programs else world.programs[FIRST].exit_code
        writing.cancel()
        reads_on = world.alive(FIRST) and await _waits(world, Wait(world.handled_all, HANDLED_WITHIN_S * 1000))
        for program in world.all_programs:
            await program.end()
        return Played(
            did,
            _outcome(world),
            _protocol(world.exchanges),
            reads_on,
            exit_code,
            bool(world.exchanges.all),
            next(reversed(world.programs[FIRST].last), ""),
        )
    finally:
        writing.cancel()
        for program in world.all_programs:
            await program.end()
        await world.sockets.close()


async def _follow(world: RealWorld, stage: Stage) -> None:
    script = world.situation.script(stage)
    came: bool | None = None
    while True:
        try:
            wait = script.send(came)  # type: ignore[arg-type]
        except StopIteration:
            return
        await world.started()
        came = await _waits(world, wait)


async def _waits(world: RealWorld, wait: Wait) -> bool:
    end = world.now + wait.within
    while not wait.until():
        if world.now >= end:
            return False
        await asyncio.sleep(STEP_S)
    return True


async def _write(cluster: ServedCluster) -> None:
    while True:
        write(cluster)
        await asyncio.sleep(EVERY_MS / 1000)


def _outcome(world: RealWorld) -> Outcome:
    return outcome(ends(world.cluster), world.exchanges, world.lines())


def _protocol(exchanges: Exchanges) -> bool | None:
    for each in exchanges.all:
        if each.joins:
            return isinstance(each.request, JoinGroup)
    return None
