"""Looks out for quiet times and passes over them; what that means and what nodes promise: `protocols.engine.quiet`.

Looking costs something for every entry of the heap. Between two looks in vain as many are handled at least (fewer where
somebody was soon found who is not at rest), and where all are at rest the next look comes after the disturbance: a busy
run loses little, a quiet one gains nearly all.
"""

import gc
from collections.abc import Iterator, Sequence
from heapq import heappush
from typing import TYPE_CHECKING, Any, NamedTuple

from protocols.engine.catching_up import catch_up, count
from protocols.engine.flows import Currents
from protocols.engine.lines import Line, Passed
from protocols.engine.links import Link
from protocols.engine.nodes import Message, Time
from protocols.engine.process import CLOCK, Entry, Process
from protocols.engine.quiet import Call, Exchange, Rest
from protocols.engine.rounds import passed_over
from protocols.engine.streams import Streams

if TYPE_CHECKING:
    from protocols.engine.simulation import Simulation

PAUSE_MS = 100.0
"""Virtual time from a look to the next."""

MANY = 16
"""Where so many could pass over rounds for one that could not, it is not worth another look before the horizon."""

ASKING = 16
"""To ask a process costs what so many events do."""

LIVELY = 4
"""Where there is a message under way for so many processes, a look is not worth the while,"""

UNLIKELY = 8
"""before so many times the heap's entries were handled: what is under way may be reading without an end."""


class Lookout:
    """One entry of the heap that comes again and again; it has no number and changes none."""

    __slots__ = ("_asked", "_last_number", "_look", "_price", "_restless", "_scheduled", "_simulation", "_until")

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        self._look = self.look
        self._scheduled = False
        self._until: Time = 0.0
        self._last_number = 0
        """The simulation's number at the last look."""
        self._price = 0
        """How much it has to rise to the next."""
        self._asked = 0
        self._restless = ""
        """Who was not at rest at the last look, if anybody."""

    def begin(self, until: Time) -> None:
        """The simulation is going to run until then."""
        self._until = until
        if not self._scheduled:
            self._schedule(self._simulation.now + PAUSE_MS)

    def look(self, _: None) -> None:
        """Pass over rounds, if everybody is at rest and it is worth the while."""
        simulation = self._simulation
        self._scheduled = False
        following = simulation.now + PAUSE_MS
        size = len(simulation.heap) + len(simulation.processes)
        handled = simulation.number - self._last_number
        if handled >= self._price and (handled >= UNLIKELY * size or not self._is_lively()):
            # All that is made here lives on, or goes at once: there is nothing for the collector to find.
            collecting = gc.isenabled()
            gc.disable()
            try:
                passed, horizon = self._pass_over()
            finally:
                if collecting:
                    gc.enable()
            self._last_number = simulation.number
            self._price = 0 if passed else self._asked * ASKING if self._restless else size
            following = max(following, horizon + PAUSE_MS)
        self._schedule(following)

    def _schedule(self, at: Time) -> None:
        self._scheduled = True
        entry: Entry = (at, -1.0, 0, CLOCK, self._look, None)
        heappush(self._simulation.heap, entry)

    def _is_lively(self) -> bool:
        """Whether so many messages are under way that most processes have begun rounds: these are simulated."""
        under_way = sum([type(entry[4]) is Link for entry in self._simulation.heap])
        return under_way * LIVELY > len(self._simulation.processes)

    def _pass_over(self) -> tuple[bool, Time]:
        """Whether anything was passed over, and until when another look is not worth the while."""
        simulation = self._simulation
        world = World.of(simulation, self._restless)
        if isinstance(world, Restless):
            self._restless, self._asked = world
            return False, simulation.now
        self._restless = ""
        currents = Currents(simulation, world.rests)
        alive, busy = world.alive(currents)
        horizon = world.disturbance(alive, currents, self._until)
        found: list[tuple[Process, list[Line], Passed]] = []
        missed = 0
        for name, lines in alive.items():
            if lines and min(map(_fourth_round, lines)) < horizon:
                process = simulation.processes[name]
                passed = None if name in busy else passed_over(process, lines, horizon)
                if passed is not None:
                    found.append((process, lines, passed))
                else:
                    missed += 1
        followed = currents.pass_over(horizon)
        if found:
            now = simulation.now
            for process, lines, passed in found:
                count(simulation, process, lines, passed)
            catch_up(simulation, found)
            simulation.now = now
            world.check_guards(found)
        if followed:
            currents.draw()
            return True, horizon
        return bool(found), simulation.now if missed > len(found) / MANY else horizon


class Restless(NamedTuple):
    """Who is not at rest or cannot tell, and how many were asked until one was found."""

    name: str
    asked: int


