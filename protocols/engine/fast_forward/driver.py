"""Looks out for quiet times of a simulation and skips them (`contract` says what that means).

Looking costs something for every entry of the heap. Between two looks in vain as many are handled at least (fewer where
somebody was soon found who is not quiescent), and where all are quiescent the next look comes after the disturbance: a
busy run loses little, a quiet one gains nearly all.
"""

from collections.abc import Mapping, Sequence
from heapq import heappush
from math import inf

from protocols.cycle_search import no_cycle_search
from protocols.engine.fast_forward.adapters import Adapter, Adapters
from protocols.engine.fast_forward.flows import Currents
from protocols.engine.fast_forward.quiescent import Active, QuiescentWorld
from protocols.engine.fast_forward.replay import catch_up, count
from protocols.engine.fast_forward.rounds import passed_over
from protocols.engine.fast_forward.scheduled import Passed, ScheduledExchange
from protocols.engine.fast_forward.trouble import Troubles
from protocols.engine.links import Link
from protocols.engine.nodes import Time
from protocols.engine.process import CLOCK, Entry, Happening, Process
from protocols.engine.simulation import Simulation

PAUSE_MS = 100.0
"""Virtual time from a look to the next."""

LONGEST_PAUSE_MS = 10_000.0
"""Never more than that, however few events there are: they may be many from now on."""

SOME = 50
"""So many events pass before it is seen again whether a look is worth the while: that costs what an event does."""

MANY = 16
"""Where so many could pass over rounds for one that could not, it is not worth another look before the horizon."""

ASKING = 16
"""To ask a process costs what so many events do."""

LIVELY = 4
"""Where there is a message under way for so many processes, a look is not worth the while,"""

WORTH = 30
"""To skip fewer events of a process than so many costs more than to simulate them."""

UNLIKELY = 8
"""before so many times the heap's entries were handled: what is under way may be reading without an end."""


