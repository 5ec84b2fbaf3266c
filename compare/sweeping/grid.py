"""A sweep as data, and its cells: one for each combination of the axes that its variants share.

Cells are numbered with the last axis running fastest. Subscriptions and events run slowest, so that a stretch of
neighbouring cells has one shape and one event.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Literal, NamedTuple, TypeAlias

from protocols.scenario.model import SystemPart

Kind: TypeAlias = Literal["allocations", "simulations", "scale"]

OPTIMUM = "optimum"
"""The variant of `allocations` that is no strategy: the fairest allocation, and the fewest moves to the next."""

MOST_MEMBERS: Mapping[Kind, int] = {"allocations": 5_000, "simulations": 5_000, "scale": 100_000}
MOST_QUEUES = 500_000
"""Queues of all topics together."""


@dataclass(frozen=True, slots=True)
class NamedEvent:
    """What happens to a group. ``events``: of a simulation that writes them itself, as a scenario has them."""

    name: str
    events: tuple[Mapping[str, object], ...] | None = None


NEEDS_TWO = frozenset({"leave", "crash", "hang"})
"""Events that leave cells with one member out."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """The axes. ``queues``: per topic; ``latencies``: least and most, in milliseconds; ``loads``: rows hold the load of
    each member, too; ``run_for``, ``event_at``, ``handle`` in milliseconds; ``produce``: records per second and
    queue."""

    name: str
    kind: Kind
    members: tuple[int, ...]
    topics: tuple[int, ...]
    queues: tuple[int, ...]
    brokers: tuple[int, ...]
    subscriptions: tuple[str, ...]
    events: tuple[NamedEvent, ...]
    systems: tuple[SystemPart, ...]
    latencies: tuple[tuple[float, float], ...] = ((1.0, 5.0),)
    seeds: tuple[int, ...] = (0,)
    about: str = ""
    loads: bool = False
    produce: float = 0.0
    handle: float = 0.0
    run_for: float = 600_000.0
    event_at: float = 60_000.0
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of simulations: system to its version."""

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(part.label for part in self.systems)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each axis, slowest first."""
        slowest = self.subscriptions, self.events, self.latencies
        return tuple(map(len, (*slowest, self.members, self.topics, self.queues, self.brokers, self.seeds)))

    @property
    def cells(self) -> int:
        """How many there are of each variant, those among them that are left out counted."""
        return prod(self.sizes)

    @property
    def stretch(self) -> int:
        """Cells next to each other with one subscription shape, event and latency."""
        return prod(self.sizes[3:])

    def number(self, shape: int, event: int, latency: int, offset: int) -> int:
        """The number of the cell at this place of a stretch; shape, event and latency by their place among the axes'
        values."""
        stretches = (shape * len(self.events) + event) * len(self.latencies) + latency
        return stretches * self.stretch + offset

    def first_seed(self, number: int) -> int:
        """The cell that differs from this one by its seed at most."""
        return number - number % len(self.seeds)

    def cell(self, number: int) -> "Cell":
        places = []
        rest = number
        for size in reversed(self.sizes):
            rest, place = divmod(rest, size)
            places.append(place)
        seed, brokers, queues, topics, members, latency, event, subscription = places
        return Cell(
            number,
            self.members[members],
            self.topics[topics],
            self.queues[queues],
            self.brokers[brokers],
            self.subscriptions[subscription],
            self.events[event],
            self.latencies[latency],
            self.seeds[seed],
        )


class Size(NamedTuple):
    """A group before anything happens to it. ``queues``: per topic."""

    members: int
    topics: int
    queues: int
    brokers: int
    subscription: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination. ``queues``: per topic."""

    number: int
    members: int
    topics: int
    queues: int
    brokers: int
    subscription: str
    event: NamedEvent
    latency: tuple[float, float]
    seed: int

    @property
    def size(self) -> Size:
        return Size(self.members, self.topics, self.queues, self.brokers, self.subscription)

    @property
    def counts(self) -> bool:
        """Whether its event can happen to so few members."""
        return self.members > 1 or self.event.name not in NEEDS_TWO
