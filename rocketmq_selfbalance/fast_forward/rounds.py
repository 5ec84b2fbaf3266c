"""The rounds of one node's exchanges, computed ahead: when they begin, when their messages arrive, where they stop.

Times are what the simulation would have come to: the same latency numbers, first in, first out on each link, in order
of time. Rounds during which nothing else happens at their node are computed as a whole.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import TypeAlias, cast

from protocols.engine.links import Link
from protocols.engine.nodes import Message, Time
from protocols.engine.process import CLOCK, Process
from rocketmq_selfbalance.fast_forward.contract import Exchange
from rocketmq_selfbalance.fast_forward.scheduled import (
    Came,
    Cursors,
    Due,
    Last,
    LinkCursor,
    Passed,
    ScheduledExchange,
    Turn,
    volleys,
)


class Rounds:
    """The exchanges of one process, from now on until just before ``horizon``."""

    def __init__(self, process: Process, schedule: list[ScheduledExchange], horizon: Time) -> None:
        self._schedule, self._horizon = schedule, horizon
        self._dues: list[Due] = [
            (scheduled.timer[0], scheduled.timer[1], scheduled.timer[2], at, 0, 0.0)
            for at, scheduled in enumerate(schedule)
        ]
        heapify(self._dues)
        self._rounds = [0] * len(schedule)
        self._spans: list[tuple[Time, Time] | None] = [None] * len(schedule)
        self._last: Last = {}
        self._orders = process.simulation.number
        self._free: Time = -1.0
        """When the last answer under way comes."""
        self._open = 0
        """Calls and answers that are yet to go out."""
        self._asked: dict[int, LinkCursor] = {}
        """Order of a due to the cursor of the link on which the answer goes out then."""
        self._threads: dict[str, Time] = {}
        self._cursors = Cursors(process)
        self._turns = [self._cursors.turns_of(scheduled) for scheduled in schedule]
        most = process.simulation.latency.most
        exchanges = [scheduled.exchange for scheduled in schedule]
        self._serial = [
            SerialRound(turns, most) if exchange.in_turn and turns else None
            for exchange, turns in zip(exchanges, self._turns, strict=True)
        ]
        self._volleys = [() if scheduled.exchange.in_turn else volleys(scheduled) for scheduled in schedule]
        self._both_ways = len({scheduled.process for scheduled in schedule}) > 1
        """Whether some rounds begin at the other end: then the order of the requests is not that of the answers."""
        settling = 4 * most * max(len(exchange.calls) if exchange.in_turn else 1 for exchange in exchanges) + 1
        self._late = horizon - max(min(exchange.period for exchange in exchanges), settling)
        """From then on it matters whether anything is under way."""

    def passed(self) -> Passed | None:
        """The latest state before the horizon in which nothing is under way; None where no round is over by then."""
        dues, horizon = self._dues, self._horizon
        found: Passed | None = None
        while True:
            time = dues[0][0]
            if self._free < time and not self._open:
                # Nothing can go wrong with rounds that are alone: the state before need not be kept.
                while time < self._late and self._serial_round():
                    time = dues[0][0]
                if any(self._rounds) and (time >= self._late or self._threads):
                    found = self._state()
            if time >= horizon or not self._step(heappop(dues)):
                return found

    def _step(self, due: Due) -> bool:
        """Compute what happens now; False where it goes beyond the horizon or threads collide."""
        now, _, order, at, call, begun = due
        scheduled = self._schedule[at]
        exchange = scheduled.exchange
        if call == 0:
            begun = now
            self._rounds[at] += 1
            if exchange.thread and self._threads.get(exchange.thread, -1.0) >= now:
                return False
            if not exchange.after_end:
                self._push(now + exchange.period, now, at)
        else:
            self._open -= 1
        if not exchange.in_turn:
            root = self._root(scheduled, at)
            for link, kind, messages in self._volleys[at]:
                self._came(scheduled, link, kind, self._cursors.of(link).send_at_once(now, messages), now, root)
            self._over(scheduled, at, now, now)
        elif call < 0:
            answered = self._answer(scheduled, at, -call - 1, self._asked.pop(order), now)
            self._go_on(scheduled, at, -call, now, answered, begun)
        else:
            self._go_on(scheduled, at, call, None, now, begun)
        return self._free < self._horizon

    def _go_on(
        self, scheduled: ScheduledExchange, at: int, call: int, sent: Time | None, now: Time, begun: Time
    ) -> None:
        """The calls of a round from this one on, one after the other, until something else comes first. ``sent``: when
        the answer was sent that comes now; None where nothing can have come first."""
        exchange, dues, calls = scheduled.exchange, self._dues, len(scheduled.exchange.calls)
        while call < calls:
            if sent is not None and (not dues or dues[0][0] <= now or self._free >= self._horizon):
                self._open += 1
                self._push(now, sent, at, call, begun)
                self._busy(exchange, now)
                return
            answered = self._call(scheduled, at, call, now, begun)
            if answered is None:
                self._busy(exchange, now)
                return
            sent, now, call = now, answered, call + 1
        self._over(scheduled, at, begun, now)

    def _root(self, scheduled: ScheduledExchange, at: int) -> int:
        """What a timer does that has set itself again is the clock's doing."""
        return scheduled.timer[3] if scheduled.exchange.after_end or self._rounds[at] == 1 else CLOCK

    def _over(self, scheduled: ScheduledExchange, at: int, begun: Time, ended: Time) -> None:
        exchange = scheduled.exchange
        self._busy(exchange, ended)
        self._spans[at] = begun, ended
        if exchange.after_end:
            self._push(ended + exchange.period, ended, at)

    def _serial_round(self) -> bool:
        """Nothing is under way: compute the next round as a whole, if nothing else is due until it is over at the
        latest. It is over before the horizon."""
        dues = self._dues
        now, _, _, at, _, _ = dues[0]
        serial, scheduled = self._serial[at], self._schedule[at]
        exchange = scheduled.exchange
        if serial is None and exchange.calls:
            return False
        over = now if serial is None else now + serial.at_most
        if len(dues) > 1 and min(dues[1:3])[0] <= over:
            return False  # the second entry of a heap is one of these
        if exchange.thread and self._threads.get(exchange.thread, -1.0) >= now:
            return False
        heappop(dues)
        self._rounds[at] += 1
        if not exchange.after_end:
            self._push(now + exchange.period, now, at)
        if serial is None:
            self._over(scheduled, at, now, now)
        else:
            ended, last = serial.compute(now)
            self._free = max(self._free, ended)
            call, root = exchange.calls[0], self._root(scheduled, at)
            for there, back, sent, arrived, answered in last:
                self._came(scheduled, there.link, call.request, arrived, sent, root)
                self._came(scheduled, back.link, call.answer, answered, arrived, root)
            self._over(scheduled, at, now, ended)
        return True

    def _call(self, scheduled: ScheduledExchange, at: int, number: int, now: Time, begun: Time) -> Time | None:
        """A request and its answer: when the answer arrives. None where others may send before the request arrives what
        the answer comes after: then it is yet to be sent."""
        call, (choices, cursors) = scheduled.exchange.calls[number], self._turns[at][number]
        there, back = cursors[0 if choices is None else choices.next(len(cursors))]
        arrives = there.send(now)
        self._came(scheduled, there.link, call.request, arrives, now, self._root(scheduled, at))
        if self._both_ways and self._dues and self._dues[0][0] <= arrives:
            self._open += 1
            self._push(arrives, now, at, -number - 1, begun)
            self._asked[self._orders] = back
            return None
        return self._answer(scheduled, at, number, back, arrives)

    def _answer(self, scheduled: ScheduledExchange, at: int, number: int, back: LinkCursor, now: Time) -> Time:
        arrives = back.send(now)
        self._came(
            scheduled, back.link, scheduled.exchange.calls[number].answer, arrives, now, self._root(scheduled, at)
        )
        return arrives

    def _came(
        self, scheduled: ScheduledExchange, link: Link, kind: type[Message] | None, time: Time, sent: Time, root: int
    ) -> None:
        assert kind is not None, "calls that are made in turn are answered"
        traffic = cast(Process, link.receiver), link.sender.name, kind, scheduled.exchange.about
        self._last[traffic] = Came(time, sent, scheduled.timer[2], root)
        if time > self._free:
            self._free = time

    def _busy(self, exchange: Exchange, until: Time) -> None:
        if exchange.thread:
            self._threads[exchange.thread] = until

    def _push(self, time: Time, created: Time, scheduled: int, call: int = 0, begun: Time = 0.0) -> None:
        self._orders += 1
        due: Due = (time, created, self._orders, scheduled, call, begun)
        heappush(self._dues, due)

    def _state(self) -> Passed:
        return Passed(
            tuple(self._dues),
            tuple(self._rounds),
            tuple(self._spans),
            self._cursors.used(),
            self._last.copy(),
            self._cursors.made(),
        )


LastCall: TypeAlias = tuple[LinkCursor, LinkCursor, Time, Time, Time]
"""The last call of a round over one pair of links: there and back; when it was sent, arrived, was answered."""


class SerialRound:
    """The rounds of an exchange whose calls are made when the one before is answered (`Exchange.in_turn`)."""

    __slots__ = ("_pair", "_turns", "at_most")

    def __init__(self, turns: Sequence[Turn], most: Time) -> None:
        """``turns``: what its calls use, at least one. ``most``: how long a message travels, in milliseconds."""
        self._turns = turns
        self.at_most = 2 * most * len(turns)
        """How long a round lasts."""
        self._pair: tuple[LinkCursor, LinkCursor] | None = None
        """The cursors of all calls, where they are the same and nothing is chosen."""
        if len(set(turns)) == 1 and len(turns[0].cursors) == 1 and turns[0].choices is None:
            (self._pair,) = turns[0].cursors

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
