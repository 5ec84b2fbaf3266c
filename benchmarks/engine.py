"""The kernel beside a bare heapq loop that pops and calls, and beside simpy; what passing over quiet times saves.

python -m benchmarks.engine
"""

import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import cycle
from random import Random
from typing import Any, NamedTuple

import simpy
from tabulate import tabulate

from protocols.links import Latency
from protocols.nodes import TICK, Message, Outbox, Time, TimerName
from protocols.simulation import Simulation
from tests.protocols.leases import Client, Server

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


def bare() -> int:
    """The loop that all others are measured by: pop, call, push the next one."""
    delay = cycle(DELAYS).__next__
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


def timers() -> int:
    simulation = Simulation()
    delay = cycle(DELAYS).__next__
    for number in range(PENDING):
        simulation.start(f"node-{number}", Ticker(delay))  # type: ignore[arg-type]
    simulation.run(3.0 * EVENTS / PENDING)
    return simulation.number


def messages(latency: Latency) -> int:
    simulation = Simulation(latency=latency)
    for number in range(PENDING):
        simulation.start(f"wall-{number}", Player())  # type: ignore[arg-type]
        simulation.start(f"node-{number}", Player(f"wall-{number}"))  # type: ignore[arg-type]
    simulation.run(3.0 * EVENTS / PENDING)
    return simulation.number


def fixed_latency() -> int:
    return messages(Latency(3.0, 3.0))


def drawn_latency() -> int:
    return messages(Latency(1.0, 5.0))


def simpy_loop() -> int:
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


def leases(full: bool, clients: int, minutes: float) -> tuple[float, int]:
    """CPU seconds and messages: clients renew their leases every 300 ms, now and then one is killed."""
    simulation = Simulation(full=full)
    simulation.start("server", Server())
    for number in range(clients):
        node = Client(("server",), polls=False, checks=False)
        simulation.at(
            number * 3000 / clients // TICK * TICK, lambda name=f"c{number}", node=node: simulation.start(name, node)
        )  # type: ignore[misc]
    for number in range(int(2 * minutes) - 1):
        simulation.at(30_000.0 * (number + 1), lambda name=f"c{number}": simulation.end(name))  # type: ignore[misc]
    start = time.process_time()
    simulation.run(minutes * 60_000)
    return time.process_time() - start, sum(simulation.messages.values())


def main() -> None:
    works = (bare, timers, fixed_latency, drawn_latency, simpy_loop)
    best = dict.fromkeys(works, 0.0)
    for _ in range(ROUNDS):
        for work in works:
            start = time.process_time()
            events = work()
            best[work] = max(best[work], events / (time.process_time() - start))
    print(f"Events per CPU second with {PENDING:,} pending, best of {ROUNDS} rounds, all in turn in one process\n")
    rows = [
        (work.__name__.replace("_", " "), best[work], best[work] / best[bare], best[work] / best[simpy_loop])
        for work in works
    ]
    head = ["what", "events/s", "of bare heapq (must reach 0.5)", "times simpy (must reach 2)"]
    print(tabulate(rows, headers=head, floatfmt=("", ",.0f", ".2f", ".1f")))
    print("\nLeases renewed every 300 ms, each half minute a client is killed; CPU seconds of the run\n")
    rows = []
    for clients, minutes in ((100, 10.0), (1000, 2.0), (10_000, 2.0)):
        quick, sent = leases(False, clients, minutes)
        full = leases(True, clients, minutes)[0] if clients < 10_000 else None
        rows.append((f"{clients:,}", minutes, f"{sent:,}", full, quick))
    print(tabulate(rows, headers=["clients", "minutes", "messages", "full", "quiet times passed over"], floatfmt=".1f"))


if __name__ == "__main__":
    main()
