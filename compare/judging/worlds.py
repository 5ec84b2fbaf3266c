"""The worlds in which situations are played, whatever the system: every request with its answer (`Listener`), the
model's clients before servers in a simulation (`Simulated`), and programs before servers on sockets (`play_program`).
"""

import asyncio
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar, cast

from compare.judging.playing import FIRST, Outcome, Played, Script, Situation, Wait, follow, follow_simulated, waited
from compare.judging.programs import Running
from protocols.engine.interference import Interference
from protocols.engine.nodes import OPERATOR, Message, Node, Outbox, Time, TimerName
from protocols.engine.simulation import Simulation
from protocols.engine.sockets import Gate, Sockets

NEVER: Final = float("inf")


@dataclass(slots=True)
class Exchange:
    """One request of a member; ``answer`` is None while there is none. Times are milliseconds of the world."""

    at: Time
    member: str
    """The program that sent it: ``c1``, ``c2``."""
    broker: str
    request: Message
    answer: Message | None = None
    answered_at: Time = NEVER


S = TypeVar("S")
E = TypeVar("E", bound=Exchange)


class Listener(Generic[E]):
    """An observer of a world (`protocols.engine.observer.Observer`) whose messages are told.

    ``brokers``: node names. ``member_of``: who sends a request on a connection, by its peer's name and the request.
    ``make``: time, member, broker and request to what is kept of it.
    """

    def __init__(
        self,
        brokers: Collection[str],
        member_of: Callable[[str, Message], str],
        make: Callable[[Time, str, str, Message], E],
    ) -> None:
        self.all: list[E] = []
        self.facts: list[tuple[Time, tuple[object, ...]]] = []
        self._brokers, self._member_of, self._make = frozenset(brokers), member_of, make
        self._open: dict[tuple[str, str, object], E] = {}

    def of(self, member: str, since: int = 0) -> Iterator[E]:
        """What this member asked, from this place in `all` on, in order."""
        return (each for each in self.all[since:] if each.member == member)

    def place_after(self, request: Message | None) -> int:
        """The place in `all` behind this request; where nothing is given, behind all."""
        if request is None:
            return len(self.all)
        return next(at for at, each in enumerate(self.all) if each.request is request) + 1

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        """A request or an answer."""
        correlation = message[0] if message else None
        if sender in self._brokers:
            exchange = self._open.pop((to, sender, correlation), None)
            if exchange is not None:
                exchange.answer, exchange.answered_at = message, now
        elif to in self._brokers:
            exchange = self._make(now, self._member_of(sender, message), to, message)
            self._open[sender, to, correlation] = exchange
            self.all.append(exchange)

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        """A node told something."""
        self.facts.append((now, fact))

    def created(self, number: int, due: Time, kind: int, node: str, what: object, cause: int) -> None:
        """Timers and connections are no exchanges."""

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None:
        """No network harms anything here."""


