"""The rounds of one node's exchanges, computed ahead: when they begin, when their messages arrive, where they stop.

Times are what the simulation would have come to: the same latency numbers, first in, first out on each link, in order
of time. Rounds of a fixed rate whose peers do not change are multiplied; only the last ones before something else
happens are computed one by one.
"""

from heapq import heapify, heappop, heappush
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from protocols.links import Link
from protocols.nodes import Message, Time
from protocols.process import CLOCK, Entry, Process
from protocols.quiet import Exchange
from protocols.randomness import number_below

if TYPE_CHECKING:
    from protocols.simulation import Simulation


class Line(NamedTuple):
    """An exchange that is alive, and its timer as it is set now."""

    exchange: Exchange
    timer: Entry
    links: tuple[tuple[Link, ...], ...]
    """Of each call: to each of its peers."""


class Due(NamedTuple):
    """What the node does next: a timer fires (call 0), or an answer has come and the next call goes out."""

    time: Time
    created: Time
    order: int
    line: int
    call: int
    begun: Time


class Lane:
    """How far a link has been used: number of the next message, arrival of the last."""

    __slots__ = ("arrival", "link", "number")

    def __init__(self, link: Link, number: int, arrival: Time) -> None:
        self.link, self.number, self.arrival = link, number, arrival

    def send(self, now: Time) -> Time:
        """One more message: when it arrives."""
        arrival = now + self.link.latency(self.number)
        self.number += 1
        if arrival > self.arrival:
            self.arrival = arrival
        return self.arrival


class Came(NamedTuple):
    """A message: when it came and was sent; ``order`` is the number of the timer that began it all."""

    time: Time
    sent: Time
    order: int
    root: int


Last: TypeAlias = dict[tuple[Process, str, type[Message]], Came]
"""Receiver, sender and type to the last message of them."""


class Passed(NamedTuple):
    """What was passed over: the state between two rounds, when nothing is under way."""

    dues: tuple[Due, ...]
    """The timers."""
    rounds: tuple[int, ...]
    """Of each line."""
    spans: tuple[tuple[Time, Time] | None, ...]
    """Beginning and end of the last round of each line; None where there was none."""
    lanes: tuple[tuple[Link, int, Time], ...]
    """Link, number of the next message, arrival of the last one."""
    last: Last
    choices: dict[str, int]
    """Label to how many choices were made so far."""


