"""The rounds of one node's exchanges, computed ahead: when they begin, when their messages arrive, where they stop.

Times are what the simulation would have come to: the same latency numbers, first in, first out on each link, in order
of time. Rounds of a fixed rate whose peers do not change are multiplied; only the last ones before something else
happens are computed one by one.
"""

from heapq import heapify, heappop, heappush
from math import ceil
from typing import NamedTuple, TypeAlias

from protocols.lanes import Alone, Lane, Turn
from protocols.links import Link
from protocols.nodes import Message, Time
from protocols.process import CLOCK, Entry, Process
from protocols.quiet import Exchange
from protocols.randomness import choice, number_below, stream_of


class Line(NamedTuple):
    """An exchange that is alive, and its timer as it is set now."""

    exchange: Exchange
    timer: Entry
    links: tuple[tuple[Link, ...], ...]
    """Of each call: to each of its peers."""


Due: TypeAlias = tuple[Time, Time, int, int, int, Time]
"""What the node does next: time, time of its creation, order, line, call, and the beginning of the round. Call 0: the
timer fires; else an answer has come and the next call goes out."""

RARE = 4
"""A line whose period is so many times that of the most frequent one is computed round by round."""

SOON = 8
"""So many entries of the heap are looked at first, before all of them are."""


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

    __slots__ = (
        "_alone",
        "_any",
        "_choices",
        "_dues",
        "_even",
        "_even_until",
        "_free",
        "_horizon",
        "_lanes",
        "_last",
        "_late",
        "_lines",
        "_open",
        "_orders",
        "_process",
        "_rounds",
        "_settle",
        "_spans",
        "_threads",
        "_unknown",
        "_widest",
    )

    def __init__(self, process: Process, lines: list[Line], horizon: Time) -> None:
        self._process, self._lines, self._horizon = process, lines, horizon
        self._dues: list[Due] = [
            (line.timer[0], line.timer[1], line.timer[2], at, 0, 0.0) for at, line in enumerate(lines)
        ]
        heapify(self._dues)
        self._rounds = [0] * len(lines)
        self._spans: list[tuple[Time, Time] | None] = [None] * len(lines)
        self._unknown: set[int] = set()
        """Lines whose last round was not computed by itself, or is not over."""
        self._any = False
        """Whether there was a round at all."""
        self._lanes: dict[Link, Lane] = {}
        self._last: Last = {}
        self._choices: dict[str, int] = {}
        self._orders = process.simulation.number
        self._free: Time = -1.0
        """When the last answer under way comes."""
        self._open = 0
        """Rounds whose next call is yet to go out."""
        self._threads: dict[str, Time] = {}
        least = min(line.exchange.period for line in lines)
        self._even = [
            not line.exchange.after_end
            and line.exchange.period < RARE * least
            and all(len(links) == 1 for links in line.links)
            for line in lines
        ]
        """Which lines are multiplied."""
        self._widest = max(line.exchange.period for line in lines if line.exchange.period < RARE * least)
        most = process.simulation.latency.most
        self._settle = 4 * most * max(len(each.exchange.calls) if each.exchange.in_turn else 1 for each in lines) + 1
        """Messages that were sent so long before do not matter to those of now, nor to whether one is under way."""
        self._late = horizon - max(least, self._settle)
        self._even_until: Time | None = None
        self._alone: list[Alone | None] = [self._as_alone(line) for line in lines]

    def passed(self) -> Passed | None:
        """The latest state before the horizon in which nothing is under way; None where no round is over by then."""
        dues, horizon = self._dues, self._horizon
        found: Passed | None = None
        while True:
            time = dues[0][0]
            if self._free < time and not self._open:
                if self._even_until is None or time < self._even_until:
                    self._multiply()
                    time = dues[0][0]
                # Nothing can go wrong with rounds that are alone: the state before need not be kept.
                while time < self._late and self._round_alone():
                    time = self._dues[0][0]
                    if self._even_until is None:
                        self._multiply()
                        time = dues[0][0]
                if self._any and not self._unknown and (time >= self._late or self._threads):
                    found = self._state()
            if time >= horizon or not self._step(heappop(dues)):
                return found

    def _multiply(self) -> None:
        """Nothing is under way: pass over the even rounds up to a while before what is not even."""
        first, reach = self._dues[0][0], self._widest + self._settle
        for due in self._dues[:SOON]:
            if due[0] <= first + reach and not self._even[due[3]]:
                self._even_until = due[0] - reach
                return
        until = min((due[0] for due in self._dues if not self._even[due[3]]), default=self._horizon)
        until = self._even_until = min(until, self._horizon) - reach
        if self._dues[0][0] >= until:
            return
        for at, due in enumerate(self._dues):
            line = due[3]
            if self._even[line] and due[0] < until:
                exchange, _, each_links = self._lines[line]
                rounds = ceil((until - due[0]) / exchange.period)
                time = due[0] + rounds * exchange.period
                self._dues[at] = time, time - exchange.period, due[2], line, 0, 0.0
                self._rounds[line] += rounds
                self._spans[line] = None
                self._unknown.add(line)
                self._any = True
                for call, (link,) in zip(exchange.calls, each_links, strict=True):
                    self._lane(link).skip(rounds)
                    if call.answer is not None:
                        self._lane(link.back).skip(rounds)
                    if call.label:
                        self._choices[call.label] = self._made(call.label) + rounds
        heapify(self._dues)

    def _step(self, due: Due) -> bool:
        """Compute what the node does now; False where it goes beyond the horizon or threads collide."""
        now, _, _, at, next_call, begun = due
        line = self._lines[at]
        exchange = line.exchange
        if next_call == 0:
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
        # What a timer does that has set itself again is the clock's doing.
        root = line.timer[3] if exchange.after_end or self._rounds[at] == 1 else CLOCK
        ended = now
        if exchange.in_turn and exchange.calls:
            ended = self._call(line, next_call, now, root)
            if next_call + 1 < len(exchange.calls):
                self._open += 1
                self._push(ended, now, at, next_call + 1, begun)
                self._busy(exchange, ended)
                return self._free < self._horizon
        else:
            for number in range(len(exchange.calls)):
                ended = max(ended, self._call(line, number, now, root))
        self._busy(exchange, ended)
        self._spans[at] = begun, ended
        self._unknown.discard(at)
        if exchange.after_end:
            self._push(ended + exchange.period, ended, at)
        if not self._even[at]:
            self._even_until = None
        return self._free < self._horizon

    def _as_alone(self, line: Line) -> Alone | None:
        exchange = line.exchange
        kinds = {(call.request, call.answer) for call in exchange.calls}
        if len(kinds) > 1 or any(answer is None for _, answer in kinds):
            return None
        if not exchange.in_turn and len(exchange.calls) > 1:
            return None
        simulation, name = self._process.simulation, self._process.name
        pairs: dict[tuple[Link, ...], tuple[tuple[Lane, Lane], ...]] = {}
        turns = []
        for call, links in zip(exchange.calls, line.links, strict=True):
            lanes = pairs.get(links)
            if lanes is None:
                lanes = pairs[links] = tuple((self._lane(link), self._lane(link.back)) for link in links)
            stream = stream_of(simulation.seed, "choose", name, call.label) if call.label else b""
            turns.append(Turn(call.label, stream, lanes))
        same = len(pairs) == 1 and len(turns[0].lanes) == 1 and not any(turn.label for turn in turns)
        at_most = 2 * simulation.latency.most * len(turns)
        return Alone(tuple(turns), at_most, turns[0].lanes[0] if same else None)

    def _round_alone(self) -> bool:
        """Nothing is under way: compute the next round as a whole, if nothing else is due until it is over at the
        latest. It is over before the horizon."""
        dues = self._dues
        now, _, _, at, _, _ = dues[0]
        alone = self._alone[at]
        if alone is None:
            return False
        over = now + alone.at_most
        if len(dues) > 1 and min(dues[1:3])[0] <= over:
            return False  # the second entry of a heap is one of these
        line = self._lines[at]
        exchange = line.exchange
        if exchange.thread and self._threads.get(exchange.thread, -1.0) >= now:
            return False
        heappop(dues)
        self._rounds[at] += 1
        self._any = True
        if not exchange.after_end:
            self._push(now + exchange.period, now, at)
        root = line.timer[3] if exchange.after_end or self._rounds[at] == 1 else CLOCK
        ended = self._turns(line, alone, now, root)
        self._free = max(self._free, ended) if alone.turns else self._free
        self._busy(exchange, ended)
        self._spans[at] = now, ended
        self._unknown.discard(at)
        if exchange.after_end:
            self._push(ended + exchange.period, ended, at)
        if not self._even[at]:
            self._even_until = None
        return True

    def _turns(self, line: Line, alone: Alone, now: Time, root: int) -> Time:
        """One call after the other: when the last answer comes."""
        last: dict[Lane, tuple[Lane, Time, Time, Time]] = {}
        if alone.pair is not None:
            there, back = alone.pair
            before = len(alone.turns) - 1
            sent = now + there.travel(before) + back.travel(before)
            arrived = sent + there.travel(1)
            now = arrived + back.travel(1)
            last[there] = back, sent, arrived, now
        else:
            choices = self._choices
            for label, stream, lanes in alone.turns:
                chosen = 0
                if label:
                    made = choices.get(label)
                    made = choices[label] = 1 + (self._made(label) if made is None else made)
                    if len(lanes) > 1:
                        chosen = choice(len(lanes), stream, made)
                there, back = lanes[chosen]
                arrived = now + (there.drawn or there.draw()).pop()
                answered = arrived + (back.drawn or back.draw()).pop()
                last[there] = back, now, arrived, answered
                now = answered
        order = line.timer[2]
        for there, (back, sent, arrived, answered) in last.items():
            call, link = line.exchange.calls[0], there.link
            assert call.answer is not None
            there.arrival, back.arrival = arrived, answered
            self._last[link.receiver, link.sender.name, call.request] = Came(arrived, sent, order, root)
            self._last[link.sender, link.receiver.name, call.answer] = Came(answered, arrived, order, root)
        return now

    def _call(self, line: Line, at: int, now: Time, root: int) -> Time:
        """A request and its answer: when the answer (without one, the request) arrives."""
        call, links = line.exchange.calls[at], line.links[at]
        link = links[0]
        if call.label:
            made = self._choices[call.label] = self._made(call.label) + 1
            if len(links) > 1:
                name = self._process.name
                link = links[number_below(len(links), self._process.simulation.seed, "choose", name, call.label, made)]
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

    def _push(self, time: Time, created: Time, line: int, call: int = 0, begun: Time = 0.0) -> None:
        self._orders += 1
        due: Due = (time, created, self._orders, line, call, begun)
        heappush(self._dues, due)

    def _lane(self, link: Link) -> Lane:
        lane = self._lanes.get(link)
        if lane is None:
            lane = self._lanes[link] = Lane(link)
        return lane

    def _made(self, label: str) -> int:
        """Choices made so far."""
        made = self._choices.get(label)
        return self._process.simulation.counts.get(("choose", self._process.name, label), 0) if made is None else made

    def _state(self) -> Passed:
        return Passed(
            tuple(self._dues),
            tuple(self._rounds),
            tuple(self._spans),
            tuple((lane.link, lane.number, lane.arrival) for lane in self._lanes.values()),
            self._last.copy(),
            self._choices.copy(),
        )
