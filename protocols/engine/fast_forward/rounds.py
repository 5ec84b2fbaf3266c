"""The rounds of one node's exchanges, computed ahead: when they begin, when their messages arrive, where they stop.

Times are what the simulation would have come to: the same latency numbers, first in, first out on each link, in order
of time. Rounds of a fixed rate whose peers do not change are multiplied; only the last ones before something else
happens are computed one by one.
"""

from heapq import heapify, heappop, heappush
from math import ceil

from protocols.engine.fast_forward.contract import Exchange
from protocols.engine.fast_forward.cursors import Cursors, LinkCursor
from protocols.engine.fast_forward.plan import plan_of
from protocols.engine.fast_forward.scheduled import Came, Due, Last, Passed, ScheduledExchange, Traffic
from protocols.engine.links import Link
from protocols.engine.nodes import Message, Time
from protocols.engine.process import CLOCK, Process

SOON = 8
"""So many entries of the heap are looked at first, before all of them are."""


def passed_over(process: Process, schedule: list[ScheduledExchange], horizon: Time) -> Passed | None:
    """The latest state before the horizon in which nothing is under way; None where no round is over by then."""
    rounds = Rounds(process, schedule, horizon)
    passed = rounds.passed()
    if passed is None and rounds.has_counted:
        # Of some messages it was not known when the last one came.
        passed = Rounds(process, schedule, horizon, may_count=False).passed()
    return passed


