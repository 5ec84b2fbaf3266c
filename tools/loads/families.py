"""Loads of half an hour for 24 queues: records per second of each queue and what each member can do, second by second.

Noise is the same in every run: each queue's rate is off by up to 15 %, anew every ten seconds.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import pi, sin
from random import Random

QUEUES, SECONDS = 24, 1800
CAPACITY = 100.0
"""Records per second that a member can handle."""
CHANGE_S = 608
"""When what a family is about happens: between two questions to the contenders."""
BURST_S, BURST_RATE, OTHER_RATE = 60, 80.0, 14.0
"""How long four queues bring more in `burst`, records per second of each of them then, and of all others and before."""


@dataclass(frozen=True, slots=True)
class Load:
    """``rates[t][q]``: records that come to queue q in second t; ``capacity[t][m]``: records that member m can handle
    in it, 0 before it is there. ``changes``: seconds at which something happens that nothing before tells of; None:
    nobody knows them."""

    name: str
    about: str
    rates: tuple[tuple[float, ...], ...]
    capacity: tuple[tuple[float, ...], ...]
    changes: tuple[int, ...] | None = ()


def zipf(exponent: float, total: float, shift: int = 0) -> list[float]:
    """Rates whose ranks follow Zipf's law, dealt so that neighbours are not alike; ``shift`` moves the hot one."""
    weights = [(rank + 1) ** -exponent for rank in range(QUEUES)]
    order = [(rank * 7 + shift) % QUEUES for rank in range(QUEUES)]
    rates = [0.0] * QUEUES
    for rank, queue in enumerate(order):
        rates[queue] = total * weights[rank] / sum(weights)
    return rates


def _load(
    name: str,
    about: str,
    rate: Callable[[int], list[float]],
    capacity: Callable[[int], list[float]] = lambda second: [CAPACITY] * 6,
    seed: int = 1,
    changes: tuple[int, ...] = (),
) -> Load:
    random = Random(f"{name} {seed}")
    rates = []
    for second in range(SECONDS):
        if second % 10 == 0:
            noise = [random.uniform(0.85, 1.15) for _ in range(QUEUES)]
        rates.append(tuple(each * off for each, off in zip(rate(second), noise, strict=True)))
    return Load(name, about, tuple(rates), tuple(tuple(capacity(second)) for second in range(SECONDS)), changes)


def _diurnal(second: int) -> list[float]:
    return [17.5 * (1 + 0.8 * sin(2 * pi * (second / 1200 + queue / QUEUES))) for queue in range(QUEUES)]


def _burst(second: int) -> list[float]:
    hot = CHANGE_S <= second < CHANGE_S + BURST_S
    return [(BURST_RATE if hot and queue % 6 == 0 else OTHER_RATE) for queue in range(QUEUES)]


def _jump(second: int) -> list[float]:
    return zipf(1.0, 330.0, shift=second // CHANGE_S)


def _slow(second: int) -> list[float]:
    return [CAPACITY * (0.4 if member == 2 and second >= CHANGE_S else 1.0) for member in range(6)]


def _more(second: int) -> list[float]:
    return [CAPACITY if member < 4 or second >= CHANGE_S + 60 else 0.0 for member in range(6)]


def families(seed: int = 1) -> tuple[Load, ...]:
    """The loads in the order of the page; ``seed`` chooses the noise."""
    return (
        _load(
            "zipf-1.0", "ranks by Zipf's law with exponent 1.0, 330 records/s", lambda _: zipf(1.0, 330.0), seed=seed
        ),
        _load("zipf-1.5", "exponent 1.5, 160 records/s: one queue brings 42 %", lambda _: zipf(1.5, 160.0), seed=seed),
        _load("diurnal", "each queue has its own time of day (20 minutes long)", _diurnal, seed=seed),
        _load(
            "burst",
            "four queues bring nearly six times as much for a minute",
            _burst,
            seed=seed,
            changes=(CHANGE_S, CHANGE_S + BURST_S),
        ),
        _load(
            "hot-key-jump",
            "Zipf 1.0, and every ten minutes other queues are the hot ones",
            _jump,
            seed=seed,
            changes=(CHANGE_S, 2 * CHANGE_S),
        ),
        _load(
            "slow-member",
            "after ten minutes one of six members does 40 %",
            lambda _: [15.0] * QUEUES,
            _slow,
            seed,
            (CHANGE_S,),
        ),
        _load(
            "scale-out",
            "after ten minutes a third more records come, a minute later two members join the four",
            lambda second: zipf(0.7, 330.0 if second < CHANGE_S else 440.0),
            _more,
            seed,
            (CHANGE_S, CHANGE_S + 60),
        ),
    )


def held_out(seed: int) -> tuple[Load, ...]:
    """Loads of another generator: other exponents, other bursts, two hot queues, a change at another second."""
    at = Random(f"held out {seed}").randrange(CHANGE_S - 8, CHANGE_S + 7)

    def burst(length: int, rate: float, every: int) -> Callable[[int], list[float]]:
        return lambda second: [
            rate if at <= second < at + length and queue % every == 0 else 14.0 for queue in range(QUEUES)
        ]

    def two_hot(second: int) -> list[float]:
        hot = (3, 17) if second >= at else ()
        return [each + 50 * (queue in hot) for queue, each in enumerate(zipf(0.5, 220.0))]

    def four_then_six(second: int) -> list[float]:
        return [CAPACITY if member < 4 or second >= at + 40 else 0.0 for member in range(6)]

    made = (
        ("burst of 20 s", burst(20, 80.0, 6), (at, at + 20)),
        ("burst of 120 s", burst(120, 80.0, 6), (at, at + 120)),
        ("burst of six queues", burst(60, 45.0, 4), (at, at + 60)),
        ("jump, exponent 0.8", lambda second: zipf(0.8, 330.0, shift=second // at * 5), (at, 2 * at)),
        ("jump, exponent 1.2", lambda second: zipf(1.2, 280.0, shift=second // at * 5), (at, 2 * at)),
        ("two hot queues", two_hot, (at,)),
    )

    def third_more(second: int) -> list[float]:
        return zipf(0.9, 300.0 if second < at else 400.0)

    more = "scale-out, exponent 0.9"
    return (
        *(_load(name, name, rate, seed=seed, changes=changes) for name, rate, changes in made),
        _load(more, more, third_more, four_then_six, seed, (at, at + 40)),
    )


def counted(load: Load, seed: int) -> Load:
    """The load in whole records that come one by one, at random: so many in a second, by Poisson's law."""
    random = Random(f"counted {load.name} {seed}")

    def count(rate: float) -> float:
        records, at = 0, random.expovariate(rate)
        while at < 1:
            records, at = records + 1, at + random.expovariate(rate)
        return float(records)

    rates = tuple(tuple(map(count, each)) for each in load.rates)
    return replace(load, name=f"{load.name}, counted", about=f"{load.about}, record by record", rates=rates)
