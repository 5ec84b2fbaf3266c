"""Where nodes listen, and how clients are told.

What takes part in a group, seen from outside: a node, and the outbox through which it acts.

A broker, a coordinator, a name server, a client: each is plain state with five entry points. Whoever calls them gives
the time and an outbox; the node does no I/O, never sleeps, reads no clock, draws no random number and touches no
global. So the same node lives unchanged in the simulation, in a player of recorded traces, in a test that calls it
by hand.

Time is virtual and counts milliseconds from the start of the run. It is a float whose value is always a whole
multiple of 1/1024 ms (`TICK`), so that sums and differences of times are exact.

Who watches a simulation.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, TypeVar, runtime_checkable


class Address(NamedTuple):
    """Where a node listens."""

    host: str
    port: int


def at_port(host: str, port: int) -> str:
    """``host:port``, as clients are given it; an IPv6 address stands in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


Time: TypeAlias = float
"""Milliseconds of virtual time since the start; a whole multiple of `TICK`."""

TICK = 1 / 1024
"""The smallest difference between two times, in milliseconds."""

TimerName: TypeAlias = Any
"""A hashable value, unique within its node: a text, or a tuple such as ``("session", group, member)``."""

Message: TypeAlias = tuple[Any, ...]
"""A named tuple without behaviour; its class is its type. Never changed after it was sent."""

OPERATOR = "operator"
"""The sender of commands: the user, the administrator or the scenario, who speaks to a node without a network."""

T = TypeVar("T")


class Outbox(Protocol):
    """What a node may do to the world while it handles an event."""

    def send(self, to: str, message: Message) -> None:
        """Send over the connection to this node; opens one if there is none.

        Where the peer does not run, the connection is refused: ``closed(peer)`` follows at once and the message is
        lost. Where the network is cut, the message is lost silently.
        """

    def close(self, peer: str) -> None:
        """Close the connection to this node, if one is open: it is told after what was sent before; we are not."""

    def set_timer(self, name: TimerName, at: Time) -> None:
        """``timeout(name)`` at this time (not before now). A timer of this name that is set already is replaced."""

    def cancel_timer(self, name: TimerName) -> None:
        """The timer does not fire; nothing happens if it is not set."""

    def observe(self, fact: tuple[object, ...]) -> None:
        """Tell the world what happened here: one of `protocols.facts`. Changes nothing for any node."""

    def choose(self, label: str, options: Sequence[T]) -> T:
        """One of the options (at least one): the world decides which. ``label`` names the question."""

    def new_id(self, prefix: str) -> str:
        """A text that was never given before: ``prefix``, a hyphen, and what the world made up (in Kafka a UUID)."""


class PassedOn:
    """An outbox before another one, ``out``, which is given all that a class of its kind does not do otherwise."""

    __slots__ = ("out",)

    def __init__(self, out: Outbox) -> None:
        self.out = out

    def send(self, to: str, message: Message) -> None:
        self.out.send(to, message)

    def close(self, peer: str) -> None:
        self.out.close(peer)

    def set_timer(self, name: TimerName, at: Time) -> None:
        self.out.set_timer(name, at)

    def cancel_timer(self, name: TimerName) -> None:
        self.out.cancel_timer(name)

    def observe(self, fact: tuple[object, ...]) -> None:
        self.out.observe(fact)

    def choose(self, label: str, options: Sequence[T]) -> T:
        return self.out.choose(label, options)

    def new_id(self, prefix: str) -> str:
        return self.out.new_id(prefix)


class Node(Protocol):
    """State with entry points. None of them blocks; a call that blocks in the real system is a record of waiting. What
    the explorer is to copy and to compare is a `protocols.node_state.NodeState`, too."""

    def start(self, now: Time, out: Outbox) -> None:
        """The process starts. Called once, before anything else."""

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        """A message has arrived; `OPERATOR` sends commands."""

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        """A timer that was set, and neither moved nor cancelled since, is due."""

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        """A connection with this peer is open, whoever opened it."""

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        """The connection was closed by the peer or cut, or it was refused."""


class ExploredNode(Node, Protocol):
    """A node that the explorer copies before each of its steps (`protocols.node_state`)."""

    def copy(self) -> Self:
        """An independent copy of the state."""


@runtime_checkable
class WakingNode(Protocol):
    """What a node has besides if its process, when it goes on after it hung, finds the ends of connections before it
    does anything else: a thread of its own reads them, while all others are late."""

    def woken(self, now: Time, ended: Sequence[str], out: Outbox) -> None:
        """The process goes on, and the connections with these peers (at least one) have ended meanwhile. Told in place
        of `Node.closed`, before everything that has come, be it over these connections."""


class Observer(Protocol):
    """Who watches a simulation.

    ``root`` is the number of the call (see `simulation.Simulation.at`) that began the chain of causes, or
    `process.CLOCK`. Everything that is handled has a number, rising in the order of creation; ``cause`` is the number
    of what was being handled.
    """

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        """A node told something (one of `protocols.facts`)."""

    def created(self, number: int, due: Time, kind: int, node: str, what: object, cause: int) -> None:
        """Something is going to be handled: a timer (``what`` is its name), a connection opened or closed (the peer);
        both only told while tracing; a call (its label), always told."""

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        """A message was sent (only told while tracing); ``arrives`` is None where it is lost."""

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None:
        """A fault of the network has lost this message, or delayed one or the news of a connection (None)."""


class Unobserved:
    """An observer that does not look."""

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None: ...

    def created(self, number: int, due: Time, kind: int, node: str, what: object, cause: int) -> None: ...

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None: ...

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None: ...