class Rounds:
    """The exchanges of one process, from now on until just before ``horizon``.

    Rounds that are alone, and of which another one follows, are counted (`SerialRound.count`) where this saves
    anything, unless ``may_count`` is False.
    """

    def __init__(
        self, process: Process, schedule: list[ScheduledExchange], horizon: Time, *, may_count: bool = True
    ) -> None:
        self._process, self._schedule, self._horizon, self._may_count = process, schedule, horizon, may_count
        self._dues: list[Due] = [
            (scheduled.timer[0], scheduled.timer[1], scheduled.timer[2], at, 0, 0.0)
            for at, scheduled in enumerate(schedule)
        ]
        heapify(self._dues)
        self._rounds = [0] * len(schedule)
        self._spans: list[tuple[Time, Time] | None] = [None] * len(schedule)
        self._unknown: set[int] = set()
        """Exchanges whose last round was not computed by itself, or is not over."""
        self._unclear: set[Traffic] = set()
        """Of these it is not known when the last one was sent."""
        self.has_counted = False
        """Whether rounds were counted instead of computed."""
        self._any = False
        """Whether there was a round at all."""
        self._last: Last = {}
        self._orders = process.simulation.number
        self._free: Time = -1.0
        """When the last answer under way comes."""
        self._open = 0
        """Calls and answers that are yet to go out."""
        self._asked: dict[int, LinkCursor] = {}
        """Order of a due to the cursor of the link on which the answer goes out then."""
        self._left, self._ends = [0] * len(schedule), [0.0] * len(schedule)
        """Of each whose calls are sent all at once: how many answers are yet to go out; when the others come."""
        self._threads: dict[str, Time] = {}
        self._cursors = Cursors(process)
        plan = self._plan = plan_of(process, schedule, self._cursors)
        self._late = horizon - max(plan.least, plan.settling)
        self._even_until: Time | None = None

    def passed(self) -> Passed | None:
        """See `passed_over`."""
        dues, horizon = self._dues, self._horizon
        found: Passed | None = None
        while True:
            time = dues[0][0]
            if self._free < time and not self._open:
                if self._even_until is None or time < self._even_until:
                    self._multiply()
                    time = dues[0][0]
                # Nothing can go wrong with rounds that are alone: the state before need not be kept.
                while time < self._late and self._serial_round():
                    time = self._dues[0][0]
                    if self._even_until is None:
                        self._multiply()
                        time = dues[0][0]
                known = self._any and not self._unknown and not self._unclear
                if known and (time >= self._late or self._threads):
                    found = self._state()
            if time >= horizon or not self._step(heappop(dues)):
                return found

    def _multiply(self) -> None:
        """Nothing is under way: pass over the even rounds up to a while before what is not even."""
        first, reach = self._dues[0][0], self._plan.widest + self._plan.settling
        for due in self._dues[:SOON]:
            if due[0] <= first + reach and not self._plan.even[due[3]]:
                self._even_until = due[0] - reach
                return
        until = min((due[0] for due in self._dues if not self._plan.even[due[3]]), default=self._horizon)
        until = self._even_until = min(until, self._horizon) - reach
        if self._dues[0][0] >= until:
            return
        for at, due in enumerate(self._dues):
            scheduled = due[3]
            if self._plan.even[scheduled] and due[0] < until:
                exchange = self._schedule[scheduled].exchange
                rounds = ceil((until - due[0]) / exchange.period)
                time = due[0] + rounds * exchange.period
                self._dues[at] = time, time - exchange.period, due[2], scheduled, 0, 0.0
                self._rounds[scheduled] += rounds
                self._spans[scheduled] = None
                self._unknown.add(scheduled)
                self._any = True
                for call, (choices, ((there, back),)) in zip(exchange.calls, self._plan.turns[scheduled], strict=True):
                    there.skip(rounds)
                    if call.answer is not None:
                        back.skip(rounds)
                    if choices is not None:
                        choices.made += rounds
        heapify(self._dues)

    def _step(self, due: Due) -> bool:
        """Compute what happens now; False where it goes beyond the horizon or threads collide."""
        now, _, order, at, call, begun = due
        scheduled = self._schedule[at]
        exchange = scheduled.exchange
        if call == 0:
            begun = now
            self._rounds[at] += 1
            self._any = True
            if self._spans[at] is None:
                self._unknown.add(at)
            if exchange.thread and self._threads.get(exchange.thread, -1.0) >= now:
                return False
            if not exchange.after_end:
                self._push(now + exchange.period, now, at)
        else:
            self._open -= 1
        volleys = self._plan.volleys[at]
        if volleys is not None:
            root = self._root(scheduled, at)
            for link, kind, messages in volleys:
                self._came(scheduled, link, kind, self._cursors.of(link).send_at_once(now, messages), now, root)
            self._over(scheduled, at, now, now)
        elif call < 0:
            answered = self._answer(scheduled, at, -call - 1, self._asked.pop(order), now)
            if exchange.in_turn:
                self._go_on(scheduled, at, -call, now, answered, begun)
            else:
                self._left[at] -= 1
                self._ends[at] = max(self._ends[at], answered)
                if not self._left[at]:
                    self._over(scheduled, at, begun, self._ends[at])
        elif exchange.in_turn:
            self._go_on(scheduled, at, call, None, now, begun)
        else:
            found = [self._call(scheduled, at, number, now, begun) for number in range(len(exchange.calls))]
            self._left[at] = found.count(None)
            self._ends[at] = max([now, *[each for each in found if each is not None]])
            if not self._left[at]:
                self._over(scheduled, at, begun, self._ends[at])
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
        """A round is over."""
        exchange = scheduled.exchange
        self._busy(exchange, ended)
        self._spans[at] = begun, ended
        self._unknown.discard(at)
        if exchange.after_end:
            self._push(ended + exchange.period, ended, at)
        if not self._plan.even[at]:
            self._even_until = None

    def _serial_round(self) -> bool:
        """Nothing is under way: compute the next round as a whole, if nothing else is due until it is over at the
        latest. It is over before the horizon."""
        dues = self._dues
        now, _, _, at, _, _ = dues[0]
        serial, scheduled = self._plan.serial[at], self._schedule[at]
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
        self._any = True
        if not exchange.after_end:
            self._push(now + exchange.period, now, at)
        if serial is None:
            self._over(scheduled, at, now, now)
        elif self._may_count and serial.may_count and over + exchange.period + serial.at_most < self._late:
            ended = serial.count(now)
            self._free = max(self._free, ended)
            self._over(scheduled, at, now, ended)
            self._unclear.update(serial.traffic)
            self.has_counted = True
        else:
            ended, last = serial.compute(now)
            self._free = max(self._free, ended)
            root = self._root(scheduled, at)
            for there, back, sent, arrived, answered in last:
                self._came(scheduled, there.link, serial.request, arrived, sent, root)
                self._came(scheduled, back.link, serial.answer, answered, arrived, root)
            self._over(scheduled, at, now, ended)
        return True

    def _call(self, scheduled: ScheduledExchange, at: int, number: int, now: Time, begun: Time) -> Time | None:
        """A request and its answer: when the answer (without one, the request) arrives. None where others may send
        before the request arrives what the answer comes after: then it is yet to be sent."""
        call, (choices, cursors) = scheduled.exchange.calls[number], self._plan.turns[at][number]
        there, back = cursors[0 if choices is None else choices.next(len(cursors))]
        arrives = there.send(now)
        self._came(scheduled, there.link, call.request, arrives, now, self._root(scheduled, at))
        if call.answer is None:
            return now
        if self._plan.both_ways and self._dues and self._dues[0][0] <= arrives:
            self._open += 1
            self._push(arrives, now, at, -number - 1, begun)
            self._asked[self._orders] = back
            return None
        return self._answer(scheduled, at, number, back, arrives)

    def _answer(self, scheduled: ScheduledExchange, at: int, number: int, back: LinkCursor, now: Time) -> Time:
        """A request has arrived: when its answer does."""
        answer = scheduled.exchange.calls[number].answer
        assert answer is not None
        arrives = back.send(now)
        self._came(scheduled, back.link, answer, arrives, now, self._root(scheduled, at))
        return arrives

    def _came(
        self, scheduled: ScheduledExchange, link: Link, kind: type[Message], time: Time, sent: Time, root: int
    ) -> None:
        """A message came on this link."""
        traffic = link.receiver, link.sender.name, kind, scheduled.exchange.about
        self._last[traffic] = Came(time, sent, scheduled.timer[2], root)
        if self._unclear:
            self._unclear.discard(traffic)
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
