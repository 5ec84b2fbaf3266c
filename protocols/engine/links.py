"""Links between two processes: first in, first out, with a latency for every message and with faults.

Why first in, first out: both systems talk over TCP, which keeps the order of a connection. A message that draws a short
latency waits for the one before it.

Why latencies are numbered instead of drawn from one generator: with one generator, one message more anywhere would give
every later message of the run another latency, and two variants of a scenario would differ by luck. Here a message's
latency depends on the seed, its link and its number on that link alone. So two runs meet the same luck as far as they
do the same, and a difference between them comes from what was changed.
"""

from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, final

from protocols.engine.nodes import TICK, Message, Node, Observer, Outbox, Time
from protocols.engine.randomness import STEPS, WORDS, number_below, words


class Run(Protocol):
    """What a link asks of the simulation: the time, and who is told of what a fault harms."""

    now: Time
    observer: Observer


class End(Outbox, Protocol):
    """One end of a link, a process. Links know it by this alone, so that processes and simulation build on links and
    nothing here builds on them."""

    name: str
    node: Node
    hung: bool
    links: "dict[str, Link]"

    @property
    def simulation(self) -> Run: ...

    def wait(self, handler: Callable[[Any], None], what: Any) -> None: ...

    def closed(self, link: "Link") -> None: ...


class Latency(NamedTuple):
    """How long a message travels: evenly spread from ``least`` to ``most``, in milliseconds, in 4,096 steps."""

    least: float
    most: float


@lru_cache(maxsize=16)
def spread(latency: Latency) -> tuple[float, ...]:
    """4,096 latencies evenly spread from the least to the most, each a whole number of ticks."""
    least, most = round(latency.least / TICK), round(latency.most / TICK)
    return tuple([(least + number * (most - least + 1) // STEPS) * TICK for number in range(STEPS)])


class Fault(NamedTuple):
    """What is wrong with a link for a while. ``cut``: nothing passes. ``loss``: share of messages lost, 0 to 1.
    ``delay``: milliseconds that every message takes longer."""

    cut: bool = False
    loss: float = 0.0
    delay: float = 0.0


@final
class Link:
    """One direction of a connection: from one process to another.

    Message number n of a link takes a latency that depends on (seed, both names, ``ordinal``, n) alone, where
    ``ordinal`` counts the connections between the two.
    """

    __slots__ = (
        "_drawn_to",
        "_simulation",
        "_spread",
        "_stream",
        "back",
        "drawn",
        "fault",
        "last_arrival",
        "open",
        "receiver",
        "sender",
        "sender_name",
        "shut",
    )

    def __init__(self, seed: int, latency: Latency, sender: End, receiver: End, ordinal: int) -> None:
        self.sender, self.receiver = sender, receiver
        self.back: Link = self
        """The other direction."""
        self._stream = f"{seed}\x1f{sender.name}\x1f{receiver.name}\x1f{ordinal}"
        self._spread = spread(latency)
        self.drawn: list[float] = []
        """Latencies of the next messages, the next one last."""
        self._drawn_to = 0
        self.last_arrival: Time = 0.0
        """No message that is sent from now on arrives before."""
        self.open = False
        """Whether the receiver takes messages from this link: from the connection's opening to its close."""
        self.shut = False
        """Whether the receiver has closed or was told that the sender did: it will not open again."""
        self.fault: Fault | None = None
        self._simulation = receiver.simulation
        self.sender_name = sender.name

    @property
    def sent(self) -> int:
        """Messages sent so far: the number of the next one."""
        return self._drawn_to - len(self.drawn)

    @sent.setter
    def sent(self, number: int) -> None:
        self.drawn, self._drawn_to = [], number

    def arrival(self, now: Time) -> Time:
        """When a message sent now arrives, never before an earlier one, if it is not lost."""
        due = now + (self.drawn or self.draw()).pop()
        if self.fault is not None:
            due += round(self.fault.delay / TICK) * TICK
            if self.fault.delay:
                self._simulation.observer.harmed(now, self.sender_name, self.receiver.name, None)
        self.last_arrival = max(due, self.last_arrival)
        return self.last_arrival

    def loses(self, message: Message) -> bool:
        """Whether this message, which is the next one, is lost; if so, it has its number."""
        fault = self.fault
        if fault is None:
            return False
        share = 1.0 if fault.cut else fault.loss
        lost = number_below(1 << 32, "loss", self._stream, self.sent) < share * (1 << 32)
        if lost:
            self.sent += 1
            simulation = self._simulation
            simulation.observer.harmed(simulation.now, self.sender_name, self.receiver.name, message)
        return lost

    def draw(self) -> list[float]:
        """Draw more latencies; the new ``drawn``."""
        self.drawn = self.latencies_from(self._drawn_to)
        self._drawn_to += len(self.drawn)
        return self.drawn

    def latencies_from(self, number: int) -> list[float]:
        """How long messages from this number to the end of its block travel, in milliseconds, faults aside; the first
        one last."""
        at, within = divmod(number, WORDS)
        return self._latencies(at)[: WORDS - within]

    def _latencies(self, number: int) -> list[float]:
        """A block of them, the first one last."""
        if self._spread[0] == self._spread[-1]:
            return [self._spread[0]] * WORDS
        return list(itemgetter(*words(self._stream, number))(self._spread))

    def handle(self, message: Message) -> None:
        receiver = self.receiver
        if receiver.hung:
            receiver.wait(self.handle, message)
        elif self.open:
            receiver.node.receive(self._simulation.now, self.sender_name, message, receiver)
