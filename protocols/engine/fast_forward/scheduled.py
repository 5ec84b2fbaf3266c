"""What rounds are computed from (`protocols.engine.fast_forward.rounds`), and what is known of them then."""

from collections import Counter
from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

from protocols.engine.fast_forward.contract import Exchange
from protocols.engine.links import End, Link
from protocols.engine.nodes import Message, Time
from protocols.engine.process import Entry, Process


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


Traffic: TypeAlias = tuple[End, str, type[Message], Hashable]
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


def volleys(scheduled: ScheduledExchange) -> tuple[Volley, ...] | None:
    """All calls of a round, where they are sent at once to one peer each, and none is answered."""
    exchange, found = scheduled.exchange, Counter[tuple[Link, type[Message]]]()
    if exchange.in_turn:
        return None
    for call, links in zip(exchange.calls, scheduled.links, strict=True):
        if call.label or call.answer is not None:
            return None
        found[links[0], call.request] += 1
    return tuple((link, kind, messages) for (link, kind), messages in found.items())
