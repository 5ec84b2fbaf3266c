"""Links between two processes: first in, first out, with a latency for every message and with faults."""

from typing import TYPE_CHECKING, NamedTuple

from protocols.nodes import TICK, Time
from protocols.randomness import block, number_below

if TYPE_CHECKING:
    from protocols.simulation import Process


class Latency(NamedTuple):
    """How long a message travels: evenly spread from ``least`` to ``most``, in milliseconds."""

    least: float
    most: float


class Fault(NamedTuple):
    """What is wrong with a link for a while. ``cut``: nothing passes. ``loss``: share of messages lost, 0 to 1.
    ``delay``: milliseconds that every message takes longer."""

    cut: bool = False
    loss: float = 0.0
    delay: float = 0.0


_BLOCK = 16


class Link:
    """One direction of a connection: from one process to another.

    Message number n of a link takes a latency that depends on (seed, both names, ``ordinal``, n) alone, where
    ``ordinal`` counts the connections between the two.
    """

    __slots__ = (
        "_block",
        "_drawn",
        "_least",
        "_names",
        "_spread",
        "back",
        "fault",
        "last_arrival",
        "open",
        "receiver",
        "sender",
        "sent",
    )

    def __init__(self, seed: int, latency: Latency, sender: "Process", receiver: "Process", ordinal: int) -> None:
        self.sender, self.receiver = sender, receiver
        self.back: Link = self
        """The other direction."""
        self._names = (seed, sender.name, receiver.name, ordinal)
        self._least = round(latency.least / TICK)
        self._spread = round(latency.most / TICK) - self._least + 1
        self._block = -1
        self._drawn: list[float] = []
        self.sent = 0
        """Messages sent so far: the number of the next one."""
        self.last_arrival: Time = 0.0
        self.open = False
        """Whether the receiver takes messages from this link: from the connection's opening to its close."""
        self.fault: Fault | None = None

    def latency(self, number: int) -> float:
        """How long message ``number`` travels, in milliseconds, faults aside."""
        at, within = divmod(number, _BLOCK)
        if at != self._block:
            self._block = at
            self._drawn = [(self._least + each) * TICK for each in block(self._spread, at, "latency", *self._names)]
        return self._drawn[within]

    def arrival(self, now: Time) -> Time | None:
        """When a message sent now arrives, never before an earlier one; None if it is lost."""
        number = self.sent
        self.sent = number + 1
        due = now + self.latency(number)
        fault = self.fault
        if fault is not None:
            if fault.cut or (
                fault.loss and number_below(1 << 32, "loss", *self._names, number) < fault.loss * (1 << 32)
            ):
                return None
            due += round(fault.delay / TICK) * TICK
        if due < self.last_arrival:
            due = self.last_arrival
        self.last_arrival = due
        return due
