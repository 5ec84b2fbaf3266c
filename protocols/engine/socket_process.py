"""A process of the world on sockets: the place where a node lives, its timers, its clients, its outbox; and
how what nodes send to many clients is written in turns."""

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from random import Random
from typing import Protocol, TypeVar, final
from uuid import UUID

from protocols.engine.connection import AT_ONCE_S, Connection, Server
from protocols.engine.nodes import Message, Node, Time, TimerName

T = TypeVar("T")


class Answers:
    """What nodes send to clients. Where one request is answered to so many that others would wait for long, such as the
    last join of a large group, the rest is written in turns of its own; each client gets all in the order of sending.
    """

    def __init__(self, world: Server) -> None:
        self._world = world
        self._until = 0.0
        self._waiting: dict[Connection, deque[Message]] = {}

    def begins(self) -> None:
        """A node is given something to do."""
        self._until = self._world.loop.time() + AT_ONCE_S

    def write(self, connection: Connection, message: Message) -> None:
        """Now, or soon."""
        if connection in self._waiting:
            self._waiting[connection].append(message)
        elif self._world.loop.time() <= self._until:
            connection.write(message)
        else:
            if not self._waiting:
                self._world.loop.call_soon(self._go_on)
            self._waiting[connection] = deque((message,))

    def finish(self, connection: Connection) -> None:
        """Write now what waits for this client: the connection is about to be closed."""
        for message in self._waiting.pop(connection, ()):
            connection.write(message)

    def forget(self, connection: Connection) -> None:
        """The connection is closed."""
        self._waiting.pop(connection, None)

    def _go_on(self) -> None:
        self.begins()
        until = self._until  # which moves when a client's next request is handed on
        while self._waiting:
            connection, messages = next(iter(self._waiting.items()))
            message = messages.popleft()
            if not messages:
                del self._waiting[connection]
            try:
                connection.write(message)
            except Exception as error:
                self._world.failed(connection.name, error)
                connection.abort()
            if self._world.loop.time() > until:
                break
        if self._waiting:
            self._world.loop.call_soon(self._go_on)


class World(Protocol):
    """What a process needs of its world."""

    random: Random
    answers: Answers

    def tell_sent(self, sender: str, to: str, message: Message) -> None: ...

    def tell(self, name: str, fact: tuple[object, ...]) -> None: ...

    def send_inside(self, process: "SocketProcess", to: str, message: Message) -> None: ...

    def hang_up(self, connection: Connection) -> None: ...

    def hang_up_inside(self, process: "SocketProcess", peer: str) -> None: ...

    def schedule(self, at: Time, process: "SocketProcess", timer: TimerName) -> None: ...


@final
class SocketProcess:
    """A node on real connections; to its node it is the outbox (`protocols.engine.nodes.Outbox`)."""

    __slots__ = (
        "_entries",
        "backlog",
        "connections",
        "cut",
        "hung",
        "name",
        "neighbours",
        "node",
        "steps",
        "timers",
        "world",
    )

    def __init__(self, world: World, name: str, node: Node) -> None:
        self.world, self.name, self.node = world, name, node
        self.connections: dict[str, Connection] = {}
        """Clients by their names."""
        self.neighbours: dict[str, None] = {}
        """Nodes of this world with which a connection is open."""
        self.timers: dict[TimerName, Time] = {}
        """Those that are set, and when they are due."""
        self._entries: dict[TimerName, Time] = {}
        """Timer to the due time of its earliest entry with the world, so that moving one to later costs nothing
        there: when the entry's turn comes, another takes its place."""
        self.hung = False
        self.cut = False
        """Whether the network between the node and its clients is cut."""
        self.backlog: list[Callable[[], None]] = []
        """What came while the node hung."""
        self.steps: deque[tuple[Connection, Callable[[], bool]]] = deque()
        """Long answers, and for whom: the first is being made."""

    # The outbox.

    def send(self, to: str, message: Message) -> None:
        connection = self.connections.get(to)
        if connection is None:
            self.world.send_inside(self, to, message)
        else:
            self.world.tell_sent(self.name, to, message)
            self.world.answers.write(connection, message)

    def close(self, peer: str) -> None:
        connection = self.connections.pop(peer, None)
        if connection is not None:
            self.world.hang_up(connection)
        elif peer in self.neighbours:
            self.world.hang_up_inside(self, peer)

    def set_timer(self, name: TimerName, at: Time) -> None:
        self.timers[name] = at
        if at < self._entries.get(name, inf):
            self._entries[name] = at
            self.world.schedule(at, self, name)

    def cancel_timer(self, name: TimerName) -> None:
        self.timers.pop(name, None)

    def observe(self, fact: tuple[object, ...]) -> None:
        self.world.tell(self.name, fact)

    def choose(self, label: str, options: Sequence[T]) -> T:
        return options[self.world.random.randrange(len(options))]

    def new_id(self, prefix: str) -> str:
        made = str(UUID(int=self.world.random.getrandbits(128), version=4))
        return f"{prefix}-{made}" if prefix else made

    # The world's side.

    def is_due(self, at: Time, name: TimerName) -> bool:
        """Whether the timer is due, now that its entry for this time is; it is set no longer then."""
        if self._entries.get(name) != at:
            return False  # an earlier entry has taken over since
        del self._entries[name]
        due = self.timers.get(name)
        if due is None:
            return False
        if due > at:
            self._entries[name] = due
            self.world.schedule(due, self, name)
            return False
        del self.timers[name]
        return True

    def end(self) -> None:
        """The node has ended: nothing of it is due any more, nobody is connected."""
        self.hung = True
        self.timers.clear()
        self._entries.clear()
        self.connections.clear()
        self.backlog.clear()
        self.steps.clear()