class Rounds:
    """The exchanges of one process, from now on until just before ``horizon``."""

    def __init__(self, simulation: "Simulation", process: Process, lines: list[Line], horizon: Time) -> None:
        self._simulation, self._process, self._lines, self._horizon = simulation, process, lines, horizon
        self._dues = [Due(line.timer[0], line.timer[1], line.timer[2], at, 0, 0.0) for at, line in enumerate(lines)]
        heapify(self._dues)
        self._rounds = [0] * len(lines)
        self._spans: list[tuple[Time, Time] | None] = [None] * len(lines)
        self._lanes: dict[Link, Lane] = {}
        self._last: Last = {}
        self._choices: dict[str, int] = {}
        self._orders = simulation.number
        self._free: Time = -1.0
        """When the last answer under way comes."""
        self._threads: dict[str, Time] = {}
        self._even = [not each.exchange.after_end and all(len(links) == 1 for links in each.links) for each in lines]
        self._widest = max((line.exchange.period for line in lines), default=0.0)

    def passed(self) -> Passed | None:
        """The latest state before the horizon in which nothing is under way; None where no round is over by then."""
        dues, horizon = self._dues, self._horizon
        if not dues or dues[0].time >= horizon:
            return None
        found: Passed | None = None
        late = horizon - 2 * self._widest
        while dues:
            if self._free < dues[0].time and not any(due.call for due in dues):
                self._multiply()
                if dues[0].time >= late and any(self._rounds) and self._is_known():
                    found = self._state()
            if dues[0].time >= horizon or not self._step(heappop(dues)):
                break
        return found

    def _multiply(self) -> None:
        """Nothing is under way: pass over the even rounds up to a while before what is not even."""
        others = [due.time for due in self._dues if not self._even[due.line]]
        widest = max((self._lines[due.line].exchange.period for due in self._dues if self._even[due.line]), default=0.0)
        until = min(others, default=self._horizon)
        until = min(until, self._horizon) - 2 * widest
        if self._dues[0].time >= until:
            return
        moved = []
        for due in self._dues:
            if self._even[due.line] and due.time < until:
                line = self._lines[due.line]
                period = line.exchange.period
                rounds = ceil((until - due.time) / period)
                time = due.time + rounds * period
                self._rounds[due.line] += rounds
                self._spans[due.line] = None
                for call, (link,) in zip(line.exchange.calls, line.links, strict=True):
                    self._lane(link).number += rounds
                    if call.answer is not None:
                        self._lane(link.back).number += rounds
                    if call.label:
                        self._choices[call.label] = self._made(call.label) + rounds
                moved.append(due._replace(time=time, created=time - period))
            else:
                moved.append(due)
        self._dues[:] = moved
        heapify(self._dues)

    def _step(self, due: Due) -> bool:
        """Compute what the node does now; False where it goes beyond the horizon or threads collide."""
        line = self._lines[due.line]
        exchange, now = line.exchange, due.time
        begun = due.begun
        if due.call == 0:
            begun = now
            self._rounds[due.line] += 1
            if exchange.thread and self._threads.get(exchange.thread, -1.0) >= now:
                return False
            if not exchange.after_end:
                self._push(now + exchange.period, now, due.line)
        # What a timer does that has set itself again is the clock's doing.
        root = line.timer[3] if exchange.after_end or self._rounds[due.line] == 1 else CLOCK
        calls = exchange.calls
        ended = now
        if exchange.in_turn and calls:
            ended = self._call(line, due.call, now, root)
            if due.call + 1 < len(calls):
                self._orders += 1
                heappush(self._dues, Due(ended, now, self._orders, due.line, due.call + 1, begun))
                self._busy(exchange, ended)
                return self._free < self._horizon
        else:
            for at in range(len(calls)):
                ended = max(ended, self._call(line, at, now, root))
        self._busy(exchange, ended)
        self._spans[due.line] = begun, ended
        if exchange.after_end:
            self._push(ended + exchange.period, ended, due.line)
        return self._free < self._horizon

    def _call(self, line: Line, at: int, now: Time, root: int) -> Time:
        """A request and its answer: when the answer (without one, the request) arrives."""
        call, links = line.exchange.calls[at], line.links[at]
        link = links[0]
        if call.label:
            made = self._choices[call.label] = self._made(call.label) + 1
            if len(links) > 1:
                name = self._process.name
                link = links[number_below(len(links), self._simulation.seed, "choose", name, call.label, made)]
        arrives = self._lane(link).send(now)
        order = line.timer[2]
        self._last[link.receiver, link.sender.name, call.request] = Came(arrives, now, order, root)
        if call.answer is not None:
            sent, arrives = arrives, self._lane(link.back).send(arrives)
            self._last[link.sender, link.receiver.name, call.answer] = Came(arrives, sent, order, root)
        self._free = max(self._free, arrives)
        return now if call.answer is None else arrives

    def _busy(self, exchange: Exchange, until: Time) -> None:
        if exchange.thread:
            self._threads[exchange.thread] = until

    def _push(self, time: Time, created: Time, line: int) -> None:
        self._orders += 1
        heappush(self._dues, Due(time, created, self._orders, line, 0, 0.0))

    def _lane(self, link: Link) -> Lane:
        lane = self._lanes.get(link)
        if lane is None:
            lane = self._lanes[link] = Lane(link, link.sent, link.last_arrival)
        return lane

    def _made(self, label: str) -> int:
        """Choices made so far."""
        made = self._choices.get(label)
        return self._simulation.counts.get(("choose", self._process.name, label), 0) if made is None else made

    def _is_known(self) -> bool:
        """Whether the last round of each line was computed by itself."""
        return all(span is not None or not rounds for span, rounds in zip(self._spans, self._rounds, strict=True))

    def _state(self) -> Passed:
        return Passed(
            tuple(self._dues),
            tuple(self._rounds),
            tuple(self._spans),
            tuple((lane.link, lane.number, lane.arrival) for lane in self._lanes.values()),
            self._last.copy(),
            self._choices.copy(),
        )
