"""What members and brokers said to each other: every request with its answer."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from kafka_coordinator.consumer_group_messages import ConsumerGroupHeartbeat
from kafka_coordinator.errors import NONE
from kafka_coordinator.messages import JoinGroup
from protocols.engine.nodes import Message, Time

NEVER: Final = float("inf")


@dataclass(slots=True)
class Exchange:
    """One request; ``answer`` is None while there is none. Times are milliseconds of the world."""

    at: Time
    member: str
    """The program that sent it: ``c1``, ``c2``."""
    broker: str
    request: Message
    answer: Message | None = None
    answered_at: Time = NEVER

    @property
    def member_id(self) -> str:
        """Whose request it is; empty where it does not say."""
        return getattr(self.request, "member_id", None) or ""

    @property
    def error(self) -> str | None:
        """Kafka's name of the error of the answer, `NONE` for success; None while it is not answered."""
        if self.answer is None:
            return None
        errors = getattr(self.answer, "errors", None)
        if errors is not None and not hasattr(self.answer, "error"):
            return next((error for _, error in errors if error != NONE), NONE)
        return str(getattr(self.answer, "error", NONE))

    @property
    def joins(self) -> bool:
        """Whether it asks to be (again) a member."""
        request = self.request
        return isinstance(request, JoinGroup) or (
            isinstance(request, ConsumerGroupHeartbeat) and request.member_epoch == 0
        )


class AnyExchange(Protocol):
    """What is kept of a request, whatever the system."""

    member: str
    answer: Message | None
    answered_at: Time


E = TypeVar("E", bound=AnyExchange)


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


class Exchanges(Listener[Exchange]):
    """Of Kafka's brokers."""

    def __init__(self, brokers: Collection[str], member_of: Callable[[str, Message], str]) -> None:
        super().__init__(brokers, member_of, Exchange)