class Client(Node, Protocol):
    """A client of a model."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""


class Simulated:
    """A simulation with the model's clients as members (`compare.judging.playing.Members`), whose servers a gate sees
    first, as in a world on sockets.

    ``make``: member and instance id to its client. ``close``: the command that tells one to end.
    """

    def __init__(self, exchanges: Listener[Any], make: Callable[[str, str | None], Client], close: Message) -> None:
        self.simulation = Simulation(seed=1, observer=exchanges, tracing=True)
        self.gate: Gate | None = None
        """None: everything passes."""
        self._make, self._close = make, close
        self._clients: dict[str, Client] = {}

    def serve(self, name: str, node: Node) -> None:
        """A server starts behind the gate."""
        self.simulation.start(name, _Gated(self, name, node))

    # What the gate's rules call, as they do in a world on sockets.

    @property
    def processes(self) -> Mapping[str, object]:
        """Node name to its process."""
        return self.simulation.processes

    def deliver(self, name: str, sender: str, message: Message) -> None:
        """Give a server a request that its gate has held."""
        process = self.simulation.processes[name]
        assert isinstance(process.node, _Gated)
        process.node.node.receive(self.simulation.now, sender, message, process)

    # What scripts call.

    def start(self, member: str, instance_id: str | None = None) -> None:
        """Start one."""
        if member in self.simulation.processes:
            self.simulation.end(member)  # it was over
        self._clients[member] = self._make(member, instance_id)
        self.simulation.start(member, self._clients[member])

    def kill(self, member: str) -> None:
        """End it at once."""
        self.simulation.end(member)

    def stop(self, member: str) -> None:
        """Tell it to end."""
        self.simulation.command(member, self._close)

    def freeze(self, member: str) -> None:
        """Stop it."""
        self.simulation.hang(member)

    def thaw(self, member: str) -> None:
        """Let it go on."""
        self.simulation.wake(member)

    def alive(self, member: str) -> bool:
        """Whether it was started and has not ended."""
        return member in self.simulation.processes and not self._clients[member].is_over

    def follow(self, script: Script) -> None:
        """Follow a script in virtual time."""
        follow_simulated(script, self.simulation)

    def interference(self) -> Interference:
        """What comes between members and servers, as on sockets."""
        return Interference(cast(Sockets, self))


class _Gated:
    """One server behind its gate."""

    def __init__(self, world: Simulated, name: str, node: Node) -> None:
        self.world, self.name, self.node = world, name, node

    def start(self, now: Time, out: Outbox) -> None:
        self.node.start(now, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        gate = self.world.gate
        if sender == OPERATOR or gate is None or not gate(self.name, sender, message):
            self.node.receive(now, sender, message, out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        self.node.timeout(now, timer, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        self.node.connected(now, peer, out)

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self.node.closed(now, peer, out)


class Real(Protocol):
    """Servers on sockets in this process, and programs before them."""

    sockets: Sockets
    members: Running[Any]
    every_ms: float
    """A record is written to every queue so often."""
    handled_within_ms: float
    """It is looked so often whether the program has handled anything, once no more is written."""

    @property
    def exchanges(self) -> Listener[Any]: ...

    async def begin(self) -> None:
        """Start the servers."""

    async def started(self) -> None:
        """Wait for what is being started."""

    def write(self) -> None:
        """One more record to every queue; requests that wait for it are answered."""

    def handled_all(self) -> bool:
        """Whether no record waits any more."""

    def outcome(self) -> Outcome:
        """What became of the records."""

    def broken(self) -> str | None:
        """What the program owes its group and did not do (`Played.broken`)."""

    def kind(self) -> str | None:
        """The kind of member that the program is; None where it never became one."""


async def play_program(
    world: Real,
    make: Callable[[Interference], S],
    situation: Situation,
    reaction: Callable[[S, Situation], tuple[str, ...]],
) -> Played:
    """The program in one situation, on the stage that ``make`` gives, from its start to its end. Raises `UserError`
    where it cannot be started."""
    await world.begin()
    sockets, programs, clock = world.sockets, world.members, _Clock()
    stage = make(Interference(sockets))
    writing = asyncio.ensure_future(_write(world, clock))
    try:
        await follow(situation.script(stage), sockets.tell_time, world.started)
        did = reaction(stage, situation)
        exit_code = programs.exit_code(FIRST)
        writing.cancel()
        behind = await caught_up(world, sockets.tell_time)
        is_stopped, broken = programs.is_stopped(FIRST), world.broken()
        await programs.end()
        return Played(
            did,
            world.outcome(),
            world.kind(),
            behind,
            exit_code,
            bool(world.exchanges.all),
            next(reversed(programs.programs[FIRST].last), ""),
            clock.strain(),
            is_stopped,
            broken,
        )
    finally:
        writing.cancel()
        await programs.end()
        await sockets.close()


MOST_WAITED_MS: Final = 60_000.0
"""How long we wait for a program that is slow; the rest of its records is counted then."""


STANDS_STILL_MS: Final = 18_000.0
"""How long a program handles nothing before we say that it has stopped reading (longer where `Real.handled_within_ms`
is longer): it may take seconds for a record, or wait for a processor."""


async def caught_up(world: Real, now: Callable[[], Time]) -> int | None:
    """Wait as long as the program handles records; how many are left (`Played.behind`)."""
    waiting, until, idle = world.outcome().waiting, now() + MOST_WAITED_MS, 0.0
    while world.members.alive(FIRST):
        if await waited(now, Wait(world.handled_all, world.handled_within_ms)):
            return 0
        left = world.outcome().waiting
        idle = idle + world.handled_within_ms if left >= waiting else 0.0
        if idle >= STANDS_STILL_MS or world.members.is_stopped(FIRST):
            return None
        if now() >= until:
            return left
        waiting = left
    return None


class _Clock:
    """How much later than it asked for this process, with all brokers, was given a processor."""

    def __init__(self) -> None:
        self._latest_s = 0.0

    async def sleep(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        await asyncio.sleep(seconds)
        self._latest_s = max(self._latest_s, loop.time() - due)

    def strain(self) -> str:
        """See `Played.busy`."""
        return strain(os.getloadavg()[0], os.cpu_count() or 1, self._latest_s)


LATE_S: Final = 0.25


def strain(load: float, processors: int, late_s: float) -> str:
    """In words, where more wants to run than can, or brokers answered late; else empty."""
    if load <= processors and late_s < LATE_S:
        return ""
    return f"load {load:.1f} on {processors} processors, brokers up to {late_s:.1f} s late"


async def _write(world: Real, clock: _Clock) -> None:
    while True:
        world.write()
        await clock.sleep(world.every_ms / 1000)
