"""Looks out for quiet times of a simulation and skips them (`contract` says what that means).

Looking costs something for every entry of the heap. Between two looks in vain as many are handled at least (fewer where
somebody was soon found who is not quiescent), and where all are quiescent the next look comes after the disturbance: a
busy run loses little, a quiet one gains nearly all.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from heapq import heappush

from protocols.engine.links import Link
from protocols.engine.nodes import Time, TimerName
from protocols.engine.process import CLOCK, Entry, Happening, Process
from protocols.engine.simulation import Simulation, no_cycle_search
from rocketmq_selfbalance.fast_forward.contract import ReplayOutbox, Troubles
from rocketmq_selfbalance.fast_forward.flows import CROWD, Adapter, Currents, adapter_of
from rocketmq_selfbalance.fast_forward.quiescent import Active, QuiescentWorld
from rocketmq_selfbalance.fast_forward.rounds import Rounds
from rocketmq_selfbalance.fast_forward.scheduled import Passed, ScheduledExchange

LEAST_EVENTS = 2000
"""So many events are handled before the first look, and after one that skipped too little: twenty times what a look at
a small group costs. A short run is over by then."""

PAUSE_MS = 100.0
"""Virtual time from a look to the next."""

PAUSE_OF_CROWD_MS = 50.0
"""The same among `flows.CROWD` processes, where it saves more."""

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

UNLIKELY = 8
"""before so many times the heap's entries were handled: what is under way may be reading without an end."""


class FastForward:
    """Skips quiet times of this simulation from now on: by one entry of its heap that comes again and again, has no
    number and changes none. While the simulation traces nothing is skipped."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._troubles = Troubles(simulation.observer)
        simulation.observer = self._troubles
        self._known: dict[Process, Adapter] = {}
        """Of the processes that ran at the last look."""
        self._last_number = 0
        """The simulation's number at the last look."""
        self._last_time = simulation.now
        """From when on events are simulated again since then."""
        self._price = LEAST_EVENTS
        """How much it has to rise to the next."""
        self._asked = 0
        self._active = ""
        """Who was not quiescent at the last look, if anybody."""
        self._schedule(simulation.now + PAUSE_MS)

    def look(self, _: None) -> None:
        """Skip rounds, if all nodes are quiescent and it is worth the while."""
        simulation = self._simulation
        is_crowd = len(simulation.processes) >= CROWD
        pause = PAUSE_OF_CROWD_MS if is_crowd else PAUSE_MS
        following = simulation.now + pause
        size = len(simulation.heap) + len(simulation.processes)
        handled = simulation.number - self._last_number
        if simulation.tracing or handled < self._price:
            following += self._pause(handled)
        elif handled >= UNLIKELY * size or is_crowd or not self._is_lively():
            # All that is made here lives on, or goes at once: there is nothing for the collector to find.
            with no_cycle_search():
                passed, horizon = self._pass_over()
            self._last_number, self._last_time = simulation.number, max(horizon, simulation.now)
            if self._active:
                self._price = max(self._asked * ASKING, min(size, SOME))
            else:
                self._price = 0 if passed else size if is_crowd else max(size, LEAST_EVENTS)
            following = max(following, horizon + pause)
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

    def _is_lively(self) -> bool:
        """Whether so many messages are under way that most processes have begun rounds: these are simulated."""
        under_way = sum([type(entry[4]) is Link for entry in self._simulation.heap])
        return under_way * LIVELY > len(self._simulation.processes)

    def _adapter_of(self, process: Process) -> Adapter | None:
        """What knows the process's node, the same as long as it runs; None where nothing does."""
        adapter = self._known.get(process)
        if adapter is None:
            adapter = adapter_of(process.node)
            if adapter is not None:
                self._known[process] = adapter
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
        if currents.too_many_apart:
            return False, simulation.now
        horizon = currents.caught_up(world.disturbance(alive, currents))
        until = currents.until(horizon)
        found: list[tuple[Process, list[ScheduledExchange], Passed]] = []
        missed = 0
        for name, schedule in alive.items():
            if schedule and min(map(_fourth_round, schedule)) < horizon:
                process = simulation.processes[name]
                # What a client commits after its flows were passed over is not known before it reads on.
                end = horizon if until is None or name not in currents.followed else until
                passed = None if name in busy else Rounds(process, schedule, end).passed()
                if passed is not None:
                    found.append((process, schedule, passed))
                else:
                    missed += 1
        if until is not None:
            currents.pass_over(until)
        if found:
            now = simulation.now
            for process, schedule, passed in found:
                _count(simulation, process, schedule, passed)
            _catch_up(simulation, world.adapters, found)
            simulation.now = now
            world.check_guards(found)
        if until is not None:
            currents.draw()
            return True, horizon
        return bool(found), simulation.now if missed > len(found) / MANY else horizon


def _fourth_round(scheduled: ScheduledExchange) -> Time:
    """When it begins. To compute fewer rounds costs more than to simulate them."""
    return scheduled.timer[0] + 3 * scheduled.exchange.period


def _count(simulation: Simulation, process: Process, schedule: list[ScheduledExchange], passed: Passed) -> None:
    """Messages, choices and latency numbers as if nothing had been left out."""
    messages = simulation.messages
    for scheduled, rounds in zip(schedule, passed.rounds, strict=True):
        calls, period = scheduled.exchange.calls, scheduled.exchange.period
        alike = Counter([call.request for call in calls])
        for call in calls if rounds else ():
            for kind in (call.request, call.answer):
                if kind is not None:
                    messages[kind] = messages.get(kind, 0) + rounds
                    if simulation.traffic is not None:
                        first = scheduled.timer[0]
                        many = alike[call.request]
                        simulation.traffic.repeated(kind, process.name, call.peers, rounds, first, period, many)
    for link, number, arrival in passed.cursors:
        link.sent = number
        link.last_arrival = arrival
    for label, made in passed.choices.items():
        process.choices_of(label).made = made


def _catch_up(
    simulation: Simulation,
    adapters: Mapping[Process, Adapter],
    found: Sequence[tuple[Process, list[ScheduledExchange], Passed]],
) -> None:
    """Timers are moved and adapters told, in the order in which it would have happened."""
    steps: list[tuple[Time, Time, int, int, int, Callable[[], None]]] = []
    for _, schedule, passed in found:
        for due, created, _, at, _, _ in passed.dues:
            scheduled, span = schedule[at], passed.spans[at]
            if span is not None:
                exchange, order = scheduled.exchange, scheduled.timer[2]
                root = scheduled.timer[3] if exchange.after_end and exchange.calls else CLOCK
                move = partial(_move, scheduled.process, exchange.timer, due)
                steps.append((created, created - exchange.period, order, 0, root, move))
                begun, ended = span
                replay = adapters[scheduled.process].replay_round
                tell = partial(replay, ended, exchange.timer, begun, ReplayOutbox(scheduled.process))
                steps.append((ended, begun, order, 1, root, tell))
        for (receiver, sender, kind, about), came in passed.last.items():
            outbox = ReplayOutbox(receiver)
            hear = partial(adapters[receiver].replay_messages, came.time, sender, kind, about, outbox)
            steps.append((came.time, came.sent, came.order, 2, came.root, hear))
    steps.sort(key=lambda step: step[:4])
    for simulation.now, _, _, _, simulation.root, step in steps:
        step()


def _move(process: Process, name: TimerName, due: Time) -> None:
    """An exchange's timer is set now, for the first round that is not passed over."""
    simulation = process.simulation
    number = simulation.number = simulation.number + 1
    process.move_timer(name, (due, simulation.now, number, simulation.root, process, name))
