"""How rounds that are computed ahead use links (`protocols.rounds`), and those that can be computed as a whole."""

from typing import NamedTuple

from protocols.links import Link
from protocols.nodes import Time


class Lane:
    """How far a link has been used: number of the next message, arrival of the last."""

    __slots__ = ("_drawn_to", "arrival", "drawn", "link")

    def __init__(self, link: Link) -> None:
        self.link, self.arrival = link, link.last_arrival
        self.drawn = link.drawn.copy()
        """Latencies of the next messages, the next one last."""
        self._drawn_to = link.sent + len(self.drawn)

    @property
    def number(self) -> int:
        """Of the next message."""
        return self._drawn_to - len(self.drawn)

    def skip(self, messages: int) -> None:
        """So many more messages, of which nobody wants to know when they arrive."""
        self._drawn_to, self.drawn = self.number + messages, []

    def draw(self) -> list[float]:
        """Draw more latencies; the new ``drawn``."""
        self.drawn = self.link.latencies_from(self._drawn_to)
        self._drawn_to += len(self.drawn)
        return self.drawn

    def travel(self, messages: int) -> Time:
        """How long so many messages travel, one after the other."""
        time = 0.0
        while messages:
            drawn = self.drawn or self.draw()
            taken = drawn[-messages:]
            del drawn[-messages:]
            time += sum(taken)
            messages -= len(taken)
        return time

    def send(self, now: Time) -> Time:
        """One more message: when it arrives."""
        arrival = now + (self.drawn or self.draw()).pop()
        if arrival > self.arrival:
            self.arrival = arrival
        return self.arrival


class Turn(NamedTuple):
    """A call of a round whose calls are made one after the other."""

    label: str
    stream: bytes
    """Of the choices; see `protocols.randomness.choice`."""
    lanes: tuple[tuple[Lane, Lane], ...]
    """There and back, of each peer."""


class Alone(NamedTuple):
    """A line whose rounds can be computed as a whole, where nothing else happens meanwhile: each call has an answer
    and is made when the one before is answered, all are of one kind; or there are no calls."""

    turns: tuple[Turn, ...]
    at_most: Time
    """How long a round lasts."""
    pair: tuple[Lane, Lane] | None
    """The lanes of all calls, where they are the same and nothing is chosen."""
