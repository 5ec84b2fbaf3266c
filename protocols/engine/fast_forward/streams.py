"""Messages that come again and again while all is quiet, and until when they renew what runs out without them."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from protocols.engine.fast_forward.scheduled import ScheduledExchange
from protocols.engine.nodes import Message, Time


class Stream(NamedTuple):
    """Messages of one type from one process to another."""

    due: Time
    """When the next one is due; an answer may come at any time."""
    travel: Time
    """It comes so much later at the latest, in milliseconds."""
    period: Time


_ANSWERS = Stream(-inf, 0.0, 0.0)
"""They come soon enough (`protocols.engine.fast_forward.contract.Exchange.within`)."""


class Streams:
    """All that flows while exchanges are alive."""

    __slots__ = ("_found",)

    def __init__(self, alive: Mapping[str, Sequence[ScheduledExchange]], most: Time) -> None:
        """``alive``: process to its exchanges; ``most``: how long a message travels, in milliseconds."""
        self._found: dict[tuple[str, str, type[Message]], Stream] = {}
        """Sender, receiver and type."""
        found = self._found
        for schedule in alive.values():
            for scheduled in schedule:
                name, exchange = scheduled.process.name, scheduled.exchange
                calls = exchange.calls
                if not calls:
                    continue
                travel = most * (2 * len(calls) - 1 if exchange.in_turn else 1)
                stream = Stream(scheduled.timer[0], travel, exchange.period)
                for before, call in zip((None, *calls), calls, strict=False):
                    for peer in () if call is before else call.peers:
                        key = name, peer, call.request
                        found[key] = min(stream, found.get(key, stream))
                        if call.answer is not None:
                            found[peer, name, call.answer] = _ANSWERS

    def add(self, sender: str, receiver: str, kind: type[Message], stream: Stream) -> None:
        """Such messages flow, too."""
        key = sender, receiver, kind
        self._found[key] = min(stream, self._found.get(key, stream))

    def has(self, sender: str, receiver: str, kind: type[Message]) -> bool:
        """Whether such messages are nothing new."""
        return (sender, receiver, kind) in self._found

    def runs_out(
        self, now: Time, at: Time, sender: str, receiver: str, kind: type[Message], length: Time | None = None
    ) -> Time:
        """What each of these messages renews for ``length``, and what runs out at ``at`` as it stands: when it may run
        out, if ever. Where it is not known for how long, it is no less than what is left of it now.
        """
        stream = self._found.get((sender, receiver, kind))
        if stream is None or at <= stream.due + stream.travel:
            return at
        left = at - now if length is None else length
        return inf if left > stream.period + stream.travel else stream.due + left
