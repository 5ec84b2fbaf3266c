"""The world on sockets: the same nodes, on a real clock and with real connections, in one asyncio event loop.

Clients that nobody here wrote connect to a node through its listener; conversations
(`protocols.engine.connection`) turn their bytes into messages and the node's messages into bytes. Nodes of one world
reach each other without a network. A node is given one thing after the other; time stands still while it handles one.

| in the simulation | here |
|---|---|
| virtual time | milliseconds since this world was made, by the event loop's clock |
| a link with a latency | a TCP connection; its peer's name is the client's ``address:port`` |
| `Simulation.at`, `command`, `hang`, `wake`, `disconnect`, `end` | the same |
| choices and ids are functions of the seed | drawn from one generator, which a seed makes repeatable |

A fault in a node's code closes the connection whose message it handled, is logged, and stays in ``failures``.
Not thread-safe: everything is called in the event loop (`protocols.engine.turns` runs one beside a test).
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import TypeAlias

from protocols.engine.connection import AT_ONCE_S, LOG, SMALL, Connection, Limits, MakeConversation
from protocols.engine.nodes import OPERATOR, Address, Message, Node, Observer, Time, TimerName, Unobserved
from protocols.engine.process import CALL, CLOSED, CONNECTED, TIMER
from protocols.engine.socket_process import Answers, SocketProcess
from protocols.engine.turns import Alarms, Turns

__all__ = ["Address", "Gate", "Limits", "Sockets"]

Gate: TypeAlias = Callable[[str, str, Message], bool]
"""Node, sender and message: whether somebody keeps it from the node (and may `Sockets.deliver` it later)."""


class Sockets:
    """Nodes on real connections, to be made and used inside a running event loop.

    ``observer`` is told facts, and with ``tracing`` every message; ``seed`` makes choices and ids repeatable, None
    takes them from the system; ``limits`` of every connection.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        observer: Observer | None = None,
        tracing: bool = False,
        limits: Limits = Limits(),  # noqa: B008 - immutable
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._alarms: Alarms[Callable[[], None]] = Alarms(self._ring)
        self.now: Time = 0.0
        self.random = Random(seed)
        self.observer: Observer = observer or Unobserved()
        self.tracing, self.limits = tracing, limits
        self.processes: dict[str, SocketProcess] = {}
        self.messages: dict[type[Message], int] = {}
        """Type of message to how many were received and sent."""
        self.gate: Gate | None = None
        self.endings: list[Callable[[], Awaitable[None]]] = []
        """What else is to be done when everything ends: to close connections that are not this world's."""
        self.answers = Answers(self)
        self._turns = Turns(self._begin)
        self._servers: dict[str, asyncio.Server] = {}
        self._closing: dict[Connection, None] = {}
        self._names: set[str] = set()
        self._sweep: asyncio.TimerHandle | None = None

    def start(self, name: str, node: Node) -> None:
        """Start a node; `ValueError` where one of this name runs."""
        if name in self.processes:
            raise ValueError(f"process {name!r} runs already")
        self._names.add(name)
        process = self.processes[name] = SocketProcess(self, name, node)
        self._turns.take(process, lambda: node.start(self.now, process))

    async def listen(
        self, name: str, make_conversation: MakeConversation, host: str = "127.0.0.1", port: int = 0
    ) -> Address:
        """Let clients connect to this node; port 0 takes a free one. `OSError` where the port is taken."""
        server = await self.loop.create_server(
            lambda: Connection(self, name, make_conversation), host, port, backlog=1024, reuse_address=True
        )
        self._servers[name] = server
        if self._sweep is None:
            self._close_idle()
        return Address(*server.sockets[0].getsockname()[:2])

    def end(self, name: str) -> None:
        """The node ends at once: its listener, its connections, its timers, its state."""
        process = self.processes.pop(name)
        server = self._servers.pop(name, None)
        if server is not None:
            server.close()
        for connection in process.connections.values():
            self.hang_up(connection)
        for peer in list(process.neighbours):
            self.hang_up_inside(process, peer)
        process.end()

    async def close(self) -> None:
        """End everything; returns when every connection is closed."""
        for ending in self.endings:
            await ending()
        for name in list(self.processes):
            self.end(name)
        self._alarms.cancel()
        if self._sweep is not None:
            self._sweep.cancel()
        await asyncio.sleep(0)
        while self._closing:
            for connection in self._closing:
                connection.abort()
            await asyncio.sleep(0)

    @property
    def failures(self) -> list[Exception]:
        """What nodes raised: a fault of the model each."""
        return self._turns.failures

    def is_running(self, name: str) -> bool:
        return name in self.processes

    def hangs(self, name: str) -> bool:
        """Whether the node stands still, or has ended."""
        process = self.processes.get(name)
        return process is None or process.hung

    def command(self, name: str, message: Message) -> None:
        """An operator's command to a node, without any network."""
        process = self.processes[name]
        self._turns.take(process, lambda: process.node.receive(self.now, OPERATOR, message, process))

    def at(self, time: Time, action: Callable[[], None], label: str = "") -> int:
        """Call ``action`` at this time (soon, where that is past). Returns the number of the call: the root of all that
        follows from it."""
        number = self._turns.number = self._turns.number + 1
        self.observer.created(number, time, CALL, "", label, self._turns.handling)
        self._alarms.add(time, partial(self._turns.call, number, action))
        return number

    def deliver(self, name: str, sender: str, message: Message) -> None:
        """Give a node a message that the gate has kept; nothing happens where the node has ended."""
        process = self.processes.get(name)
        if process is not None:
            connection = process.connections.get(sender)
            self._turns.take(process, lambda: process.node.receive(self.now, sender, message, process), connection)

    def disconnect(self, name: str, peer: str | None = None) -> None:
        """Cut the connections of a node's clients, or the one with ``peer``; both sides are told."""
        for connection in list(self.processes[name].connections.values()):
            if peer is None or connection.peer == peer:
                connection.abort()

    def set_cut(self, name: str, cut: bool) -> None:
        """Cut the network of a node's clients, or mend it: nothing passes, and neither side is told."""
        process = self.processes.get(name)
        if process is not None:
            process.cut = cut
            for connection in process.connections.values():
                connection.set_cut(cut)

    def hang(self, name: str) -> None:
        """The node stops: its connections stay open, and what comes for it waits."""
        process = self.processes[name]
        process.hung = True
        for connection in process.connections.values():
            connection.rest()

    def wake(self, name: str) -> None:
        """A node that hung goes on with what has come in the meantime."""
        process = self.processes[name]
        process.hung = False
        backlog, process.backlog = process.backlog, []
        for action in backlog:
            self._turns.take(process, action)
        for connection in list(process.connections.values()):
            connection.rest()

    def tell_time(self) -> Time:
        """The time now, in whole ticks; it never goes back."""
        self.now = self._alarms.now()
        return self.now

    # What connections and processes call.

    def opened(self, connection: Connection) -> bool:
        """A client has connected; whether it may."""
        process = self.processes.get(connection.name)
        if process is None:
            return False
        if len(process.connections) >= self.limits.connections:
            LOG.warning(
                "%s: %s is turned away, %d are connected", process.name, connection.peer, len(process.connections)
            )
            return False
        process.connections[connection.peer] = connection
        connection.set_cut(process.cut)
        self._created(CONNECTED, process, connection.peer)
        self._turns.take(process, lambda: process.node.connected(self.now, connection.peer, process))
        return True

    def lost(self, connection: Connection) -> None:
        """A connection is closed; the node is told, unless it has closed it."""
        self._closing.pop(connection, None)
        self.answers.forget(connection)
        process = self.processes.get(connection.name)
        if process is not None and process.connections.get(connection.peer) is connection:
            del process.connections[connection.peer]
            self._created(CLOSED, process, connection.peer)
            self._turns.take(process, lambda: process.node.closed(self.now, connection.peer, process))

    def failed(self, name: str, error: Exception) -> None:
        """A node has raised this while its answer was written."""
        self._turns.failed(name, error)

    def is_acting(self) -> bool:
        """Whether a node is handling something."""
        return self._turns.is_acting

    def later(self, connection: Connection, step: Callable[[], bool]) -> None:
        """Call this in turns of its own of the node that the connection is with, until it is done, unless the node ends
        before. One is done before the next one begins: what many of them have made in part would take memory."""
        process = self.processes.get(connection.name)
        if process is not None:
            process.steps.append((connection, step))
            if len(process.steps) == 1:
                self._step_later(process)

    def waiting(self, name: str) -> int:
        """Bytes of requests that wait at a node."""
        process = self.processes.get(name)
        return 0 if process is None else sum(each.waiting for each in process.connections.values())

    def relieve(self, name: str) -> None:
        """Cut off clients of a node that do not take their answers, if they hold too much of its memory together."""
        process = self.processes.get(name)
        waiting = [] if process is None else [each for each in process.connections.values() if each.unsent]
        total = sum(each.unsent for each in waiting)
        for connection in sorted(waiting, key=lambda each: each.last_read) if total > self.limits.unsent else ():
            if total > self.limits.unsent and connection.unsent > SMALL:
                LOG.warning("%s: %s takes no answers; its connection is cut", name, connection.peer)
                total -= connection.unsent
                connection.abort()

    def hang_up(self, connection: Connection) -> None:
        self._closing[connection] = None
        self.answers.finish(connection)
        connection.hang_up()

    def received(self, name: str, peer: str, message: Message) -> None:
        """A client's request to a node."""
        self._count(message)
        if self.tracing:
            now = self.tell_time()
            self.observer.sent(now, now, peer, name, message, self._turns.number + 1, 0)
        if self.gate is None or not self.gate(name, peer, message):
            self.deliver(name, peer, message)

    def tell_sent(self, sender: str, to: str, message: Message) -> None:
        """A node sends this; whoever watches is told."""
        self._count(message)
        if self.tracing:
            number = self._turns.number = self._turns.number + 1
            self.observer.sent(self.now, self.now, sender, to, message, number, self._turns.handling)

    def tell(self, name: str, fact: tuple[object, ...]) -> None:
        """A node observes this."""
        self.observer.fact(self.now, name, fact, self._turns.root, self._turns.handling)

    def send_inside(self, process: SocketProcess, to: str, message: Message) -> None:
        """From one node of this world to another. A node that does not run refuses; a client that is gone reads
        nothing."""
        peer = self.processes.get(to)
        if peer is None:
            if to in self._names:
                self._turns.take(process, lambda: process.node.closed(self.now, to, process))
            return
        self.tell_sent(process.name, to, message)
        if to not in process.neighbours:
            process.neighbours[to] = peer.neighbours[process.name] = None
            self._turns.take(process, lambda: process.node.connected(self.now, to, process))
            self._turns.take(peer, lambda: peer.node.connected(self.now, process.name, peer))
        self._turns.take(peer, lambda: peer.node.receive(self.now, process.name, message, peer))

    def hang_up_inside(self, process: SocketProcess, peer: str) -> None:
        """A node closes its connection with another one, which is told."""
        process.neighbours.pop(peer, None)
        other = self.processes.get(peer)
        if other is not None and process.name in other.neighbours:
            del other.neighbours[process.name]
            self._turns.take(other, lambda: other.node.closed(self.now, process.name, other))

    def schedule(self, at: Time, process: SocketProcess, timer: TimerName) -> None:
        """A timer of a process is due at this time."""
        self._alarms.add(at, partial(self._fire, at, process, timer))

    # Inner works.

    def _step_later(self, process: SocketProcess) -> None:
        if process.steps:
            self.loop.call_soon(self._turns.take, process, partial(self._step, process), process.steps[0][0])

    def _step(self, process: SocketProcess) -> None:
        is_done = True
        try:
            is_done = process.steps[0][1]()
        finally:
            if is_done:
                process.steps.popleft()
            self._step_later(process)

    def _begin(self) -> None:
        self.tell_time()
        self.answers.begins()

    def _count(self, message: Message) -> None:
        kind = type(message)
        self.messages[kind] = self.messages.get(kind, 0) + 1

    def _created(self, kind: int, process: SocketProcess, what: object) -> None:
        if self.tracing:
            turns = self._turns
            self.observer.created(turns.number + 1, self.tell_time(), kind, process.name, what, turns.handling)

    def _ring(self) -> None:
        until = self.loop.time() + AT_ONCE_S
        while (due := self._alarms.pop()) is not None:
            due[1]()
            if self.loop.time() > until:
                break  # the rest is called for in the next turn of the loop

    def _fire(self, at: Time, process: SocketProcess, timer: TimerName) -> None:
        if process.is_due(at, timer):
            self._created(TIMER, process, timer)
            self._turns.take(process, lambda: process.node.timeout(self.now, timer, process))

    def _close_idle(self) -> None:
        """Look for connections on which nothing has come for too long, a few times in that time."""
        oldest = self.loop.time() - self.limits.idle_s
        for process in self.processes.values():
            for connection in list(process.connections.values()):
                if connection.last_read < oldest:
                    connection.abort()
        self._sweep = self.loop.call_later(self.limits.idle_s / 4, self._close_idle)
