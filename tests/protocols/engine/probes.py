"""A node that writes down what happens to it and does what a test wants."""

from collections.abc import Callable
from typing import Any, NamedTuple

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from protocols.engine.simulation import Simulation, Unobserved


class Word(NamedTuple):
    text: str


class Probe:
    """``react(event, what, out)``, where given, acts on each event; event and what as in ``log``."""

    def __init__(self, react: Callable[[str, Any, Outbox], None] | None = None) -> None:
        self.react = react
        self.log: list[tuple[Any, ...]] = []
        """Time, event (start, timeout, connected, closed, or the sender of a message), what."""

    def _note(self, now: Time, event: str, what: Any, out: Outbox) -> None:
        self.log.append((now, event, what))
        if self.react is not None:
            self.react(event, what, out)

    def start(self, now: Time, out: Outbox) -> None:
        self._note(now, "start", None, out)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        self._note(now, sender, message[0], out)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        self._note(now, "timeout", timer, out)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        self._note(now, "connected", peer, out)

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        self._note(now, "closed", peer, out)

    @property
    def events(self) -> list[tuple[str, Any]]:
        """The log without times and start."""
        return [(event, what) for _, event, what in self.log if event != "start"]


class Trace(Unobserved):
    """Everything that an observer is told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def fact(self, now: Time, node: str, fact: tuple[Any, ...], root: int, cause: int) -> None:
        self.told.append(("fact", now, node, fact, root, cause))

    def created(self, number: int, due: Time, kind: int, node: str, what: Any, cause: int) -> None:
        self.told.append(("created", number, due, kind, node, what, cause))

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        self.told.append(("sent", now, arrives, sender, to, message, number, cause))


def say(simulation: Simulation, sender: str, to: str, *texts: str) -> None:
    """A process sends words, as if its node did so now."""
    for text in texts:
        simulation.processes[sender].send(to, Word(text))
