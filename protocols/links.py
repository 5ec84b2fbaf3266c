"""Links between two processes: first in, first out, with a latency for every message and with faults."""

from typing import TYPE_CHECKING, NamedTuple

from protocols.nodes import TICK, Message, Time
from protocols.randomness import BLOCK, block, number_below

if TYPE_CHECKING:
    from protocols.process import Process


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


class Link:
    """One direction of a connection: from one process to another.

    Message number n of a link takes a latency that depends on (seed, both names, ``ordinal``, n) alone, where
    ``ordinal`` counts the connections between the two.
    """

    __slots__ = (
        "_block",
        "_block_number",
        "_drawn_to",
        "_least",
        "_spread",
        "_stream",
        "back",
        "deliver",
        "drawn",
        "fault",
        "last_arrival",
        "open",
        "receiver",
        "sender",
        "shut",
    )

    def __init__(self, seed: int, latency: Latency, sender: "Process", receiver: "Process", ordinal: int) -> None:
        self.sender, self.receiver = sender, receiver
        self.back: Link = self
        """The other direction."""
        self._stream = f"{seed}\x1f{sender.name}\x1f{receiver.name}\x1f{ordinal}"
        self._least = round(latency.least / TICK)
        self._spread = round(latency.most / TICK) - self._least + 1
        self.drawn: list[float] = []
        """Latencies of the next messages, the next one last."""
        self._drawn_to = 0
        self._block: list[float] = []
        self._block_number = -1
        self.last_arrival: Time = 0.0
        """No message that is sent from now on arrives before."""
        self.open = False
        """Whether the receiver takes messages from this link: from the connection's opening to its close."""
        self.shut = False
        """Whether the receiver has closed or was told that the sender did: it will not open again."""
        self.fault: Fault | None = None
        self.deliver = self._deliver
        """Bound once: every message puts it into the heap."""

    @property
    def sent(self) -> int:
        """Messages sent so far: the number of the next one."""
        return self._drawn_to - len(self.drawn)

    @sent.setter
    def sent(self, number: int) -> None:
        self.drawn, self._drawn_to = [], number

    def latency(self, number: int) -> float:
        """How long message ``number`` travels, in milliseconds, faults aside."""
        at, within = divmod(number, BLOCK)
        if at != self._block_number:
            self._block_number, self._block = at, self._latencies(at)
        return self._block[within]

    def arrival(self, now: Time) -> Time:
        """When a message sent now arrives, never before an earlier one, if it is not lost."""
        drawn = self.drawn or self._draw()
        due = now + drawn.pop()
        if self.fault is not None:
            due += round(self.fault.delay / TICK) * TICK
        if due < self.last_arrival:
            return self.last_arrival
        self.last_arrival = due
        return due

    def loses(self) -> bool:
        """Whether the next message is lost; only asked where the link has a fault."""
        fault = self.fault
        if fault is None:
            return False
        share = 1.0 if fault.cut else fault.loss
        lost = number_below(1 << 32, "loss", self._stream, self.sent) < share * (1 << 32)
        if lost:
            self.sent += 1
        return lost

    def _draw(self) -> list[float]:
        at, within = divmod(self._drawn_to, BLOCK)
        self._drawn_to = (at + 1) * BLOCK
        self.drawn = self._latencies(at)[within:]
        self.drawn.reverse()
        return self.drawn

    def _latencies(self, number: int) -> list[float]:
        least = self._least
        if self._spread == 1:
            return [least * TICK] * BLOCK
        return [(least + each) * TICK for each in block(self._spread, number, "latency", self._stream)]

    def _deliver(self, message: Message) -> None:
        """A message has arrived."""
        receiver = self.receiver
        if receiver.hung:
            receiver.wait(self.deliver, message)
        elif self.open:
            receiver.node.receive(receiver.simulation.now, self.sender.name, message, receiver)
