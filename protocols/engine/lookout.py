"""Looks out for quiet times and passes over them; what that means and what nodes promise: `protocols.engine.quiet`.

Looking costs something for every entry of the heap. Between two looks in vain as many are handled at least (fewer where
somebody was soon found who is not at rest), and where all are at rest the next look comes after the disturbance: a busy
run loses little, a quiet one gains nearly all.
"""

import gc
from heapq import heappush
from typing import TYPE_CHECKING

from protocols.engine.at_rest import Restless, World
from protocols.engine.catching_up import catch_up, count
from protocols.engine.flows import Currents
from protocols.engine.lines import Line, Passed
from protocols.engine.links import Link
from protocols.engine.nodes import Time
from protocols.engine.process import CLOCK, Entry, Process
from protocols.engine.rounds import passed_over

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


def _fourth_round(line: Line) -> Time:
    """When it begins. To compute fewer rounds costs more than to simulate them."""
    return line.timer[0] + 3 * line.exchange.period
