"""Who watches a simulation."""

from typing import Protocol

from protocols.engine.nodes import Message, Time


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
