"""The kernel: events per CPU second.

Peers: a bare heapq loop that pops and calls, and simpy, in turn in one process. Budgets: 0.5 of the bare loop, 2 times
simpy.

python -m benchmarks.engine
"""

import gc
import time
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from itertools import cycle
from random import Random
from typing import Any, NamedTuple

import simpy
from tabulate import tabulate

from protocols.engine.links import Latency
from protocols.engine.nodes import TICK, Message, Outbox, Time, TimerName
from protocols.engine.simulation import Simulation

PENDING = 1000
EVENTS = 600_000
ROUNDS = 5

_DRAW = Random(1)
DELAYS = [1.0 + _DRAW.randrange(4097) * TICK for _ in range(9973)]
"""Milliseconds: 1 to 5, like the default latency."""


class Ball(NamedTuple):
    number: int


class Ticker:
    """Sets its timer again and again."""

    def __init__(self, delays: Callable[[], float]) -> None:
        self.delay = delays

    def start(self, now: Time, out: Outbox) -> None:
        out.set_timer("tick", now + self.delay())

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        out.set_timer("tick", now + self.delay())


class Player:
    """Throws each ball back."""

    def __init__(self, partner: str = "") -> None:
        self.partner = partner

    def start(self, now: Time, out: Outbox) -> None:
        if self.partner:
            out.send(self.partner, Ball(1))

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        out.send(sender, message)

    def connected(self, now: Time, peer: str, out: Outbox) -> None:
        pass


def loop(delay: Callable[[], float]) -> int:
    """What all others are measured by: pop, call, push the next one."""
    heap: list[tuple[float, int, Callable[[float, int], None], int]] = []
    number = 0

    def happen(now: float, what: int) -> None:
        nonlocal number
        number += 1
        heappush(heap, (now + delay(), number, happen, what))

    for what in range(PENDING):
        happen(0.0, what)
    while number < EVENTS:
        now, _, handler, what = heappop(heap)
        handler(now, what)
    return number


def bare() -> int:
    """Delays are ready."""
    return loop(cycle(DELAYS).__next__)


def bare_drawing() -> int:
    """Delays are drawn."""
    draw = Random(1).random
    return loop(lambda: 1.0 + 4.0 * draw())


def timers() -> int:
    simulation = Simulation()
    delay = cycle(DELAYS).__next__
    for number in range(PENDING):
        simulation.start(f"node-{number}", Ticker(delay))  # type: ignore[arg-type]
    simulation.run(3.0 * EVENTS / PENDING)
    return simulation.number


def messages(latency: Latency) -> int:
    """Clients and one coordinator that answers."""
    simulation = Simulation(latency=latency)
    simulation.start("coordinator", Player())  # type: ignore[arg-type]
    for number in range(PENDING):
        client = Player("coordinator")
        simulation.at(DELAYS[number], partial(simulation.start, f"client-{number}", client))  # type: ignore[arg-type]
    simulation.run(3.0 * EVENTS / PENDING)
    return simulation.number


def fixed_latency() -> int:
    return messages(Latency(3.0, 3.0))


def drawn_latency() -> int:
    return messages(Latency(1.0, 5.0))


def simpy_timeouts() -> int:
    """A process per node that waits again and again."""
    environment = simpy.Environment()
    delay = cycle(DELAYS).__next__
    number = 0

    def process() -> Any:
        nonlocal number
        while True:
            number += 1
            yield environment.timeout(delay())

    for _ in range(PENDING):
        environment.process(process())
    environment.run(3.0 * EVENTS / PENDING)
    return number


def simpy_messages() -> int:
    """Messages with a latency as simpy's own example has them: a store per receiver, a process per message."""
    environment = simpy.Environment()
    delay = cycle(DELAYS).__next__
    number = 0

    def travel(store: Any, ball: tuple[Any, Ball]) -> Any:
        yield environment.timeout(delay())
        store.put(ball)

    def play(store: Any) -> Any:
        nonlocal number
        while True:
            sender, ball = yield store.get()
            number += 1
            environment.process(travel(sender, (store, ball)))

    coordinator = simpy.Store(environment)
    environment.process(play(coordinator))
    for _ in range(PENDING):
        client = simpy.Store(environment)
        environment.process(play(client))
        environment.process(travel(coordinator, (client, Ball(1))))
    environment.run(0.3 * EVENTS / PENDING)
    return number


def main() -> None:
    works = (bare, bare_drawing, timers, fixed_latency, drawn_latency, simpy_timeouts, simpy_messages)
    best = dict.fromkeys(works, 0.0)
    for _ in range(ROUNDS):
        for work in works:
            gc.collect()
            gc.disable()  # as timeit does, and as the runs of scenarios do
            start = time.process_time()
            events = work()
            best[work] = max(best[work], events / (time.process_time() - start))
            gc.enable()
    print(f"{PENDING:,} pending; events per CPU second, best of {ROUNDS} rounds, in turn in one process, collector off")
    print("must reach 0.5 of a bare heapq loop, 2 times simpy\n")
    rows = [
        (name, best[work], best[work] / best[loop], best[work] / best[peer])
        for name, work, loop, peer in (
            ("bare heapq loop", bare, bare, simpy_timeouts),
            ("bare heapq loop that draws", bare_drawing, bare, simpy_timeouts),
            ("timers", timers, bare, simpy_timeouts),
            ("messages, fixed latency", fixed_latency, bare, simpy_messages),
            ("messages, latency 1 to 5 ms", drawn_latency, bare_drawing, simpy_messages),
            ("simpy, timeouts", simpy_timeouts, bare, simpy_timeouts),
            ("simpy, messages through stores", simpy_messages, bare, simpy_messages),
        )
    ]
    head = ["what", "events/s", "of its bare loop", "times simpy's"]
    print(tabulate(rows, headers=head, floatfmt=("", ",.0f", ".2f", ".1f")))


if __name__ == "__main__":
    main()
