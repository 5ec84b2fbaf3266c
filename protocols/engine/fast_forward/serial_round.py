"""Rounds during which nothing else happens at their node: these are computed as a whole (`rounds`)."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeAlias

from protocols.engine.fast_forward.cursors import LinkCursor, Turn
from protocols.engine.fast_forward.scheduled import ScheduledExchange
from protocols.engine.nodes import Message, Time

MANY = 8
"""Where so many calls of a round go to each peer on average, nearly every round has one for each of them."""


LastCall: TypeAlias = tuple[LinkCursor, LinkCursor, Time, Time, Time]
"""The last call of a round over one pair of links: there and back; when it was sent, arrived, was answered."""


def serial_round_of(scheduled: ScheduledExchange, turns: Sequence[Turn], most: Time) -> "SerialRound | None":
    """The rounds of an exchange, with what its calls use; None where they are of another kind. ``most``: how long a
    message travels, in milliseconds."""
    exchange = scheduled.exchange
    kinds = {(call.request, call.answer) for call in exchange.calls}
    if len(kinds) != 1 or (not exchange.in_turn and len(exchange.calls) > 1):
        return None
    ((request, answer),) = kinds
    return None if answer is None else SerialRound(request, answer, turns, most, exchange.about)


class SerialRound:
    """The rounds of an exchange whose calls all have an answer, are made when the one before is answered, and are of
    one kind; or there are none."""

    __slots__ = ("_groups", "_pair", "_turns", "answer", "at_most", "may_count", "request", "traffic")

    def __init__(
        self, request: type[Message], answer: type[Message], turns: Sequence[Turn], most: Time, about: Hashable = None
    ) -> None:
        """``most``: how long a message travels, in milliseconds."""
        self.request, self.answer = request, answer
        self._turns = turns
        self._groups = Counter(turns)
        """To how many calls are alike."""
        self.at_most = 2 * most * len(turns)
        """How long a round lasts."""
        links = [there.link for cursors in dict.fromkeys(turn.cursors for turn in self._groups) for there, _ in cursors]
        self.traffic = tuple((link.receiver, link.sender.name, request, about) for link in links)
        """All that may be sent."""
        chosen = [turn.choices for turn in self._groups if turn.choices is not None]
        self.may_count = len(set(chosen)) == len(chosen) and all(
            len(turn.cursors) == 1 or calls >= MANY * len(turn.cursors) for turn, calls in self._groups.items()
        )
        """Whether nearly every round uses all links, so that it does not matter when messages of earlier ones came; and
        the order of choices does not matter."""
        self._pair: tuple[LinkCursor, LinkCursor] | None = None
        """The cursors of all calls, where they are the same and nothing is chosen."""
        if len(self._groups) == 1 and len(turns[0].cursors) == 1 and not any(turn.choices for turn in turns):
            ((self._pair),) = turns[0].cursors

    def __bool__(self) -> bool:
        """Whether there are any calls."""
        return bool(self._turns)

    def count(self, now: Time) -> Time:
        """A round that begins now: when it ends. It does not matter in which order the links are used, only how often:
        so it is not known when the last message of each was sent."""
        for (choices, cursors), calls in self._groups.items():
            chosen = [calls] if choices is None else choices.tally(calls, len(cursors))
            for (there, back), each in zip(cursors, chosen, strict=False):
                now += there.travel(each) + back.travel(each)
        return now

    def compute(self, now: Time) -> tuple[Time, list[LastCall]]:
        """A round that begins now: when it ends, and the last call on each link."""
        if self._pair is not None:
            there, back = self._pair
            before = len(self._turns) - 1
            sent = now + there.travel(before) + back.travel(before)
            arrived = sent + there.travel(1)
            answered = arrived + back.travel(1)
            there.arrival, back.arrival = arrived, answered
            return answered, [(there, back, sent, arrived, answered)]
        last: dict[LinkCursor, LastCall] = {}
        for choices, cursors in self._turns:
            there, back = cursors[0 if choices is None else choices.next(len(cursors))]
            arrived = now + (there.drawn or there.draw()).pop()
            answered = arrived + (back.drawn or back.draw()).pop()
            last[there] = there, back, now, arrived, answered
            now = answered
        for there, back, _, arrived, answered in last.values():
            there.arrival, back.arrival = arrived, answered
        return now, list(last.values())
