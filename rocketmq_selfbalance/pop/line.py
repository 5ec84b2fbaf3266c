"""The line of requests that wait at a broker for records of one topic to one group (``PopLongPollingService``; spec pop
5.2), and the timers after which it goes on. Simulated brokers and served ones have it.

One line serves all members: the request whose time ends first stands at its head, and whoever stands there gets the
next record.
"""

from bisect import insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from protocols.engine.nodes import Outbox, Time
from protocols.node_state import NodeState

POPPED: Final = "popped"
"""First part of timers' names; the others are what is due, topic and group."""
POLL, ARRIVE, REVIVE, FREED = "poll", "arrive", "revive", "freed"
"""A request has waited long enough; a record arrives; records come back; a queue that is served in order is free."""
ANSWER_EARLY_MS: Final[Time] = 50.0
"""A request is answered so long before its time is over."""


class Request(Protocol):
    """A request for records; ``polling``: for so long it waits for some."""

    @property
    def polling(self) -> Time: ...


R = TypeVar("R", bound=Request)


class Waiting(NamedTuple, Generic[R]):
    """A request that waits, sorted by the end of its waiting."""

    due: Time
    number: int
    sender: str
    request: R


@dataclass(slots=True)
class Line(NodeState, Generic[R]):
    """Times are those of the world, as timers have them."""

    waiting: list[Waiting[R]] = field(default_factory=list)
    asked: int = 0
    """How many requests have ever waited."""

    def join(self, now: Time, sender: str, request: R) -> None:
        """There was nothing for the request: it waits."""
        self.asked += 1
        insort(self.waiting, Waiting(now + request.polling - ANSWER_EARLY_MS, self.asked, sender, request))

    def over(self, now: Time) -> Iterator[Waiting[R]]:
        """The requests whose time is over leave the line, the first at its head."""
        while self.waiting and self.waiting[0].due <= now:
            yield self.waiting.pop(0)

    def first_due(self) -> Time | None:
        """When the time of the first one is over."""
        return self.waiting[0].due if self.waiting else None


def set_timers(now: Time, topic: str, group: str, due: Mapping[str, Time | None], out: Outbox) -> None:
    """``due``: what the line waits for to when that is due; None: it does not wait for it."""
    for what, at in due.items():
        name = (POPPED, what, topic, group)
        if at is None:
            out.cancel_timer(name)
        else:
            out.set_timer(name, max(now, at))