class FastForward:
    """Skips quiet times of this simulation from now on: by one entry of its heap that comes again and again, has no
    number and changes none. While the simulation traces nothing is skipped."""

    __slots__ = (
        "_active",
        "_adapters",
        "_asked",
        "_known",
        "_last_number",
        "_last_time",
        "_least",
        "_price",
        "_rate",
        "_simulation",
        "_troubles",
        "_unpaid",
    )

    def __init__(self, simulation: Simulation, adapters: Adapters, *, least: int = 0) -> None:
        """``adapters``: of the classes of nodes that may be quiescent. ``least``: so many events are handled before the
        first look, and after one that skipped too little; a short run is over by then."""
        self._simulation, self._adapters = simulation, adapters
        self._troubles = Troubles(simulation.observer)
        simulation.observer = self._troubles
        self._known: dict[Process, Adapter] = {}
        """Of the processes that ran at the last look."""
        self._last_number = 0
        """The simulation's number at the last look."""
        self._last_time = simulation.now
        """From when on events are simulated again since then."""
        self._least = least
        self._price = least
        """How much it has to rise to the next."""
        self._asked = 0
        self._active = ""
        """Who was not quiescent at the last look, if anybody."""
        self._rate = inf
        """How many events of a process there are per millisecond while all are quiescent, as far as is known."""
        self._unpaid = 0
        """How many looks in turn skipped less than they cost: after each the next one waits for twice as much."""
        self._schedule(simulation.now + PAUSE_MS)

    def look(self, _: None) -> None:
        """Skip rounds, if all nodes are quiescent and it is worth the while."""
        simulation = self._simulation
        following = simulation.now + PAUSE_MS
        size = len(simulation.heap) + len(simulation.processes)
        handled = simulation.number - self._last_number
        if simulation.tracing or handled < self._price:
            following += self._pause(handled)
        elif self._rate * ((ahead := self._next_call()) - simulation.now) < WORTH:
            following = max(following, ahead + PAUSE_MS)
        elif handled >= UNLIKELY * size or not self._is_lively():
            sent = sum(simulation.messages.values())
            # All that is made here lives on, or goes at once: there is nothing for the collector to find.
            with no_cycle_search():
                passed, horizon = self._pass_over()
            self._last_number, self._last_time = simulation.number, max(horizon, simulation.now)
            if self._active:
                self._price = max(self._asked * ASKING, min(size, SOME))
            elif self._rate < inf:
                paid = sum(simulation.messages.values()) - sent >= WORTH * len(simulation.processes)
                self._unpaid = 0 if paid else self._unpaid + 1
                self._price = max(size, self._least) << self._unpaid if self._unpaid else 0
            else:
                self._price = 0 if passed else max(size, self._least)
            following = max(following, horizon + PAUSE_MS)
        self._schedule(following)

    def _pause(self, handled: int) -> Time:
        """How much longer than usual it takes, as far as is known, until a look may be worth the while: at most as long
        as what is known of lasted, because members that do nothing while they are away do much when they are back."""
        events = min(max(self._price - handled, 0), SOME)
        since = max(self._simulation.now - self._last_time, 0.0)
        return min(events * since / max(handled, 1), max(since, PAUSE_MS), LONGEST_PAUSE_MS)

    def _schedule(self, at: Time) -> None:
        entry: Entry = (at, -1.0, 0, CLOCK, Happening(self.look), None)
        heappush(self._simulation.heap, entry)

    def _next_call(self) -> Time:
        """When the run ends or something else happens that is neither a timer nor a message."""
        now = self._simulation.now
        return min([entry[0] for entry in self._simulation.heap if type(entry[4]) is Happening], default=now)

    def _is_lively(self) -> bool:
        """Whether so many messages are under way that most processes have begun rounds: these are simulated."""
        under_way = sum([type(entry[4]) is Link for entry in self._simulation.heap])
        return under_way * LIVELY > len(self._simulation.processes)

    def _adapter_of(self, process: Process) -> Adapter | None:
        """What knows the process's node, the same as long as it runs; None where nothing does."""
        adapter = self._known.get(process)
        if adapter is None:
            make = self._adapters.get(type(process.node))
            if make is not None:
                adapter = self._known[process] = make(process.node)
        return adapter

    def _forget_ended(self) -> None:
        running = self._simulation.processes
        if len(self._known) > 2 * len(running):
            self._known = {process: known for process, known in self._known.items() if process.running}

    def _pass_over(self) -> tuple[bool, Time]:
        """Whether anything was passed over, and until when another look is not worth the while."""
        simulation = self._simulation
        self._forget_ended()
        world = QuiescentWorld.of(simulation, self._adapter_of, self._active, self._troubles)
        if isinstance(world, Active):
            self._active, self._asked = world
            return False, simulation.now
        self._active = ""
        currents = Currents(simulation, world.states, world.adapters, self._troubles)
        found_alive = world.alive(currents)
        if isinstance(found_alive, Active):
            self._active, self._asked = found_alive
            return False, simulation.now
        alive, busy = found_alive
        self._rate = _rate(world, alive)
        horizon = world.disturbance(alive, currents)
        found: list[tuple[Process, list[ScheduledExchange], Passed]] = []
        missed = 0
        for name, schedule in alive.items():
            if schedule and min(map(_fourth_round, schedule)) < horizon:
                process = simulation.processes[name]
                passed = None if name in busy else passed_over(process, schedule, horizon)
                if passed is not None:
                    found.append((process, schedule, passed))
                else:
                    missed += 1
        followed = currents.pass_over(horizon)
        if found:
            now = simulation.now
            for process, schedule, passed in found:
                count(simulation, process, schedule, passed)
            catch_up(simulation, world.adapters, found)
            simulation.now = now
            world.check_guards(found)
        if followed:
            currents.draw()
            return True, horizon
        return bool(found), simulation.now if missed > len(found) / MANY else horizon


def _rate(world: QuiescentWorld, alive: Mapping[str, Sequence[ScheduledExchange]]) -> float:
    """Events of a process per millisecond. What flows do beside their exchanges nobody tells beforehand."""
    if any(adapter.reader is not None for adapter in world.adapters.values()):
        return inf
    exchanges = [scheduled.exchange for schedule in alive.values() for scheduled in schedule]
    return sum((1 + 2 * len(exchange.calls)) / exchange.period for exchange in exchanges) / max(len(world.states), 1)


def _fourth_round(scheduled: ScheduledExchange) -> Time:
    """When it begins. To compute fewer rounds costs more than to simulate them."""
    return scheduled.timer[0] + 3 * scheduled.exchange.period
