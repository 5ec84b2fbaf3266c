"""A process of the world on sockets: the place where a node lives, its timers, its clients, its outbox."""

from collections.abc import Callable, Sequence
from math import inf
from random import Random
from typing import Protocol, TypeVar, final
from uuid import UUID

from protocols.engine.connection import Answers, Connection
from protocols.engine.nodes import Message, Node, Time, TimerName

T = TypeVar("T")


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

    __slots__ = ("_entries", "backlog", "connections", "cut", "hung", "name", "neighbours", "node", "timers", "world")

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
