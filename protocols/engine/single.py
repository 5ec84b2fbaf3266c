"""The smallest world: one node, called by hand, at times given by hand.

Players of recorded traces and tests use it. Everything that the node does is kept for them to look at; nothing that
it sends arrives anywhere. (Several nodes that talk: a `protocols.engine.simulation.Simulation` with latency 0.)
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from protocols.engine.nodes import OPERATOR, Message, Node, Time, TimerName

T = TypeVar("T")
N = TypeVar("N", bound=Node)


class Choose(Protocol):
    """Label and options to the option chosen."""

    def __call__(self, label: str, options: Sequence[T], /) -> T: ...


NewId: TypeAlias = Callable[[str], str]
"""Prefix to a text never given before."""


def first_option(label: str, options: Sequence[T]) -> T:
    return options[0]


class Sent(NamedTuple):
    """A message that the node sent."""

    time: Time
    to: str
    message: Message


class Told(NamedTuple):
    """A fact that the node told."""

    time: Time
    fact: tuple[object, ...]


class Closed(NamedTuple):
    """A connection that the node closed."""

    time: Time
    peer: str


class Timer(NamedTuple):
    """A timer that is set. Equal ``due`` fire in order of ``number``."""

    due: Time
    number: int


class SingleNode(Generic[N]):
    """One node and its outbox. Times are milliseconds and never go back (`ValueError`).

    Before anything is given to the node at a time, its timers due up to and including this time fire, each at exactly
    its due time, equal ones in order of creation. A timer that is set for now while something is handled stays due
    until the next call: `advance` to the same time fires it.

    ``choose`` answers the node's choices (default: the first option), ``new_id`` makes ids (default: ``prefix-1``,
    ``prefix-2``, ... counted over all prefixes).
    """

    def __init__(self, node: N, *, now: Time = 0.0, choose: Choose = first_option, new_id: NewId | None = None) -> None:
        self.node = node
        self.now = now
        self.sent: list[Sent] = []
        self.facts: list[Told] = []
        self.closes: list[Closed] = []
        self.timers: dict[TimerName, Timer] = {}
        """Those that are set, in order of their first setting."""
        self._choose = choose
        self._new_id = new_id
        self._numbers = 0
        self._ids = 0

    # What the world does to the node.

    def start(self, now: Time | None = None) -> None:
        self.advance(self.now if now is None else now)
        self.node.start(self.now, self)

    def receive(self, now: Time, sender: str, message: Message) -> None:
        self.advance(now)
        self.node.receive(now, sender, message, self)

    def command(self, now: Time, message: Message) -> None:
        self.receive(now, OPERATOR, message)

    def connected(self, now: Time, peer: str) -> None:
        self.advance(now)
        self.node.connected(now, peer, self)

    def closed(self, now: Time, peer: str) -> None:
        """The connection was closed by the peer, cut or refused."""
        self.advance(now)
        self.node.closed(now, peer, self)

    def advance(self, until: Time) -> None:
        """Let time pass up to and including ``until``."""
        while self.fire_next(until):
            pass
        self.now = until

    def fire_next(self, until: Time) -> bool:
        """Fire the one timer that is due next, if it is due by ``until``; whether there was one.

        Time stands at its due time afterwards; where there was none, it does not move.
        """
        if until < self.now:
            raise ValueError(f"time cannot go back to {until} ms, now is {self.now} ms")
        if not self.timers:
            return False
        name = min(self.timers, key=self.timers.__getitem__)
        due = self.timers[name].due
        if due > until:
            return False
        del self.timers[name]
        self.now = due
        self.node.timeout(due, name, self)
        return True

    def take_sent(self) -> list[Sent]:
        """What was sent since the last call of this, in order."""
        sent, self.sent = self.sent, []
        return sent

    def take_facts(self) -> list[Told]:
        """What was told since the last call of this, in order."""
        facts, self.facts = self.facts, []
        return facts

    # The outbox.

    def send(self, to: str, message: Message) -> None:
        self.sent.append(Sent(self.now, to, message))

    def close(self, peer: str) -> None:
        self.closes.append(Closed(self.now, peer))

    def set_timer(self, name: TimerName, at: Time) -> None:
        if at < self.now:
            raise ValueError(f"timer {name!r} set to {at} ms, now is {self.now} ms")
        self._numbers += 1
        self.timers[name] = Timer(at, self._numbers)

    def cancel_timer(self, name: TimerName) -> None:
        self.timers.pop(name, None)

    def observe(self, fact: tuple[object, ...]) -> None:
        self.facts.append(Told(self.now, fact))

    def choose(self, label: str, options: Sequence[T]) -> T:
        chosen: T = self._choose(label, options)
        return chosen

    def new_id(self, prefix: str) -> str:
        if self._new_id is not None:
            return self._new_id(prefix)
        self._ids += 1
        return f"{prefix}-{self._ids}"
