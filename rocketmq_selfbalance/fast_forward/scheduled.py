"""What rounds are computed from (`rounds`): exchanges, and how far their links have been used; and what is known of
them then."""

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

from protocols.engine.links import Link
from protocols.engine.nodes import Message, Time
from protocols.engine.process import Entry, Process
from protocols.engine.randomness import Choices
from rocketmq_selfbalance.fast_forward.contract import Exchange


class ScheduledExchange(NamedTuple):
    """An exchange that is alive, and its timer as it is set now."""

    exchange: Exchange
    timer: Entry
    links: tuple[tuple[Link, ...], ...]
    """Of each call: to each of its peers."""
    process: Process
    """Whose timer it is."""


Due: TypeAlias = tuple[Time, Time, int, int, int, Time]
"""What happens next: time, time of its creation, order, exchange, call, and the beginning of the round. Call 0: the
timer fires; above: an answer has come and the next call goes out; below: the request of call ``-call - 1`` has arrived,
and its answer goes out."""


class Came(NamedTuple):
    """A message: when it came and was sent; ``order`` is the number of the timer that began it all."""

    time: Time
    sent: Time
    order: int
    root: int


Traffic: TypeAlias = tuple[Process, str, type[Message], Hashable]
"""Receiver, sender and type of messages, and what they are about (`Exchange.about`)."""

Last: TypeAlias = dict[Traffic, Came]
"""The last message of each."""

Volley: TypeAlias = tuple[Link, type[Message], int]
"""So many messages of one type that are sent at once, and not answered."""


class Passed(NamedTuple):
    """What was passed over: the state between two rounds, when nothing is under way."""

    dues: tuple[Due, ...]
    """The timers."""
    rounds: tuple[int, ...]
    """Of each exchange."""
    spans: tuple[tuple[Time, Time] | None, ...]
    """Beginning and end of the last round of each exchange; None where there was none."""
    cursors: tuple[tuple[Link, int, Time], ...]
    """Link, number of the next message, arrival of the last one."""
    last: Last
    choices: dict[str, int]
    """Label to how many choices were made so far."""


def volleys(scheduled: ScheduledExchange) -> tuple[Volley, ...]:
    """All calls of a round, where they are sent at once, each to one peer."""
    counter = Counter(
        (links[0], call.request) for call, links in zip(scheduled.exchange.calls, scheduled.links, strict=True)
    )
    return tuple((link, kind, messages) for (link, kind), messages in counter.items())


class LinkCursor:
    """How far a link has been used: number of the next message, arrival of the last."""

    __slots__ = ("_drawn_to", "arrival", "drawn", "link")

    def __init__(self, link: Link) -> None:
        self.link, self.arrival = link, link.last_arrival
        self.drawn = link.drawn.copy()
        """Latencies of the next messages, the next one last."""
        self._drawn_to = link.sent + len(self.drawn)

    @property
    def number(self) -> int:
        return self._drawn_to - len(self.drawn)

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


class Turn(NamedTuple):
    """A call of a round whose calls are made one after the other."""

    choices: Choices | None
    """Of the peer; None where it is not chosen."""
    cursors: tuple[tuple[LinkCursor, LinkCursor], ...]
    """There and back, of each peer."""


class Cursors:
    """Those of all links and choices that the rounds of a process use."""

    __slots__ = ("_choices", "_cursors", "_process")

    def __init__(self, process: Process) -> None:
        self._process = process
        self._cursors: dict[Link, LinkCursor] = {}
        self._choices: dict[str, Choices] = {}

    def of(self, link: Link) -> LinkCursor:
        cursor = self._cursors.get(link)
        if cursor is None:
            cursor = self._cursors[link] = LinkCursor(link)
        return cursor

    def turns_of(self, scheduled: ScheduledExchange) -> list[Turn]:
        known: dict[tuple[str, tuple[Link, ...]], Turn] = {}
        turns = []
        for call, links in zip(scheduled.exchange.calls, scheduled.links, strict=True):
            turn = known.get((call.label, links))
            if turn is None:
                cursors = tuple([(self.of(link), self.of(link.back)) for link in links])
                turn = known[call.label, links] = Turn(self._choices_of(call.label) if call.label else None, cursors)
            turns.append(turn)
        return turns

    def used(self) -> tuple[tuple[Link, int, Time], ...]:
        return tuple([(cursor.link, cursor.number, cursor.arrival) for cursor in self._cursors.values()])

    def made(self) -> dict[str, int]:
        return {label: choices.made for label, choices in self._choices.items()}

    def _choices_of(self, label: str) -> Choices:
        choices = self._choices.get(label)
        if choices is None:
            choices = self._choices[label] = self._process.choices_of(label).ahead()
        return choices
