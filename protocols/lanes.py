"""How rounds that are computed ahead use links (`protocols.rounds`)."""

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

    def send_at_once(self, now: Time, messages: int) -> Time:
        """So many more messages, all sent now: when the last one arrives."""
        while messages:
            drawn = self.drawn or self.draw()
            taken = drawn[-messages:]
            del drawn[-messages:]
            self.arrival = max(self.arrival, now + max(taken))
            messages -= len(taken)
        return self.arrival