class World(NamedTuple):
    """Everybody at rest."""

    simulation: "Simulation"
    rests: dict[str, Rest]
    """Of the processes that run and do not hang."""

    @classmethod
    def of(cls, simulation: "Simulation", first: str) -> "World | Restless":
        """One who is not at rest, if there is one; ``first`` is asked first."""
        rests: dict[str, Rest] = {}
        processes = simulation.processes
        for process in [*([processes[first]] if first in processes else []), *processes.values()]:
            if not process.hung:
                tell = getattr(process.node, "rest", None)
                rest = None if tell is None else tell(simulation.now)
                if rest is None:
                    return Restless(process.name, len(rests) + 1)
                rests[process.name] = rest
        return cls(simulation, {name: rests[name] for name in processes if name in rests})

    def alive(self, currents: Currents) -> tuple[dict[str, list[Line]], set[str]]:
        """Process to its exchanges that are alive; those processes of which messages are under way."""
        now, carrying = self.simulation.now, self._carrying(currents)
        alive: dict[str, list[Line]] = {}
        busy: set[str] = set()
        for name, rest in self.rests.items():
            process = self.simulation.processes[name]
            lines: list[Line] = []
            waiting: list[Line] = []
            under_way = False
            for exchange in rest.exchanges:
                links = self._links(process, exchange)
                if links is None:
                    continue
                if carrying is None:
                    under_way = under_way or any(
                        link.last_arrival >= now or link.back.last_arrival >= now for each in links for link in each
                    )
                elif carrying:
                    under_way = under_way or any(
                        link in carrying or link.back in carrying for each in links for link in each
                    )
                timer = process.timers.get(exchange.timer, _NEVER)
                (waiting if exchange.awaiting else lines).append(Line(exchange, timer, links))
            if under_way:
                # What is awaited will come.
                busy.add(name)
                lines += waiting
            alive[name] = [line for line in lines if line.timer is not _NEVER or under_way]
        return alive, busy

    def _carrying(self, currents: Currents) -> set[Link] | None:
        """The links with messages under way that do not belong to flows; None where there are no flows, so that the
        links' last arrivals tell it."""
        if not currents.alive:
            return None
        return {
            place
            for _, _, _, _, place, what in self.simulation.heap
            if type(place) is Link and not currents.has_message(place, what)
        }

    def disturbance(self, alive: dict[str, list[Line]], currents: Currents, until: Time) -> Time:
        """When something happens that is not quiet; ``until`` at the latest."""
        streams = Streams(alive, self.simulation.latency.most)
        timers, others = self._loud_timers(alive, streams, currents), self._loud(streams, currents)
        return min(until, min(timers, default=until), min(others, default=until))

    def _loud_timers(self, alive: dict[str, list[Line]], streams: Streams, currents: Currents) -> Iterator[Time]:
        now = self.simulation.now
        for name, rest in self.rests.items():
            exchanges = {line.exchange.timer for line in alive[name]}
            for timer, entry in self.simulation.processes[name].timers.items():
                if timer not in exchanges and timer not in rest.idle and not currents.has_timer(name, timer):
                    guard = rest.guarded.get(timer)
                    if guard is None:
                        yield entry[0]
                    else:
                        yield streams.runs_out(now, entry[0], guard[0], name, guard[1])
            for (sender, kind), at in rest.missed.items():
                yield streams.runs_out(now, at, sender, name, kind)

    def _loud(self, streams: Streams, currents: Currents) -> Iterator[Time]:
        """Entries of the heap that are no timers."""
        for due, _, _, _, place, what in self.simulation.heap:
            if type(place) is Link:
                heard = not place.receiver.hung and not place.shut
                known = streams.has(place.sender.name, place.receiver.name, type(what))
                if heard and (currents.is_loud(place, what) or not (known or currents.has_message(place, what))):
                    yield due
            elif type(place) is not Process and type(getattr(place, "__self__", None)) is not Lookout:
                yield due

    def _links(self, process: Process, exchange: Exchange) -> tuple[tuple[Link, ...], ...] | None:
        """Of each call to each peer; None where the exchange is not alive."""
        if exchange.within <= 2 * self.simulation.latency.most:
            return None
        found: list[tuple[Link, ...]] = []
        for before, call in zip((None, *exchange.calls), exchange.calls, strict=False):
            if call is before:
                found.append(found[-1])
                continue
            links = []
            for peer in call.peers:
                link = self._link(process, exchange, call, peer)
                if link is None:
                    return None
                links.append(link)
            found.append(tuple(links))
        return tuple(found)

    def _link(self, process: Process, exchange: Exchange, call: Call, peer: str) -> Link | None:
        link = process.links.get(peer)
        rest, own, about = self.rests.get(peer), self.rests[process.name], exchange.about
        known: Any = _NOTHING if rest is None else rest.harmless.get((process.name, call.request), _NOTHING)
        if (
            link is None
            or rest is None
            or known is _NOTHING
            or link.receiver is not self.simulation.processes.get(peer)
            or not (link.open and link.back.open)
            or link.fault is not None
            or link.back.fault is not None
            or any(process.name in each.peers for exchange in rest.exchanges for each in exchange.calls)
            or (known if about is None else known.get(about, _NOTHING)) != call.claim
            or (call.answer is not None and (peer, call.answer) not in own.harmless)
            or (call.answer is not None and link.is_harmed(self.simulation.now, exchange.within))
        ):
            return None
        return link

    def check_guards(self, found: Sequence[tuple[Process, list[Line], Passed]]) -> None:
        """Raises `RuntimeError` where a node did not move a timer that a message would have moved."""
        came: dict[tuple[str, str, type[Message]], Time] = {}
        for _, _, passed in found:
            for (receiver, sender, kind, _), last in passed.last.items():
                stream = receiver.name, sender, kind
                came[stream] = max(last.time, came.get(stream, 0.0))
        for name, rest in self.rests.items():
            timers = self.simulation.processes[name].timers
            for timer, guard in rest.guarded.items():
                at = came.get((name, *guard))
                if at is not None and timer in timers and timers[timer][0] <= at:
                    raise RuntimeError(f"{name} has not moved its timer {timer!r} when {guard[1].__name__} was passed")


def _fourth_round(line: Line) -> Time:
    """When it begins. To compute fewer rounds costs more than to simulate them."""
    return line.timer[0] + 3 * line.exchange.period


_NOTHING = object()

_NEVER: Entry = (0.0, 0.0, 0, CLOCK, print, None)
"""The timer of an exchange that is not set."""
